import { describe, expect, it } from 'vitest'
import type { ConfigMap } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { newExpired } from '../../apimachinery/errors.ts'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { silentLogger } from '../../component-base/index.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { createClient, InformerFactory } from '../index.ts'

function setUp() {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const api = new FakeApi(clock, random)
  const client = createClient(api, { clock })
  const factory = new InformerFactory({ client, clock, random, log: silentLogger() })
  const maps = client.resource(resources.corev1.configmaps).namespace('a')
  const make = (name: string) => maps.create({ metadata: { name } } as ConfigMap)
  return { clock, api, client, factory, maps, make, stop: new AbortController() }
}

describe('shared informer', () => {
  it('follows adds, updates and deletes in order and ends without a watch or timer', async () => {
    const { clock, api, factory, maps, make, stop } = setUp()
    await make('one')
    const seen: string[] = []
    const informer = factory.informer(resources.corev1.configmaps)
    const registration = informer.addHandler({
      onAdd: (o, initial) => seen.push(`add ${o.metadata.name} ${initial}`),
      onUpdate: (a, b) => seen.push(`update ${a.data?.['k']} ${b.data?.['k']}`),
      onDelete: (o, missed) => seen.push(`delete ${o.metadata.name} ${missed}`),
    })
    expect(factory.informer(resources.corev1.configmaps)).toBe(informer)
    factory.start(stop.signal)
    await factory.waitForSync()
    expect(registration.hasSynced()).toBe(true)
    await make('two')
    await maps.patch('two', 'merge', { data: { k: '1' } })
    await maps.delete('one')
    await clock.settle()
    expect(seen).toEqual(['add one true', 'add two false', 'update undefined 1', 'delete one false'])
    expect(informer.lister.inNamespace('a').map((o) => o.metadata.name)).toEqual(['two'])
    expect(Object.isFrozen(informer.lister.get('a/two'))).toBe(true)
    stop.abort()
    await factory.stopped()
    expect(api.openWatches).toBe(0)
    expect(clock.timerCount()).toBe(0)
  })

  it('starts anew when its version is gone, and tells of what it missed', async () => {
    const { clock, api, factory, maps, make, stop } = setUp()
    await make('one')
    const seen: string[] = []
    factory.informer(resources.corev1.configmaps).addHandler({ onDelete: (o, missed) => seen.push(`${o.metadata.name} ${missed}`) })
    factory.start(stop.signal)
    await factory.waitForSync()
    let refuse = true
    api.intercept = (method, path) => {
      if (refuse && method === 'GET' && path.includes('watch=true') && !path.includes('sendInitialEvents')) throw newExpired('too old resource version: 1 (2)')
    }
    api.endWatches()
    await maps.delete('one')
    await make('two')
    await clock.advance(5_000)
    refuse = false
    expect(seen).toEqual(['one true'])
    stop.abort()
    await factory.stopped()
    expect(clock.timerCount()).toBe(0)
  })
})
