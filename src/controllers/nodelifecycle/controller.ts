import type { Lease } from '../../api/coordination/v1/types.generated.ts'
import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict, isNotFound } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import { BucketLimiter, type EventRecorder, type Informer, NODE_NAME_INDEX, referenceTo } from '../../client/index.ts'
import { findPodCondition } from '../../component-helpers/pod-conditions.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'
import type { ControllerManagerOptions } from '../options.ts'
import { conditionOf, NOT_READY, noExecuteTaints, noScheduleTaints, silentConditions, UNREACHABLE } from './conditions.ts'
import { changeTaints } from './node-taints.ts'

const EVICTION_RATE = 0.1
const SECONDARY_RATE = 0.01
const UNHEALTHY_ZONE = 0.55
const LARGE_CLUSTER = 50
const EVICTION_PERIOD_MS = 1000
const LABEL_PAIRS = [
  ['kubernetes.io/os', 'beta.kubernetes.io/os'],
  ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
] as const

type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption'

interface Health {
  heartbeat: string
  renewed: string
  /** When a sign of life was last seen, by this controller's clock. */
  seenAt: number
  ready: string
}

interface Zone {
  state: ZoneState
  limiter: BucketLimiter
  queue: Set<string>
}

/** Judges nodes by their heartbeats, marks them and their Pods, and taints those that are gone. */
export class NodeLifecycleController {
  private readonly context: ControllerContext
  private readonly nodes: Informer<Node>
  private readonly pods: Informer<Pod>
  private readonly leases: Informer<Lease>
  private readonly recorder: EventRecorder
  private readonly health = new Map<string, Health>()
  private readonly known = new Map<string, Node>()
  private readonly zones = new Map<string, Zone>()
  private readonly periodMs: number
  private readonly graceMs: number
  private readonly startupGraceMs: number
  private readonly controller: Controller
  private frozen = false

  constructor(context: ControllerContext, options: ControllerManagerOptions = {}) {
    this.context = context
    this.periodMs = options.nodeMonitorPeriodMs ?? 5_000
    this.graceMs = options.nodeMonitorGracePeriodMs ?? 50_000
    this.startupGraceMs = options.nodeStartupGracePeriodMs ?? 60_000
    const { informers } = context
    this.nodes = informers.informer(resources.corev1.nodes)
    this.pods = informers.informer(resources.corev1.pods)
    this.leases = informers.informer(resources.coordinationv1.leases, { namespace: 'kube-node-lease' })
    this.pods.addIndex(NODE_NAME_INDEX, (pod) => [pod.spec.nodeName ?? ''])
    this.recorder = context.events.recorder('node-controller')
    this.controller = new Controller(context, {
      name: 'node-lifecycle-controller',
      workers: 8,
      informers: [this.nodes, this.pods, this.leases],
      reconcile: (name) => this.reconcileNode(name),
    })
    const enqueue = (node: Node) => this.controller.queue.add(node.metadata.name ?? '')
    this.nodes.addHandler({ onAdd: enqueue, onUpdate: (_, node) => enqueue(node) })
  }

  async run(): Promise<void> {
    const { signal, clock, log } = this.context
    try {
      await Promise.all([this.nodes, this.pods, this.leases].map((i) => i.waitForSync(signal)))
    } catch {
      return
    }
    const loop = async (ms: number, work: () => Promise<void>) => {
      while (!signal.aborted) {
        try {
          await work()
        } catch (error) {
          if (!signal.aborted) log.error('Error monitoring node health', { err: (error as Error).message })
        }
        await clock.sleep(ms, signal).catch(() => {})
      }
    }
    await Promise.all([this.controller.run(), loop(this.periodMs, () => this.monitor()), loop(EVICTION_PERIOD_MS, () => this.taintQueued())])
  }

