import type { Lease } from '../../api/coordination/v1/types.generated.ts'
import type { Node, NodeStatus, ObjectReference } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isAlreadyExists, isConflict, isForbidden, isNotFound } from '../../apimachinery/errors.ts'
import { formatMicroTime, formatTime } from '../../apimachinery/time.ts'
import { type Clock, deepEqual, type Random } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import type { Logger } from '../../component-base/component.ts'
import type { ContainerRuntime, RuntimeStatus, RuntimeVersion } from '../runtime/runtime.ts'
import { defaultLabels, type NodeShape, newNode, nodeStatus } from './node-object.ts'

export interface NodeManagerOptions {
  client: Client
  clock: Clock
  random: Random
  log: Logger
  recorder: EventRecorder
  runtime: ContainerRuntime
  shape: NodeShape
  register: boolean
  /** How often status is computed, in ms. */
  statusEveryMs: number
  /** How often unchanged status is sent, in ms. */
  reportEveryMs: number
  leaseSeconds: number
  /** What besides the runtime keeps the node from being ready. */
  problems(): string[]
  pressure(): { memory: boolean; disk: boolean; pid: boolean }
  onNode(node: Node): void
}

const RETRIES = 5
const REGISTER_MAX_MS = 7000

/** The node's own object and lease: registration, status reports, heartbeats. */
export class NodeManager {
  private readonly options: NodeManagerOptions
  private node: Node | undefined
  private version: RuntimeVersion | undefined
  private runtimeStatus: RuntimeStatus | undefined
  private runtimeError: string | undefined = 'container runtime status check may not have completed yet'
  private lastReport = Number.NEGATIVE_INFINITY
  private reportDelay: number
  private lastEvents: Record<string, string> = {}
  private podCIDR = ''
  private wake: (() => void) | undefined

  constructor(options: NodeManagerOptions) {
    this.options = options
    this.reportDelay = options.reportEveryMs
  }

  /** The Node as last seen or written. */
  current(): Node | undefined {
    return this.node
  }

  /** Why the runtime cannot run Pods; undefined when it can. */
  networkProblem(): string | undefined {
    const net = this.runtimeStatus?.conditions.find((c) => c.type === 'NetworkReady')
    if (net && !net.status) return `container runtime network not ready: NetworkReady=false reason:${net.reason} message:${net.message}`
    return undefined
  }

  /** A newer Node from a watch. */
  observe(node: Node): void {
    if (node.metadata.name !== this.options.shape.name) return
    this.take(node)
  }

