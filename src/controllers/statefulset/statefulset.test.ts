import { describe, expect, it } from 'vitest'
import { resources } from '../../api/index.ts'
import { controllerHarness, FakeNode } from '../../testing/controller-harness.ts'
import { StatefulSetController } from './controller.ts'

const { statefulsets, controllerrevisions } = resources.appsv1
const { persistentvolumeclaims, pods } = resources.corev1

async function running(spec: object = {}) {
  const h = controllerHarness()
  const node = new FakeNode(h.context)
  await h.start(node, new StatefulSetController(h.context))
  const labels = { app: 'db' }
  await h.create(statefulsets, {
    metadata: { name: 'db' },
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'a:1' }] } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      podManagementPolicy: 'OrderedReady',
      ...spec,
    },
  })
  await h.clock.advance(15_000)
  const patch = (change: object) => h.client.resource(statefulsets).namespace('default').patch('db', 'strategic', change)
  const get = () => h.client.resource(statefulsets).namespace('default').get('db')
  const names = async () => (await h.list(pods)).map((p) => p.metadata.name).sort()
  return { ...h, node, patch, get, names }
}

describe('stateful set controller', () => {
  it('starts Pods in order with their names, claims and labels', async () => {
    const h = await running({
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }],
    })
    expect(await h.names()).toEqual(['db-0', 'db-1', 'db-2'])
    const [first] = await h.list(pods)
    expect(first?.metadata.labels).toMatchObject({
      'statefulset.kubernetes.io/pod-name': 'db-0',
      'apps.kubernetes.io/pod-index': '0',
      'controller-revision-hash': expect.stringMatching(/^db-/),
    })
    expect(first?.spec).toMatchObject({ hostname: 'db-0', subdomain: 'db', volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } }] })
    expect((await h.list(persistentvolumeclaims)).map((c) => c.metadata.name)).toEqual(['data-db-0', 'data-db-1', 'data-db-2'])
    const revision = (await h.list(controllerrevisions))[0]?.metadata.name
    expect((await h.get()).status).toEqual({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      currentRevision: revision,
      updateRevision: revision,
      collisionCount: 0,
      availableReplicas: 3,
    })
    expect((await h.events()).filter((e) => e.includes('Pod db-0'))).toEqual([
      'Normal SuccessfulCreate Create Claim data-db-0 Pod db-0 in StatefulSet db success',
      'Normal SuccessfulCreate Create Pod db-0 in StatefulSet db successful',
    ])
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('waits for each Pod to be ready before it makes the next', async () => {
    const h = await running({ podManagementPolicy: 'OrderedReady', replicas: 0 })
    h.node.hold = (pod) => pod.metadata.name === 'db-1'
    await h.patch({ spec: { replicas: 3 } })
    await h.clock.advance(15_000)
    expect(await h.names()).toEqual(['db-0', 'db-1'])
    await h.stop()
  })

  it('rolls from the highest ordinal down, stopping at the partition', async () => {
    const h = await running()
    const images = async () =>
      [...(await h.list(pods))].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)).map((p) => p.spec.containers[0]?.image)
    const change = { template: { spec: { containers: [{ name: 'main', image: 'a:2' }] } } }
    await h.patch({ spec: { ...change, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } } })
    await h.clock.advance(30_000)
    expect(await images()).toEqual(['a:1', 'a:1', 'a:2'])
    expect((await h.get()).status).toMatchObject({ currentReplicas: 2, updatedReplicas: 1 })
    await h.patch({ spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } })
    await h.clock.advance(30_000)
    expect(await images()).toEqual(['a:2', 'a:2', 'a:2'])
    const { status } = await h.get()
    expect(status.currentRevision).toBe(status.updateRevision)
    await h.stop()
  })

  it('scales down from the top, one after the other', async () => {
    const h = await running()
    await h.patch({ spec: { replicas: 1 } })
    await h.clock.advance(400)
    expect((await h.list(pods)).filter((p) => p.metadata.deletionTimestamp).map((p) => p.metadata.name)).toEqual(['db-2'])
    await h.clock.advance(10_000)
    expect(await h.names()).toEqual(['db-0'])
    expect((await h.get()).status).toMatchObject({ replicas: 1, availableReplicas: 1 })
    await h.stop()
  })

  it('starts all at once when parallel', async () => {
    const h = await running({ podManagementPolicy: 'Parallel', replicas: 0 })
    h.node.hold = () => true
    await h.patch({ spec: { replicas: 3 } })
    await h.clock.advance(3000)
    expect(await h.names()).toEqual(['db-0', 'db-1', 'db-2'])
    await h.stop()
  })
})