  /** NoSchedule taints and the older labels, as soon as a node changes. */
  private async reconcileNode(name: string): Promise<void> {
    const node = this.nodes.lister.get(name)
    if (!node) return
    const { client, clock } = this.context
    await changeTaints(client, node, (taints) => noScheduleTaints(node, taints, clock.now()))
    const labels: Record<string, string> = {}
    for (const [primary, secondary] of LABEL_PAIRS) {
      const value = node.metadata.labels?.[primary]
      if (value !== undefined && node.metadata.labels?.[secondary] !== value) labels[secondary] = value
    }
    if (Object.keys(labels).length > 0) await client.resource(resources.corev1.nodes).patch(name, 'strategic', { metadata: { labels } })
  }

  private async monitor(): Promise<void> {
    const current = new Map(this.nodes.lister.list().map((n) => [n.metadata.name ?? '', n]))
    for (const [name, node] of current) {
      if (this.known.has(name)) continue
      this.nodeEvent(node, 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`)
    }
    for (const [name, node] of this.known) {
      if (current.has(name)) continue
      this.nodeEvent(node, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`)
      this.health.delete(name)
      for (const zone of this.zones.values()) zone.queue.delete(name)
    }
    this.known.clear()
    for (const [name, node] of current) this.known.set(name, node)
    const ready = new Map<string, { ready: number; notReady: number }>()
    for (const node of current.values()) {
      const status = await this.judge(node).catch((error) => {
        if (!isNotFound(error) && !isConflict(error)) throw error
        return conditionOf(node, 'Ready')?.status ?? 'Unknown'
      })
      const zone = zoneOf(node)
      const counts = ready.get(zone) ?? { ready: 0, notReady: 0 }
      if (status === 'True') counts.ready++
      else counts.notReady++
      ready.set(zone, counts)
    }
    await this.judgeZones(ready, current)
  }

  private nodeEvent(node: Node, reason: string, message: string): void {
    const name = node.metadata.name ?? ''
    this.recorder.event({ kind: 'Node', apiVersion: 'v1', name, uid: node.metadata.uid ?? '' }, 'Normal', reason, message)
  }

  /** @returns the status of Ready after this look at the node */
  private async judge(node: Node): Promise<string> {
    const { client, clock } = this.context
    const name = node.metadata.name ?? ''
    const now = clock.now()
    const readyCondition = conditionOf(node, 'Ready')
    const heartbeat = readyCondition?.lastHeartbeatTime ?? ''
    const renewed = this.leases.lister.get(`kube-node-lease/${name}`)?.spec?.renewTime ?? ''
    const grace = readyCondition ? this.graceMs : this.startupGraceMs
    let health = this.health.get(name)
    const created = Date.parse(node.metadata.creationTimestamp ?? '')
    if (!health) {
      const seenAt = readyCondition || Number.isNaN(created) ? now : created
      this.health.set(name, (health = { heartbeat, renewed, seenAt, ready: readyCondition?.status ?? 'Unknown' }))
    } else if (heartbeat !== health.heartbeat || renewed > health.renewed) {
      Object.assign(health, { heartbeat, renewed, seenAt: now })
    }
    let status = readyCondition?.status ?? 'Unknown'
    let current = node
    if (now > health.seenAt + grace) {
      const conditions = silentConditions(node, now)
      if (conditions) {
        current = await client
          .resource(resources.corev1.nodes)
          .updateStatus({ ...deepCopy(node), status: { ...deepCopy(node.status), conditions } as NonNullable<Node['status']> })
        health.heartbeat = conditionOf(current, 'Ready')?.lastHeartbeatTime ?? ''
      }
      status = 'Unknown'
    }
    await this.react(current, status, health)
    return status
  }

