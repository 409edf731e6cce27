import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../apimachinery/object.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { StorageEvent } from '../interface.ts'
import { createMemoryKV } from '../kv/memory/memory-kv.ts'
import { createCacher } from './cacher.ts'

const pod = (name: string, labels: Record<string, string> = {}): KubeObject =>
  ({ kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace: 'default', uid: name, labels } }) as KubeObject

const told = (events: readonly StorageEvent[]) => events.map((e) => (e.type === 'BOOKMARK' ? `B${e.resourceVersion}` : `${e.object.resourceVersion}`)).join(' ')

/** A cacher whose consumers take `cost` ms of its clock for every call. */
async function setup(cost: number) {
  const clock = new VirtualClock()
  let spent = 0
  const slow = Object.create(clock, { monotonic: { value: () => clock.monotonic() + spent } })
  const cacher = createCacher(createMemoryKV({ clock, autoCompaction: false }), { prefix: '/registry/pods', clock: slow })
  await cacher.ready()
  const watch = (seen: string[], options: Partial<Parameters<typeof cacher.watch>[0]> = {}) =>
    cacher.watch({
      resourceVersion: 1,
      ...options,
      onEvents: (events) => {
        spent += cost
        seen.push(told(events))
      },
      onClose: () => void seen.push('close'),
    })
  let revision = 1
  const create = async () => {
    await cacher.create(`default/${++revision}`, pod(String(revision)))
    await clock.settle()
  }
  return { clock, cacher, watch, create }
}

describe('FanOut', () => {
  it('tells an event at once, and after a long round what came meanwhile in one piece', async () => {
    const { clock, watch, create } = await setup(3)
    const seen: string[] = []
    watch(seen)
    await clock.settle()
    await create()
    expect(seen).toEqual(['2'])
    await create()
    await create()
    expect(seen).toEqual(['2'])
    await clock.advance(7)
    expect(seen).toEqual(['2', '3 4'])
  })

  it('does not rest after a short round', async () => {
    const { clock, watch, create } = await setup(0)
    const seen: string[] = []
    watch(seen)
    await clock.settle()
    await create()
    await create()
    expect(seen).toEqual(['2', '3'])
  })

  it('gives a watch that starts meanwhile everything once, and bookmarks no event too early', async () => {
    const { clock, watch, create } = await setup(3)
    const first: string[] = []
    const late: string[] = []
    const state: string[] = []
    watch(first, { bookmarks: true, timeoutMs: 2001 })
    await clock.settle()
    await create()
    await create()
    watch(late, { resourceVersion: 2 })
    watch(state, { resourceVersion: 0 })
    await clock.settle()
    await create()
    await clock.advance(1)
    expect(first).toEqual(['2'])
    await clock.advance(20)
    expect(first).toEqual(['2', '3 4', 'B4'])
    expect(late).toEqual(['3', '4'])
    expect(state).toEqual(['2 3', '4'])
  })

  it('serves watches with filters of the same name together, and tells them apart from others', async () => {
    const { clock, cacher } = await setup(0)
    let asked = 0
    const got: (readonly StorageEvent[])[] = []
    const start = (value: string) =>
      cacher.watch({
        resourceVersion: 1,
        filterName: `a=${value}`,
        filter: (o) => {
          asked++
          return o.labels.a === value
        },
        onEvents: (events) => void got.push(events),
        onClose() {},
      })
    const watches = [start('x'), start('x'), start('y')]
    await clock.settle()
    await cacher.create('default/a', pod('a', { a: 'x' }))
    await clock.settle()
    expect(asked).toBe(2)
    expect(got).toHaveLength(2)
    expect(got[0]).toBe(got[1])
    watches[0]?.stop()
    await cacher.create('default/b', pod('b', { a: 'x' }))
    await clock.settle()
    expect(got).toHaveLength(3)
    for (const watch of watches) watch.stop()
    expect(cacher.watchCount).toBe(0)
  })

  it('gives the loop back between many watches, and none misses or repeats an event', async () => {
    const { clock, cacher } = await setup(0)
    const seen = Array.from({ length: 100 }, () => [] as string[])
    for (const list of seen) {
      cacher.watch({
        resourceVersion: 1,
        onEvents: (events) => {
          const end = performance.now() + 0.3
          while (performance.now() < end);
          for (const e of events) list.push(told([e]))
        },
        onClose() {},
      })
    }
    await clock.settle()
    let turns = 0
    let going = true
    const count = () => {
      turns++
      if (going) setImmediate(count)
    }
    count()
    for (let i = 0; i < 5; i++) await cacher.create(`default/${i}`, pod(String(i)))
    while ((seen[99]?.length ?? 0) < 5) await new Promise((r) => setImmediate(r))
    going = false
    expect(turns).toBeGreaterThan(3)
    for (const list of seen) expect(list).toEqual(['2', '3', '4', '5', '6'])
  })
})
