import { describe, expect, it } from 'vitest'
import type { Namespace } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/index.ts'
import { isNotFound } from '../apimachinery/errors.ts'
import { controllerHarness } from '../testing/controller-harness.ts'
import { GarbageCollector } from './garbagecollector/controller.ts'
import { NamespaceController } from './namespace/controller.ts'
import { RootCaPublisher } from './rootca/publisher.ts'
import { ServiceAccountController } from './serviceaccount/controller.ts'

const { configmaps, namespaces, serviceaccounts } = resources.corev1

async function collecting() {
  const h = controllerHarness()
  await h.start(new GarbageCollector(h.context))
  await h.clock.advance(1000)
  const map = async (name: string, owner?: { name: string; uid?: string; block?: boolean; namespace?: string }, finalizers?: string[]) =>
    h.create(
      configmaps,
      {
        metadata: {
          name,
          ...(owner
            ? {
                ownerReferences: [
                  { apiVersion: 'v1', kind: 'ConfigMap', name: owner.name, uid: owner.uid, ...(owner.block ? { blockOwnerDeletion: true } : {}) },
                ],
              }
            : {}),
          ...(finalizers ? { finalizers } : {}),
        },
      },
      owner?.namespace ?? 'default',
    )
  const maps = h.client.resource(configmaps).namespace('default')
  const names = async () => (await h.list(configmaps)).map((m) => m.metadata.name)
  return { ...h, map, maps, names }
}

describe('garbage collector', () => {
  it('deletes a chain in the background, and what names an owner that is not there', async () => {
    const h = await collecting()
    const top = await h.map('top')
    const mid = await h.map('mid', { name: 'top', uid: top.metadata.uid as string })
    await h.map('leaf', { name: 'mid', uid: mid.metadata.uid as string })
    await h.map('stray', { name: 'top', uid: '0fb1c8a2-6b1e-4f0e-9d7a-1b2c3d4e5f61' })
    await h.map('free')
    await h.clock.advance(1000)
    expect(await h.names()).toEqual(['top', 'mid', 'leaf', 'free'])
    await h.maps.delete('top', { propagationPolicy: 'Background' })
    await h.clock.advance(1000)
    expect(await h.names()).toEqual(['free'])
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('deletes dependents first in the foreground, waiting for those that block', async () => {
    const h = await collecting()
    const top = await h.map('top')
    await h.map('mid', { name: 'top', uid: top.metadata.uid as string, block: true }, ['example.com/hold'])
    await h.clock.advance(1000)
    await h.maps.delete('top', { propagationPolicy: 'Foreground' })
    await h.clock.advance(1000)
    expect((await h.maps.get('top')).metadata.finalizers).toEqual(['foregroundDeletion'])
    expect((await h.maps.get('mid')).metadata.deletionTimestamp).toBeDefined()
    await h.maps.patch('mid', 'merge', { metadata: { finalizers: null } })
    await h.clock.advance(1000)
    expect(await h.names()).toEqual([])
    await h.stop()
  })

  it('orphans: dependents stay without the reference', async () => {
    const h = await collecting()
    const top = await h.map('top')
    await h.map('mid', { name: 'top', uid: top.metadata.uid as string })
    await h.clock.advance(1000)
    await h.maps.delete('top', { propagationPolicy: 'Orphan' })
    await h.clock.advance(1000)
    expect(await h.names()).toEqual(['mid'])
    expect((await h.maps.get('mid')).metadata.ownerReferences ?? []).toEqual([])
    await h.stop()
  })

  it('keeps what has another owner and drops the dangling reference', async () => {
    const h = await collecting()
    const [a, b] = [await h.map('a'), await h.map('b')]
    const ref = (o: typeof a) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: o.metadata.name, uid: o.metadata.uid })
    await h.create(configmaps, { metadata: { name: 'both', ownerReferences: [ref(a), ref(b)] } })
    await h.clock.advance(1000)
    await h.maps.delete('a', { propagationPolicy: 'Background' })
    await h.clock.advance(1000)
    expect((await h.maps.get('both')).metadata.ownerReferences).toEqual([ref(b)])
    await h.stop()
  })

  it('tells of an owner in another namespace and deletes the dependent', async () => {
    const h = await collecting()
    const far = await h.create(configmaps, { metadata: { name: 'far' } }, 'other')
    await h.clock.advance(1000)
    await h.map('near', { name: 'far', uid: far.metadata.uid as string })
    await h.clock.advance(1000)
    expect(await h.events()).toEqual([
      `Warning OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: default, name: far, uid: ${far.metadata.uid}] does not exist in namespace "default"`,
    ])
    expect(await h.names()).toEqual(['far'])
    await h.stop()
  })
})

describe('namespace, service account and root CA controllers', () => {
  it('fill each namespace and restore what is taken away', async () => {
    const h = controllerHarness()
    await h.create(namespaces, { metadata: { name: 'team' } })
    await h.start(new ServiceAccountController(h.context), new RootCaPublisher(h.context, 'PEM'))
    await h.clock.advance(1000)
    await h.client.resource(serviceaccounts).namespace('team').delete('default')
    await h.client
      .resource(configmaps)
      .namespace('team')
      .patch('kube-root-ca.crt', 'merge', { data: { foo: 'bar' } })
    await h.clock.advance(1000)
    expect((await h.list(serviceaccounts, 'team')).map((s) => s.metadata.name)).toEqual(['default'])
    expect((await h.list(configmaps, 'team')).map((m) => m.data)).toEqual([{ 'ca.crt': 'PEM' }])
    await h.stop()
  })

  it('empty a namespace, say what holds it, and let it go', async () => {
    const h = controllerHarness()
    await h.start(new NamespaceController(h.context))
    await h.create(namespaces, { metadata: { name: 'fin' } })
    await h.create(configmaps, { metadata: { name: 'held', finalizers: ['example.com/hold'] } }, 'fin')
    await h.create(configmaps, { metadata: { name: 'free' } }, 'fin')
    const get = () => h.client.resource(namespaces).get('fin')
    await h.client.resource(namespaces).delete('fin')
    await h.clock.advance(10_000)
    const conditions = ((await get()) as Namespace).status?.conditions?.map((c) => `${c.type} ${c.status} ${c.reason} ${c.message}`)
    expect(conditions).toEqual([
      'NamespaceDeletionDiscoveryFailure False ResourcesDiscovered All resources successfully discovered',
      'NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions All legacy kube types successfully parsed',
      'NamespaceDeletionContentFailure False ContentDeleted All content successfully deleted, may be waiting on finalization',
      'NamespaceContentRemaining True SomeResourcesRemain Some resources are remaining: configmaps. has 1 resource instances',
      'NamespaceFinalizersRemaining True SomeFinalizersRemain Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
    ])
    await h.client
      .resource(configmaps)
      .namespace('fin')
      .patch('held', 'merge', { metadata: { finalizers: null } })
    await h.clock.advance(30_000)
    await expect(get()).rejects.toSatisfy(isNotFound)
    await h.stop()
  })
})
