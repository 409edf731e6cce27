import { expect, test } from 'vitest'
import { type coordinationv1, resources } from '../../api/index.ts'
import { formatMicroTime } from '../../apimachinery/time.ts'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { createClient } from '../../client/rest/client.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { releaseStaleLeases } from './stale-leases.ts'

test('only leases of this node that nobody renewed since the start are given back', async () => {
  const clock = new VirtualClock()
  const client = createClient(new FakeApi(clock, seededRandom(1)))
  const leases = client.resource(resources.coordinationv1.leases).namespace('kube-system')
  const startedAt = clock.now() + 60_000
  const make = (name: string, holderIdentity: string, renewed: number) =>
    leases.create({ metadata: { name }, spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: formatMicroTime(renewed) } } as coordinationv1.Lease)
  const holder = async (name: string) => (await leases.get(name)).spec?.holderIdentity
  await make('kube-scheduler', 'node-1_a', startedAt - 1000)
  await make('kube-controller-manager', 'node-1_b', startedAt + 1000)
  await releaseStaleLeases(client, 'node-1', startedAt)
  expect([await holder('kube-scheduler'), await holder('kube-controller-manager')]).toEqual(['', 'node-1_b'])
  await leases.delete('kube-scheduler')
  await make('kube-scheduler', 'node-10_a', startedAt - 1000)
  await releaseStaleLeases(client, 'node-1', startedAt)
  expect(await holder('kube-scheduler')).toBe('node-10_a')
})