  reference(): ObjectReference {
    return { kind: 'Node', apiVersion: 'v1', name: this.options.shape.name }
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.runtimeLoop(signal), this.statusLoop(signal), this.leaseLoop(signal)])
  }

  /** Reports soon: something about readiness changed. */
  poke(): void {
    this.wake?.()
  }

  private take(node: Node): void {
    const before = this.node
    this.node = node
    const cidr = node.spec?.podCIDR ?? ''
    if (cidr !== '' && cidr !== this.podCIDR) {
      this.podCIDR = cidr
      void Promise.resolve(this.options.runtime.updateRuntimeConfig?.(cidr)).catch(() => {})
    }
    const { recorder } = this.options
    const was = before?.spec?.unschedulable === true
    const is = node.spec?.unschedulable === true
    if (before && was !== is) this.event(recorder, is ? 'NodeNotSchedulable' : 'NodeSchedulable')
    this.options.onNode(node)
  }

  private event(recorder: EventRecorder, reason: string): void {
    recorder.event(this.reference(), 'Normal', reason, `Node ${this.options.shape.name} status is now: ${reason}`)
  }

  private async runtimeLoop(signal: AbortSignal): Promise<void> {
    const { clock, runtime } = this.options
    let delay = 100
    while (!signal.aborted) {
      const before = this.runtimeError
      const hadNetwork = this.networkProblem() === undefined
      try {
        this.version ??= await runtime.version()
        this.runtimeStatus = await runtime.status()
        const ready = this.runtimeStatus.conditions.find((c) => c.type === 'RuntimeReady')
        this.runtimeError =
          ready && !ready.status ? `container runtime not ready: RuntimeReady=false reason:${ready.reason} message:${ready.message}` : undefined
      } catch {
        this.version = undefined
        this.runtimeError = 'container runtime is down'
      }
      if (before !== this.runtimeError || hadNetwork !== (this.networkProblem() === undefined)) this.poke()
      const ok = this.runtimeError === undefined
      delay = ok ? 5000 : Math.min(delay * 2, 5000)
      await clock.sleep(ok ? 5000 : delay, signal).catch(() => {})
    }
  }

  private async statusLoop(signal: AbortSignal): Promise<void> {
    const { clock, random, statusEveryMs, register } = this.options
    let registered = !register
    let delay = 100
    while (!signal.aborted && !registered) {
      registered = await this.register(signal)
      if (registered) break
      await clock.sleep(delay, signal).catch(() => {})
      delay = Math.min(delay * 2, REGISTER_MAX_MS)
    }
    let reportedReady = false
    while (!signal.aborted) {
      for (let i = 0; i < RETRIES && !signal.aborted; i++) {
        try {
          reportedReady = (await this.report(signal, i > 0)) || reportedReady
          break
        } catch (error) {
          this.options.log.v(2).info('node status not written', { err: (error as Error).message })
        }
      }
      // Until Ready was posted once, readiness is looked for more often.
      const ms = reportedReady ? statusEveryMs * (1 + random.float() * 0.04) : Math.min(500, statusEveryMs)
      await this.sleep(ms, signal)
    }
  }

  private sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.wake = undefined
        signal.removeEventListener('abort', done)
        timer.cancel()
        resolve()
      }
      const timer = this.options.clock.setTimeout(done, ms)
      this.wake = done
      signal.addEventListener('abort', done, { once: true })
      if (signal.aborted) done()
    })
  }

  private async register(signal: AbortSignal): Promise<boolean> {
    const { client, shape, log } = this.options
    const nodes = client.resource(resources.corev1.nodes)
    const wanted = newNode(shape)
    wanted.status = this.compute(wanted)
    try {
      this.take(await nodes.create(wanted, { signal }))
      log.info('node registered', { node: shape.name })
      this.noteConditions(wanted.status, undefined)
      this.lastReport = this.options.clock.monotonic()
      return true
    } catch (error) {
      if (!isAlreadyExists(error) && !isForbidden(error)) {
        log.v(2).info('node not registered yet', { err: (error as Error).message })
        return false
      }
    }
    try {
      let existing = await nodes.get(shape.name, { signal })
      const labels: Record<string, string> = {}
      for (const [k, v] of Object.entries(defaultLabels(shape))) if (existing.metadata.labels?.[k] !== v) labels[k] = v
      const annotations =
        existing.metadata.annotations?.['volumes.kubernetes.io/controller-managed-attach-detach'] === 'true'
          ? {}
          : { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
      if (Object.keys(labels).length > 0 || Object.keys(annotations).length > 0) {
        existing = await nodes.patch(shape.name, 'strategic', { metadata: { labels, annotations } }, { signal })
      }
      this.take(existing)
      log.info('node was registered before', { node: shape.name })
      return true
    } catch (error) {
      log.v(2).info('node not registered yet', { err: (error as Error).message })
      return false
    }
  }

  private compute(node: Node, images: Parameters<typeof nodeStatus>[2]['images'] = []): NodeStatus {
    const problems = [
      ...(this.runtimeError === undefined ? [] : [this.runtimeError]),
      ...(this.networkProblem() === undefined ? [] : [this.networkProblem() as string]),
      ...this.options.problems(),
    ]
    return nodeStatus(node, this.options.shape, {
      version: this.version,
      runtime: this.runtimeStatus,
      images,
      problems,
      pressure: this.options.pressure(),
      now: formatTime(this.options.clock.now()),
    })
  }

  /** @returns whether Ready=True is what the API has now */
  private async report(signal: AbortSignal, fresh: boolean): Promise<boolean> {
    const { client, clock, random, shape, runtime, reportEveryMs } = this.options
    const nodes = client.resource(resources.corev1.nodes)
    const node = !fresh && this.node ? this.node : await nodes.get(shape.name, { signal })
    if (fresh) this.take(node)
    const images = this.runtimeError === undefined ? await runtime.images.listImages() : []
    const status = this.compute(node, images)
    const ready = status.conditions?.find((c) => c.type === 'Ready')?.status === 'True'
    const changed = !deepEqual(withoutHeartbeats(status), withoutHeartbeats(node.status))
    const due = clock.monotonic() - this.lastReport >= this.reportDelay
    if (!changed && !due) return ready
    const body = { status: changedFields(node.status, status) }
    const result = await nodes.patch(shape.name, 'strategic', body, { subresource: 'status', signal })
    this.noteConditions(status, node.status)
    this.take(result)
    this.lastReport = clock.monotonic()
    this.reportDelay = changed ? reportEveryMs * (0.5 + random.float()) : reportEveryMs
    return ready
  }

  private noteConditions(status: NodeStatus, before: NodeStatus | undefined): void {
    const { recorder } = this.options
    for (const c of status.conditions ?? []) {
      if (this.lastEvents[c.type] === c.status) continue
      const known = this.lastEvents[c.type] ?? before?.conditions?.find((o) => o.type === c.type)?.status
      this.lastEvents[c.type] = c.status
      if (c.type === 'Ready') {
        if (known !== undefined && known !== c.status) this.event(recorder, c.status === 'True' ? 'NodeReady' : 'NodeNotReady')
        continue
      }
      const word = { MemoryPressure: 'Memory', DiskPressure: 'DiskPressure', PIDPressure: 'PID' }[c.type]
      if (!word || known === c.status) continue
      const bad = c.status === 'True'
      const reason =
        c.type === 'DiskPressure' ? (bad ? 'NodeHasDiskPressure' : 'NodeHasNoDiskPressure') : bad ? `NodeHasInsufficient${word}` : `NodeHasSufficient${word}`
      this.event(recorder, reason)
    }
  }

  private async leaseLoop(signal: AbortSignal): Promise<void> {
    const { clock, random, client, shape, leaseSeconds, log } = this.options
    const leases = client.resource(resources.coordinationv1.leases).namespace('kube-node-lease')
    let lease: Lease | undefined
    let delay = 200
    while (!signal.aborted) {
      const uid = this.node?.metadata.uid
      if (uid === undefined) {
        // The lease is owned by the Node, so that the Node comes first.
        await clock.sleep(delay, signal).catch(() => {})
        continue
      }
      const renewTime = formatMicroTime(clock.now())
      try {
        if (!lease) {
          lease = await leases.get(shape.name, { signal }).catch((error: unknown) => {
            if (isNotFound(error)) return undefined
            throw error
          })
          lease ??= await leases.create(this.leaseObject(undefined, renewTime, uid), { signal })
        }
        for (let i = 0; i < RETRIES; i++) {
          try {
            lease = await leases.update(this.leaseObject(lease, renewTime, uid), { signal })
            break
          } catch (error) {
            if (isNotFound(error)) {
              lease = undefined
              throw error
            }
            if (isConflict(error)) lease = await leases.get(shape.name, { signal })
            else if (i === RETRIES - 1) throw error
          }
        }
        delay = 200
        await clock.sleep(((leaseSeconds * 1000) / 4) * (1 + random.float() * 0.04), signal).catch(() => {})
      } catch (error) {
        if (signal.aborted) return
        log.v(2).info('node lease not renewed', { err: (error as Error).message })
        await clock.sleep(delay, signal).catch(() => {})
        delay = Math.min(delay * 2, REGISTER_MAX_MS)
      }
    }
  }

  private leaseObject(old: Lease | undefined, renewTime: string, uid: string | undefined): Lease {
    const { shape, leaseSeconds } = this.options
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...(old?.metadata ?? {}),
        name: shape.name,
        namespace: 'kube-node-lease',
        ...(uid ? { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: shape.name, uid }] } : {}),
      },
      spec: { ...(old?.spec ?? {}), holderIdentity: shape.name, leaseDurationSeconds: leaseSeconds, renewTime },
    }
  }
}

function withoutHeartbeats(status: NodeStatus | undefined): unknown {
  return { ...status, conditions: (status?.conditions ?? []).map(({ lastHeartbeatTime: _drop, ...rest }) => rest) }
}

/** Only what differs; conditions merge by type on the server, addresses are given as a whole. */
function changedFields(before: NodeStatus | undefined, after: NodeStatus): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const key of Object.keys(after) as (keyof NodeStatus)[]) {
    const next = after[key]
    if (next === undefined || deepEqual(next, before?.[key])) continue
    if (key === 'addresses') {
      out['addresses'] = [{ $patch: 'replace' }, ...(after.addresses ?? [])]
    } else out[key] = next
  }
  if (out['capacity']) out['capacity'] = withRemovals(before?.capacity, after.capacity)
  if (out['allocatable']) out['allocatable'] = withRemovals(before?.allocatable, after.allocatable)
  return out
}

function withRemovals(before: Record<string, string> | undefined, after: Record<string, string> | undefined): Record<string, string | null> {
  const out: Record<string, string | null> = { ...after }
  for (const key of Object.keys(before ?? {})) if (!(key in out)) out[key] = null
  return out
}
