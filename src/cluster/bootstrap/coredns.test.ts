import { expect, test } from 'vitest'
import { resources } from '../../api/index.ts'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { createClient } from '../../client/rest/client.ts'
import { parseCorefile } from '../../dns/corefile/config.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { coreDnsObjects, ensureCoreDns } from './coredns.ts'

const options = { clusterIP: '10.96.0.10', onControlPlane: false }

test('cluster DNS is made once, whatever stood in the way the first time', async () => {
  const api = new FakeApi(new VirtualClock(), seededRandom(1))
  const client = createClient(api, { userAgent: 'test' })
  api.intercept = (method, path) => {
    if (method === 'POST' && path.includes('deployments')) throw new Error('not now')
  }
  await expect(ensureCoreDns(client, options)).rejects.toThrow()
  api.intercept = undefined
  await ensureCoreDns(client, options)
  const deployments = client.resource(resources.appsv1.deployments).namespace('kube-system')
  expect((await deployments.list()).items.map((d) => d.metadata.name)).toEqual(['coredns'])
  await deployments.delete('coredns')
  await ensureCoreDns(client, options)
  expect((await deployments.list()).items).toEqual([])
})

test('its Corefile is one that it understands', () => {
  const map = coreDnsObjects(options).find((o) => o.object.kind === 'ConfigMap')?.object as unknown as { data: { Corefile: string } }
  expect(parseCorefile(map.data.Corefile, { file: 'Corefile' })[0]?.kubernetes?.zones).toEqual(['cluster.local.', 'in-addr.arpa.', 'ip6.arpa.'])
})
