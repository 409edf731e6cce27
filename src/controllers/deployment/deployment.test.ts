import { describe, expect, it } from 'vitest'
import type { Deployment } from '../../api/apps/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { controllerHarness, FakeNode } from '../../testing/controller-harness.ts'
import { ReplicaSetController } from '../replicaset/controller.ts'
import { DeploymentController } from './controller.ts'

const { deployments, replicasets } = resources.appsv1

function deployment(name: string, spec: object = {}): unknown {
  const labels = { app: name }
  return {
    metadata: { name, labels },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'shop:1.0' }] } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      ...spec,
    },
  }
}

async function running() {
  const h = controllerHarness()
  const node = new FakeNode(h.context)
  await h.start(node, new ReplicaSetController(h.context), new DeploymentController(h.context))
  const get = (name: string) => h.client.resource(deployments).namespace('default').get(name)
  const setImage = (name: string, image: string) =>
    h.client
      .resource(deployments)
      .namespace('default')
      .patch(name, 'strategic', { spec: { template: { spec: { containers: [{ name: 'main', image }] } } } })
  const conditions = (d: Deployment) =>
    (d.status.conditions ?? []).map((c) => `${c.type}=${c.status} ${c.reason} ${c.message}`.replace(/front-[a-z0-9]+/g, 'front-H'))
  return { ...h, node, get, setImage, conditions }
}

const anonymous = (lines: string[]) => lines.map((l) => l.replace(/((?:front|tight|batchy|old)-)[bcdfghjklmnpqrstvwxz2456789]+/, '$1H'))

describe('deployment controller', () => {
  it('creates a ReplicaSet and becomes available', async () => {
    const h = await running()
    await h.create(deployments, deployment('front'))
    await h.clock.advance(10_000)
    const d = await h.get('front')
    expect(d.status).toMatchObject({ observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, terminatingReplicas: 0 })
    expect(d.status.unavailableReplicas).toBeUndefined()
    expect(d.metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '1' })
    expect(h.conditions(d)).toEqual([
      'Available=True MinimumReplicasAvailable Deployment has minimum availability.',
      'Progressing=True NewReplicaSetAvailable ReplicaSet "front-H" has successfully progressed.',
    ])
    const [set] = await h.list(replicasets)
    expect(set?.metadata.annotations).toEqual({
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '4',
      'deployment.kubernetes.io/revision': '1',
    })
    expect(set?.metadata.name).toMatch(/^front-[bcdfghjklmnpqrstvwxz2456789]{8,10}$/)
    expect(set?.status).toEqual({ replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3, terminatingReplicas: 0, observedGeneration: 1 })
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('rolls an update with the recorded events and annotations', async () => {
    const h = await running()
    await h.create(deployments, deployment('front'))
    await h.clock.advance(10_000)
    await h.setImage('front', 'shop:2.0')
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
    const sets = await h.list(replicasets)
    expect(sets.map((s) => [s.spec.replicas, s.metadata.annotations?.['deployment.kubernetes.io/revision'], s.metadata.generation])).toEqual([
      [0, '1', 4],
      [3, '2', 3],
    ])
    const d = await h.get('front')
    expect(d.status).toMatchObject({ replicas: 3, updatedReplicas: 3, availableReplicas: 3, observedGeneration: 2, terminatingReplicas: 0 })
    expect(h.conditions(d)[1]).toBe('Progressing=True NewReplicaSetAvailable ReplicaSet "front-H" has successfully progressed.')
    await h.stop()
  })

  it('goes back to an old template under a new revision', async () => {
    const h = await running()
    await h.create(deployments, deployment('front'))
    await h.clock.advance(10_000)
    await h.setImage('front', 'shop:2.0')
    await h.clock.advance(60_000)
    await h.setImage('front', 'shop:1.0')
    await h.clock.advance(60_000)
    const sets = await h.list(replicasets)
    expect(
      sets.map((s) => [
        s.spec.replicas,
        s.metadata.annotations?.['deployment.kubernetes.io/revision'],
        s.metadata.annotations?.['deployment.kubernetes.io/revision-history'],
      ]),
    ).toEqual([
      [3, '3', '1'],
      [0, '2', undefined],
    ])
    expect((await h.get('front')).metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3')
    await h.stop()
  })

  it('without surge takes one down before it brings one up', async () => {
    const h = await running()
    await h.create(deployments, deployment('tight', { replicas: 2, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } }))
    await h.clock.advance(10_000)
    await h.setImage('tight', 'shop:2.0')
    await h.clock.advance(60_000)
    expect(anonymous(await h.events('deployment-controller'))).toEqual([
      'Normal ScalingReplicaSet Scaled up replica set tight-H from 0 to 2',
      'Normal ScalingReplicaSet Scaled down replica set tight-H from 2 to 1',
      'Normal ScalingReplicaSet Scaled up replica set tight-H from 0 to 1',
      'Normal ScalingReplicaSet Scaled down replica set tight-H from 1 to 0',
      'Normal ScalingReplicaSet Scaled up replica set tight-H from 1 to 2',
    ])
    await h.stop()
  })

  it('recreates: all old Pods go before new ones come', async () => {
    const h = await running()
    await h.create(deployments, deployment('batchy', { replicas: 2, strategy: { type: 'Recreate' } }))
    await h.clock.advance(10_000)
    await h.setImage('batchy', 'shop:2.0')
    await h.clock.advance(60_000)
    expect(anonymous(await h.events('deployment-controller'))).toEqual([
      'Normal ScalingReplicaSet Scaled up replica set batchy-H from 0 to 2',
      'Normal ScalingReplicaSet Scaled down replica set batchy-H from 2 to 0',
      'Normal ScalingReplicaSet Scaled up replica set batchy-H from 0 to 2',
    ])
    expect((await h.get('batchy')).status.availableReplicas).toBe(2)
    await h.stop()
  })

  it('says so when the deadline passes', async () => {
    const h = await running()
    h.node.hold = () => true
    await h.create(deployments, deployment('front', { progressDeadlineSeconds: 60 }))
    await h.clock.advance(30_000)
    expect(h.conditions(await h.get('front'))).toEqual([
      'Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.',
      'Progressing=True ReplicaSetUpdated ReplicaSet "front-H" is progressing.',
    ])
    await h.clock.advance(40_000)
    expect(h.conditions(await h.get('front'))[1]).toBe('Progressing=False ProgressDeadlineExceeded ReplicaSet "front-H" has timed out progressing.')
    await h.stop()
  })
})
