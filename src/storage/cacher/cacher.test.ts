import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isExpired, isTooLargeResourceVersion, type StatusError } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { StorageEvent, StorageWatchOptions } from '../interface.ts'
import { createMemoryKV } from '../kv/memory/memory-kv.ts'
import { createCacher } from './cacher.ts'

function setup(options: Partial<Parameters<typeof createCacher>[1]> = {}) {
  const clock = new VirtualClock()
  const kv = createMemoryKV({ clock, autoCompaction: false })
  const cacher = createCacher(kv, { prefix: '/registry/pods', clock, ...options })
  return { clock, kv, cacher }
}

const pod = (name: string, labels: Record<string, string> = {}, namespace = 'default'): KubeObject =>
  ({ kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace, uid: `u-${name}`, creationTimestamp: '2026-01-01T00:00:00Z', labels } }) as KubeObject

function recorder(options: Partial<StorageWatchOptions> = {}) {
  const seen: string[] = []
  return {
    seen,
    options: {
      ...options,
      onEvents: (events: readonly StorageEvent[]) => {
        for (const e of events) {
          seen.push(
            e.type === 'BOOKMARK'
              ? `BOOKMARK ${e.resourceVersion}${e.initialEventsEnd ? ' end' : ''}`
              : `${e.type} ${e.object.key} ${e.object.resourceVersion}`,
          )
        }
      },
      onClose: (e?: Error) => void seen.push(`close ${e?.message ?? ''}`),
    } satisfies StorageWatchOptions,
  }
}

