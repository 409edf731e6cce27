import { describe, expect, it } from 'vitest'
import type { Node } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/index.ts'
import { formatTime } from '../apimachinery/time.ts'
import { controllerHarness } from '../testing/controller-harness.ts'
import { ClusterRoleAggregationController } from './clusterroleaggregation/controller.ts'
import { NodeIpamController } from './nodeipam/controller.ts'
import { NodeLifecycleController } from './nodelifecycle/controller.ts'
import { PodGarbageCollector } from './podgc/controller.ts'
import { TaintEvictionController } from './tainteviction/controller.ts'

const { nodes, pods } = resources.corev1

async function running() {
  const h = controllerHarness()
  const silent = new Set<string>()
  const condition = (type: string, status: string) => ({
    type,
    status,
    lastHeartbeatTime: formatTime(h.clock.now()),
    lastTransitionTime: formatTime(h.clock.now()),
    reason: 'KubeletReady',
  })
  const ready = () => [condition('MemoryPressure', 'False'), condition('DiskPressure', 'False'), condition('PIDPressure', 'False'), condition('Ready', 'True')]
  const node = (name: string) => h.create(nodes, { metadata: { name, labels: { 'kubernetes.io/os': 'linux' } }, status: { conditions: ready() } })
  const beat = h.clock.setInterval(() => {
    for (const name of ['n1', 'n2']) {
      if (silent.has(name)) continue
      h.clock.track(
        h.client
          .resource(nodes)
          .patch(name, 'strategic', { status: { conditions: ready() } }, { subresource: 'status' })
          .catch(() => {}),
      )
    }
  }, 10_000)
  const get = (name: string) => h.client.resource(nodes).get(name)
  const taints = async (name: string) => ((await get(name)) as Node).spec?.taints?.map((t) => `${t.key}:${t.effect}`) ?? []
  return { ...h, silent, node, get, taints, beat }
}

describe('node controllers', () => {
  it('mark a silent node, taint it and evict its Pods when their tolerance ends', async () => {
    const h = await running()
    await h.node('n1')
    await h.node('n2')
    const pod = (name: string, tolerations: object[]) =>
      h.create(pods, {
        metadata: { name },
        spec: { nodeName: 'n1', containers: [], tolerations },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      })
    const tolerate = (seconds?: number) => ({
      key: 'node.kubernetes.io/unreachable',
      operator: 'Exists',
      effect: 'NoExecute',
      ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
    })
    await pod('soon', [tolerate(60)])
    await pod('never', [tolerate()])
    await h.start(new NodeLifecycleController(h.context), new TaintEvictionController(h.context))
    await h.clock.advance(20_000)
    expect(await h.taints('n1')).toEqual([])
    expect((await h.get('n1')).metadata.labels?.['beta.kubernetes.io/os']).toBe('linux')
    h.silent.add('n1')
    await h.clock.advance(70_000)
    const conditions = ((await h.get('n1')) as Node).status?.conditions?.map((c) => `${c.type} ${c.status} ${c.reason} ${c.message}`)
    expect(conditions).toContain('Ready Unknown NodeStatusUnknown Kubelet stopped posting node status.')
    expect((await h.taints('n1')).sort()).toEqual(['node.kubernetes.io/unreachable:NoExecute', 'node.kubernetes.io/unreachable:NoSchedule'])
    expect(await h.taints('n2')).toEqual([])
    const events = await h.events()
    expect(events).toContain('Normal RegisteredNode Node n1 event: Registered Node n1 in Controller')
    expect(events).toContain('Normal NodeNotReady Node n1 status is now: NodeNotReady')
    expect(events.filter((e) => e === 'Warning NodeNotReady Node is not ready')).toHaveLength(2)
    await h.clock.advance(65_000)
    const soon = (await h.list(pods)).find((p) => p.metadata.name === 'soon')
    expect(soon?.metadata.deletionTimestamp).toBeDefined()
    expect(soon?.status?.conditions?.find((c) => c.type === 'DisruptionTarget')).toMatchObject({
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    })
    expect((await h.list(pods)).find((p) => p.metadata.name === 'never')?.metadata.deletionTimestamp).toBeUndefined()
    h.silent.delete('n1')
    await h.clock.advance(20_000)
    expect(await h.taints('n1')).toEqual([])
    h.beat.cancel()
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('do not evict when every node is silent', async () => {
    const h = await running()
    await h.node('n1')
    await h.node('n2')
    await h.start(new NodeLifecycleController(h.context))
    await h.clock.advance(20_000)
    h.silent.add('n1').add('n2')
    await h.clock.advance(120_000)
    expect(await h.taints('n1')).toEqual(['node.kubernetes.io/unreachable:NoSchedule'])
    h.beat.cancel()
    await h.stop()
  })

  it('give each node a range of addresses and collect Pods of nodes that are gone', async () => {
    const h = await running()
    h.beat.cancel()
    await h.node('n1')
    await h.node('n2')
    await h.create(pods, { metadata: { name: 'lost' }, spec: { nodeName: 'n9', containers: [] }, status: { phase: 'Running' } })
    await h.start(new NodeIpamController(h.context, {}), new PodGarbageCollector(h.context))
    await h.clock.advance(30_000)
    expect((await h.list(nodes)).map((n) => [n.spec?.podCIDR, n.spec?.podCIDRs])).toEqual([
      ['10.244.0.0/24', ['10.244.0.0/24']],
      ['10.244.1.0/24', ['10.244.1.0/24']],
    ])
    expect(await h.list(pods)).toHaveLength(1)
    await h.clock.advance(60_000)
    expect(await h.list(pods)).toHaveLength(0)
    expect(await h.stop()).toEqual({ timers: 0, watches: 0 })
  })

  it('gather the rules of cluster roles', async () => {
    const h = controllerHarness()
    const { clusterroles } = resources.rbacv1
    const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
    await h.create(clusterroles, { metadata: { name: 'all' }, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { agg: 'x' } }] }, rules: [] })
    await h.create(clusterroles, { metadata: { name: 'part', labels: { agg: 'x' } }, rules: [rule] })
    await h.start(new ClusterRoleAggregationController(h.context))
    await h.clock.advance(1000)
    expect((await h.client.resource(clusterroles).get('all')).rules).toEqual([rule])
    await h.stop()
  })
})
