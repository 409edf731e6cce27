import { describe, expect, it } from 'vitest'
import { resources } from '../../api/index.ts'
import { controllerHarness, FakeNode } from '../../testing/controller-harness.ts'
import { DaemonSetController } from './controller.ts'
import { targetNodeOf } from './placement.ts'

const { controllerrevisions, daemonsets } = resources.appsv1
const { nodes, pods } = resources.corev1

async function running(strategy: object = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } }) {
  const h = controllerHarness()
  for (const name of ['n1', 'n2', 'n3']) await h.create(nodes, { metadata: { name, labels: { 'kubernetes.io/os': 'linux' } } })
  // Binds Pods to the node they are meant for.
  const kubelets = ['n1', 'n2', 'n3'].map((node) => {
    const kubelet = new FakeNode(h.context, { node })
    kubelet.hold = (pod) => targetNodeOf(pod) !== node
    return kubelet
  })
  await h.start(...kubelets, new DaemonSetController(h.context))
  const labels = { app: 'ds' }
  const set = await h.create(daemonsets, {
    metadata: { name: 'ds', annotations: { 'deprecated.daemonset.template.generation': '1' } },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'a:1' }] } },
      updateStrategy: strategy,
      revisionHistoryLimit: 10,
    },
  })
  await h.clock.advance(10_000)
  const get = () => h.client.resource(daemonsets).namespace('default').get('ds')
  return { ...h, set, get }
}

describe('daemon set controller', () => {
  it('runs one Pod on each node and follows taints', async () => {
    const h = await running()
    const all = await h.list(pods)
    expect(all.map((p) => p.spec.nodeName).sort()).toEqual(['n1', 'n2', 'n3'])
    expect(all[0]?.metadata.labels).toMatchObject({ app: 'ds', 'pod-template-generation': '1', 'controller-revision-hash': expect.any(String) })
    expect(all[0]?.spec.tolerations?.map((t) => `${t.key}:${t.effect}`)).toEqual([
      'node.kubernetes.io/not-ready:NoExecute',
      'node.kubernetes.io/unreachable:NoExecute',
      'node.kubernetes.io/disk-pressure:NoSchedule',
      'node.kubernetes.io/memory-pressure:NoSchedule',
      'node.kubernetes.io/pid-pressure:NoSchedule',
      'node.kubernetes.io/unschedulable:NoSchedule',
    ])
    expect((await h.get()).status).toEqual({
      currentNumberScheduled: 3,
      numberMisscheduled: 0,
      desiredNumberScheduled: 3,
      numberReady: 3,
      observedGeneration: 1,
      updatedNumberScheduled: 3,
      numberAvailable: 3,
    })
    await h.client.resource(nodes).patch('n2', 'merge', { spec: { taints: [{ key: 'x', effect: 'NoExecute' }] } })
    await h.clock.advance(10_000)
    expect((await h.list(pods)).map((p) => p.spec.nodeName).sort()).toEqual(['n1', 'n3'])
    expect((await h.get()).status.desiredNumberScheduled).toBe(2)
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('rolls one node after the other and keeps revisions', async () => {
    const h = await running()
    await h.client
      .resource(daemonsets)
      .namespace('default')
      .patch('ds', 'strategic', {
        metadata: { annotations: { 'deprecated.daemonset.template.generation': '2' } },
        spec: { template: { spec: { containers: [{ name: 'main', image: 'a:2' }] } } },
      })
    let least = 3
    for (let i = 0; i < 60; i++) {
      await h.clock.advance(500)
      least = Math.min(least, (await h.list(pods)).filter((p) => p.status?.phase === 'Running' && !p.metadata.deletionTimestamp).length)
    }
    expect(least).toBe(2)
    expect((await h.list(pods)).map((p) => p.spec.containers[0]?.image)).toEqual(['a:2', 'a:2', 'a:2'])
    expect((await h.get()).status).toMatchObject({ updatedNumberScheduled: 3, numberAvailable: 3 })
    expect((await h.list(controllerrevisions)).map((r) => r.revision)).toEqual([1, 2])
    await h.stop()
  })

  it('surges: the new Pod comes before the old one goes', async () => {
    const h = await running({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } })
    await h.client
      .resource(daemonsets)
      .namespace('default')
      .patch('ds', 'strategic', {
        metadata: { annotations: { 'deprecated.daemonset.template.generation': '2' } },
        spec: { template: { spec: { containers: [{ name: 'main', image: 'a:2' }] } } },
      })
    let least = 3
    for (let i = 0; i < 80; i++) {
      await h.clock.advance(500)
      least = Math.min(least, (await h.list(pods)).filter((p) => p.status?.phase === 'Running' && !p.metadata.deletionTimestamp).length)
    }
    expect(least).toBe(3)
    expect((await h.list(pods)).map((p) => p.spec.containers[0]?.image)).toEqual(['a:2', 'a:2', 'a:2'])
    await h.stop()
  })
})
