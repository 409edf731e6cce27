import { describe, expect, it } from 'vitest'
import { resources } from '../api/index.ts'
import { isNotFound } from '../apimachinery/errors.ts'
import { FakeNode } from '../testing/controller-harness.ts'
import { realHarness } from '../testing/real-harness.ts'
import { controllers } from './index.ts'

const { deployments, replicasets, daemonsets } = resources.appsv1
const { configmaps, namespaces, nodes, pods, serviceaccounts, services } = resources.corev1

async function running() {
  const h = await realHarness()
  const all = controllers.map((c) => ({ run: () => c.start(h.context, { rootCA: 'PEM', allocateNodeCidrs: true }) ?? Promise.resolve() }))
  await h.start(new FakeNode(h.context), ...all)
  await h.create(nodes, { metadata: { name: 'node-1', labels: { 'kubernetes.io/os': 'linux' } } })
  await h.clock.advance(3000)
  return h
}

const anonymous = (lines: string[]) => lines.map((l) => l.replace(/front-[bcdfghjklmnpqrstvwxz2456789]+/g, 'front-H'))

describe('controllers on the API server', () => {
  it('roll a Deployment, serve it, and take all of it away again', async () => {
    const h = await running()
    const labels = { app: 'front' }
    await h.create(deployments, {
      metadata: { name: 'front', labels },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'shop:1.0' }] } },
      },
    })
    await h.create(services, { metadata: { name: 'front' }, spec: { selector: labels, ports: [{ port: 80 }] } })
    await h.clock.advance(15_000)
    const get = () => h.client.resource(deployments).namespace('default').get('front')
    expect((await get()).status).toMatchObject({
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      observedGeneration: 1,
      terminatingReplicas: 0,
    })
    expect((await get()).metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '1' })
    expect((await h.list(serviceaccounts, 'default')).map((s) => s.metadata.name)).toEqual(['default'])
    expect((await h.list(resources.discoveryv1.endpointslices, 'default')).find((s) => s.metadata.generateName === 'front-')?.endpoints).toHaveLength(3)
    await h.client
      .resource(deployments)
      .namespace('default')
      .patch('front', 'strategic', { spec: { template: { spec: { containers: [{ name: 'main', image: 'shop:2.0' }] } } } })
    await h.clock.advance(60_000)
    expect(anonymous(await h.events('deployment-controller'))).toEqual([
      'Normal ScalingReplicaSet Scaled up replica set front-H from 0 to 3',
      'Normal ScalingReplicaSet Scaled up replica set front-H from 0 to 1',
      'Normal ScalingReplicaSet Scaled down replica set front-H from 3 to 2',
      'Normal ScalingReplicaSet Scaled up replica set front-H from 1 to 2',
      'Normal ScalingReplicaSet Scaled down replica set front-H from 2 to 1',
      'Normal ScalingReplicaSet Scaled up replica set front-H from 2 to 3',
      'Normal ScalingReplicaSet Scaled down replica set front-H from 1 to 0',
    ])
    expect((await h.list(replicasets)).map((s) => s.spec.replicas).sort()).toEqual([0, 3])
    await h.client.resource(deployments).namespace('default').delete('front', { propagationPolicy: 'Foreground' })
    await h.clock.advance(60_000)
    await expect(get()).rejects.toSatisfy(isNotFound)
    expect(await h.list(pods)).toEqual([])
    expect(await h.list(replicasets)).toEqual([])
    await h.stop()
  })

  it('run daemon sets, and empty namespaces that are deleted', async () => {
    const h = await running()
    await h.create(namespaces, { metadata: { name: 'team' } })
    const labels = { app: 'ds' }
    await h.create(
      daemonsets,
      {
        metadata: { name: 'ds' },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'a:1' }] } },
        },
      },
      'team',
    )
    await h.clock.advance(10_000)
    expect((await h.client.resource(daemonsets).namespace('team').get('ds')).status).toMatchObject({
      desiredNumberScheduled: 1,
      numberReady: 1,
      numberAvailable: 1,
      updatedNumberScheduled: 1,
    })
    expect((await h.list(configmaps, 'team')).map((m) => m.metadata.name)).toEqual(['kube-root-ca.crt'])
    await h.client.resource(namespaces).delete('team')
    await h.clock.advance(90_000)
    await expect(h.client.resource(namespaces).get('team')).rejects.toSatisfy(isNotFound)
    await h.stop()
  })
})