describe('Cacher', () => {
  it('reads the newest state, also right after a write by somebody else', async () => {
    const { kv, cacher, clock } = setup()
    await cacher.ready()
    const other = createCacher(kv, { prefix: '/registry/pods', clock })
    await other.create('default/a', pod('a'))
    expect((await cacher.get('default/a'))?.resourceVersion).toBe(2)
    expect((await cacher.list({})).items.map((i) => i.key)).toEqual(['default/a'])
    expect((await cacher.get('default/a')) === (await cacher.list({})).items[0]).toBe(true)
    await kv.txn({ success: [{ op: 'put', key: '/registry/services/x', value: Buffer.from('{}') }] })
    expect((await cacher.list({})).resourceVersion).toBe(3)
  })

  it('lists by namespace and name, and pages at one revision', async () => {
    const { cacher } = setup()
    for (const ns of ['a', 'b']) for (const n of ['1', '2', '3']) await cacher.create(`${ns}/${n}`, pod(n, {}, ns))
    await cacher.ready()
    expect((await cacher.list({ namespace: 'b', name: '2' })).items.map((i) => i.key)).toEqual(['b/2'])
    expect((await cacher.list({ name: '2' })).items.map((i) => i.key)).toEqual(['a/2', 'b/2'])
    const first = await cacher.list({ limit: 2 })
    expect(first).toMatchObject({ remaining: 4, next: { key: 'a/2\0', revision: 7 }, resourceVersion: 7 })
    await cacher.delete('a/3')
    await cacher.create('a/35', pod('35', {}, 'a'))
    const second = await cacher.list({ limit: 2, continue: first.next! })
    expect(second.items.map((i) => i.key)).toEqual(['a/3', 'b/1'])
    expect(second.resourceVersion).toBe(7)
    const newest = await cacher.list({ continue: { key: first.next!.key, revision: -1 } })
    expect(newest.items.map((i) => i.key)).toEqual(['a/35', 'b/1', 'b/2', 'b/3'])
    expect((await cacher.list({ limit: 2, resourceVersion: 0 })).items).toHaveLength(6)
    expect((await cacher.list({ limit: 1, filter: (o) => o.key.endsWith('3') })).items.map((i) => i.key)).toEqual(['b/3'])
  })

  it('lists exactly an older revision, until it is compacted', async () => {
    const { kv, cacher } = setup()
    await cacher.create('default/a', pod('a'))
    await cacher.create('default/b', pod('b'))
    await cacher.ready()
    await cacher.delete('default/a')
    expect((await cacher.list({ resourceVersion: 3, match: 'Exact' })).items).toHaveLength(2)
    expect((await cacher.list({ resourceVersion: 3, limit: 10 })).resourceVersion).toBe(3)
    expect((await cacher.list({ resourceVersion: 3, match: 'NotOlderThan' })).resourceVersion).toBe(4)
    await kv.compact(4)
    await expect(cacher.list({ resourceVersion: 2, match: 'Exact' })).rejects.toSatisfy(isExpired)
  })

  it('waits 3 s for a revision of the future', async () => {
    const { clock, cacher } = setup()
    await cacher.ready()
    const late = cacher.list({ resourceVersion: 50, match: 'NotOlderThan' })
    late.catch(() => undefined)
    const soon = cacher.get('default/a', 2)
    await clock.advance(1000)
    await cacher.create('default/a', pod('a'))
    expect((await soon)?.key).toBe('default/a')
    await clock.advance(2500)
    await expect(late).rejects.toSatisfy(isTooLargeResourceVersion)
  })

  it('starts watches with the state, from the past, and from now', async () => {
    const { clock, cacher } = setup()
    await cacher.create('default/a', pod('a'))
    const state = recorder({ sendInitialEvents: true, bookmarks: true })
    const legacy = recorder({ resourceVersion: 0 })
    const past = recorder({ resourceVersion: 2 })
    const now = recorder({ sendInitialEvents: false })
    cacher.watch(state.options)
    cacher.watch(legacy.options)
    await clock.settle()
    await cacher.create('default/b', pod('b'))
    await clock.settle()
    cacher.watch(past.options)
    cacher.watch(now.options)
    await clock.settle()
    await cacher.delete('default/a')
    await clock.settle()
    expect(state.seen).toEqual(['ADDED default/a 2', 'BOOKMARK 2 end', 'ADDED default/b 3', 'DELETED default/a 4'])
    expect(legacy.seen).toEqual(['ADDED default/a 2', 'ADDED default/b 3', 'DELETED default/a 4'])
    expect(past.seen).toEqual(['ADDED default/b 3', 'DELETED default/a 4'])
    expect(now.seen).toEqual(['DELETED default/a 4'])
  })

  it('tells a watch from too far in the past what it could have had', async () => {
    const { clock, cacher } = setup({ history: { minimum: 2, maximum: 2, keepMs: 0 } })
    await cacher.ready()
    for (let i = 0; i < 5; i++) await cacher.create(`default/${i}`, pod(String(i)))
    const old = recorder({ resourceVersion: 3 })
    const ok = recorder({ resourceVersion: 4 })
    cacher.watch(old.options)
    cacher.watch(ok.options)
    await clock.settle()
    expect(old.seen).toEqual(['close too old resource version: 3 (4)'])
    expect(ok.seen).toEqual(['ADDED default/3 5', 'ADDED default/4 6'])
  })

  it('sends bookmarks about every minute and before the end', async () => {
    const { clock, kv, cacher } = setup()
    const watch = recorder({ resourceVersion: 1, bookmarks: true, timeoutMs: 70_000 })
    const stop = cacher.watch(watch.options)
    await clock.settle()
    await kv.txn({ success: [{ op: 'put', key: '/registry/services/x', value: Buffer.from('{}') }] })
    await clock.advance(60_000)
    expect(watch.seen).toEqual(['BOOKMARK 2'])
    await clock.advance(9000)
    expect(watch.seen).toEqual(['BOOKMARK 2', 'BOOKMARK 2'])
    stop.stop()
    await clock.advance(100_000)
    expect(watch.seen).toHaveLength(2)
    cacher.close()
    await kv.close()
    expect(clock.timerCount()).toBe(0)
  })

  it('closes a watch whose consumer holds back too much', async () => {
    const { clock, cacher } = setup({ watchBuffer: 3 })
    let release = () => {}
    let closed = 0
    cacher.watch({ resourceVersion: 1, onEvents: () => new Promise<void>((resolve) => (release = resolve)), onClose: () => closed++ })
    await clock.settle()
    for (let i = 0; i < 4; i++) await cacher.create(`default/${i}`, pod(String(i)))
    await clock.settle()
    expect(closed).toBe(0)
    await cacher.create('default/x', pod('x'))
    await clock.settle()
    expect(closed).toBe(1)
    release()
    expect(cacher.watchCount).toBe(0)
  })

  it('sends the starting state no faster than its consumer takes it', async () => {
    const { clock, cacher } = setup()
    for (let i = 0; i < 1200; i++) await cacher.create(`default/${i}`, pod(String(i)))
    const batches: number[] = []
    let release = () => {}
    cacher.watch({
      sendInitialEvents: true,
      bookmarks: true,
      onEvents: (events) => {
        batches.push(events.length)
        return new Promise<void>((resolve) => (release = resolve))
      },
      onClose() {},
    })
    await clock.settle()
    expect(batches).toEqual([500])
    for (let i = 0; i < 3; i++) {
      release()
      await clock.settle()
    }
    expect(batches).toEqual([500, 500, 200, 1])
  })

  it('loads again when the watch of the store ends as soon as it begins', async () => {
    const { clock, kv } = setup()
    let broken = 0
    const flaky = Object.create(kv, {
      watch: {
        value: (options: Parameters<typeof kv.watch>[0]) => {
          if (broken++ > 0) return kv.watch(options)
          queueMicrotask(() => options.onClose?.({}))
          return { cancel() {}, progress: () => Promise.reject(new Error('ended')) }
        },
      },
    })
    const cacher = createCacher(flaky, { prefix: '/registry/pods', clock })
    await cacher.ready().catch(() => undefined)
    await clock.advance(10_000)
    await cacher.create('default/a', pod('a'))
    await clock.settle()
    const watch = recorder({ sendInitialEvents: true, bookmarks: true })
    cacher.watch(watch.options)
    await clock.settle()
    expect(broken).toBe(2)
    expect(watch.seen[0]).toBe('ADDED default/a 2')
  })

  it('gives one event of the store to all watches as the same object, and uses indexes', async () => {
    const { clock, cacher } = setup({ indexers: { node: (o) => (o.object as unknown as { spec?: { nodeName?: string } }).spec?.nodeName ?? '' } })
    const got: StorageEvent[] = []
    let asked = 0
    for (let i = 0; i < 2; i++) cacher.watch({ resourceVersion: 1, onEvents: (e) => got.push(...e), onClose() {} })
    for (const value of ['n1', 'n2']) {
      cacher.watch({
        resourceVersion: 1,
        index: { name: 'node', value },
        filter: (o) => {
          asked++
          return (o.object as unknown as { spec: { nodeName: string } }).spec.nodeName === value
        },
        onEvents: (e) => got.push(...e),
        onClose() {},
      })
    }
    await clock.settle()
    await cacher.create('default/a', { ...pod('a'), spec: { nodeName: 'n1' } } as unknown as KubeObject)
    await clock.settle()
    expect(got).toHaveLength(3)
    expect(got.every((e) => e === got[0])).toBe(true)
    expect(asked).toBe(1)
  })

  it('ends its watches and answers 429 while the store is away', async () => {
    const { clock, kv, cacher } = setup()
    await cacher.create('default/a', pod('a'))
    const watch = recorder({ resourceVersion: 2 })
    cacher.watch(watch.options)
    await clock.settle()
    await kv.close()
    expect(watch.seen).toEqual(['close '])
    let answer: unknown
    cacher.list({}).then(
      () => (answer = 'a list'),
      (error: StatusError) => (answer = [error.code, error.details?.retryAfterSeconds]),
    )
    await clock.advance(60_000)
    expect(answer).toEqual([429, 1])
  })

  it('a watch with a filter, replayed over its state, always equals a list with that filter', async () => {
    const step = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), action: fc.constantFrom('put', 'delete', 'yield'), on: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(10), async (steps, startAt) => {
        const { clock, cacher } = setup()
        const filter = (o: { labels: Readonly<Record<string, string>> }) => o.labels['on'] === 'true'
        const state = new Map<string, number>()
        const start = () =>
          cacher.watch({
            sendInitialEvents: true,
            filter,
            onClose() {},
            onEvents: (events) => {
              for (const e of events) {
                if (e.type === 'BOOKMARK') continue
                if (e.type === 'DELETED') expect(state.delete(e.object.key)).toBe(true)
                else {
                  expect(state.has(e.object.key)).toBe(e.type === 'MODIFIED')
                  state.set(e.object.key, e.object.resourceVersion)
                }
              }
            },
          })
        for (const [i, { name, action, on }] of steps.entries()) {
          if (i === startAt) start()
          const key = `default/${name}`
          if (action === 'yield') await clock.settle()
          else if (action === 'delete') await cacher.delete(key)
          else if (await cacher.get(key)) await cacher.update(key, () => pod(name, { on: String(on), i: String(i) }))
          else await cacher.create(key, pod(name, { on: String(on) }))
        }
        if (steps.length <= startAt) start()
        await clock.settle()
        const list = await cacher.list({ filter })
        expect([...state].sort()).toEqual(list.items.map((o) => [o.key, o.resourceVersion]).sort())
      }),
      { numRuns: 60 },
    )
  })
})