  private async react(node: Node, status: string, health: Health): Promise<void> {
    const name = node.metadata.name ?? ''
    if (status !== 'True' && health.ready === 'True') {
      this.nodeEvent(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`)
      await this.markPodsNotReady(name)
    }
    health.ready = status
    const key = wantedTaint(status)
    const zone = this.zone(zoneOf(node))
    const has = (node.spec?.taints ?? []).find((t) => t.effect === 'NoExecute' && (t.key === NOT_READY || t.key === UNREACHABLE))
    if (key === undefined) {
      zone.queue.delete(name)
      if (has) await this.applyNoExecute(node, undefined)
    } else if (has && has.key !== key) await this.applyNoExecute(node, key)
    else if (!has && !this.frozen) zone.queue.add(name)
  }

  private async applyNoExecute(node: Node, key: string | undefined): Promise<void> {
    const { client, clock } = this.context
    await changeTaints(client, node, (taints) => noExecuteTaints(key, taints, clock.now()))
  }

  private async markPodsNotReady(node: string): Promise<void> {
    const { client, clock } = this.context
    for (const pod of this.pods.lister.byIndex(NODE_NAME_INDEX, node)) {
      if (findPodCondition(pod, 'Ready')?.status !== 'True') continue
      try {
        await client
          .resource(resources.corev1.pods)
          .namespace(pod.metadata.namespace)
          .patch(
            pod.metadata.name ?? '',
            'strategic',
            { metadata: { uid: pod.metadata.uid }, status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: formatTime(clock.now()) }] } },
            { subresource: 'status' },
          )
        this.recorder.event(referenceTo(resources.corev1.pods, pod), 'Warning', 'NodeNotReady', 'Node is not ready')
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
    }
  }

  private zone(name: string): Zone {
    let zone = this.zones.get(name)
    if (!zone) {
      zone = { state: 'Normal', limiter: new BucketLimiter(this.context.clock, EVICTION_RATE, 1), queue: new Set() }
      this.zones.set(name, zone)
    }
    return zone
  }

  /** A zone of which most is silent is more likely cut off than dead: eviction slows down or stops. */
  private async judgeZones(counts: ReadonlyMap<string, { ready: number; notReady: number }>, nodes: ReadonlyMap<string, Node>): Promise<void> {
    const { clock } = this.context
    const states = new Map<string, ZoneState>()
    for (const [name, { ready, notReady }] of counts) {
      const partial = notReady > 2 && notReady / (ready + notReady) >= UNHEALTHY_ZONE
      states.set(name, ready === 0 && notReady > 0 ? 'FullDisruption' : partial ? 'PartialDisruption' : 'Normal')
    }
    for (const name of this.zones.keys()) if (!counts.has(name)) this.zones.delete(name)
    const allFull = states.size > 0 && [...states.values()].every((s) => s === 'FullDisruption')
    if (allFull && !this.frozen) {
      for (const zone of this.zones.values()) zone.queue.clear()
      for (const node of nodes.values()) await this.applyNoExecute(node, undefined).catch(() => {})
    } else if (!allFull && this.frozen) {
      for (const health of this.health.values()) health.seenAt = clock.now()
    }
    this.frozen = allFull
    for (const [name, state] of states) {
      const zone = this.zone(name)
      if (zone.state === state) continue
      zone.state = state
      const { ready = 0, notReady = 0 } = counts.get(name) ?? {}
      const rate = state === 'PartialDisruption' ? (ready + notReady > LARGE_CLUSTER ? SECONDARY_RATE : 0) : EVICTION_RATE
      zone.limiter = new BucketLimiter(clock, rate, rate > 0 ? 1 : 0)
    }
  }

  private async taintQueued(): Promise<void> {
    if (this.frozen) return
    for (const zone of this.zones.values()) {
      for (const name of [...zone.queue]) {
        const node = this.nodes.lister.get(name)
        const key = node && wantedTaint(conditionOf(node, 'Ready')?.status ?? 'Unknown')
        if (!node || key === undefined) {
          zone.queue.delete(name)
          continue
        }
        if (!zone.limiter.tryTake()) break
        await this.applyNoExecute(node, key)
        zone.queue.delete(name)
      }
    }
  }
}

function wantedTaint(ready: string): string | undefined {
  return ready === 'True' ? undefined : ready === 'False' ? NOT_READY : UNREACHABLE
}

function zoneOf(node: Node): string {
  const labels = node.metadata.labels ?? {}
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`
}
