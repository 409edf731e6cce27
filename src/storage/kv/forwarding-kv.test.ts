import { expect, it } from 'vitest'
import type { KubeObject } from '../../apimachinery/object.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { createCacher } from '../cacher/cacher.ts'
import { forwardingKV } from './forwarding-kv.ts'
import { createMemoryKV, type MemoryKV } from './memory/memory-kv.ts'

it('lets a watch cache live through a stop and a restart of its store', async () => {
  const clock = new VirtualClock()
  const first = createMemoryKV({ clock })
  let now: MemoryKV | undefined = first
  const kv = forwardingKV(() => now, '127.0.0.1:2379')
  const cacher = createCacher(kv, { prefix: '/registry/pods', clock })
  const pod = (name: string) => ({ kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace: 'd' } }) as KubeObject
  await cacher.create('d/a', pod('a'))
  const events: string[] = []
  const watch = () =>
    cacher.watch({
      resourceVersion: 0,
      onEvents: (es) => void events.push(...es.map((e) => (e.type === 'BOOKMARK' ? e.type : `${e.type} ${e.object.key}`))),
      onClose: () => events.push('closed'),
    })
  watch()
  await clock.settle()
  const kept = first.fork()
  now = undefined
  await first.close()
  await expect(cacher.create('d/b', pod('b'))).rejects.toThrow(
    'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused"',
  )
  await expect(cacher.list({})).rejects.toMatchObject({ code: 429 })
  now = kept
  await clock.advance(30_000)
  expect((await cacher.list({})).items.map((i) => i.key)).toEqual(['d/a'])
  watch()
  await clock.settle()
  await cacher.create('d/b', pod('b'))
  await clock.settle()
  expect(events).toEqual(['ADDED d/a', 'closed', 'ADDED d/a', 'ADDED d/b'])
  cacher.close()
  await kept.close()
  expect(clock.timerCount()).toBe(0)
})
