import { setMaxListeners } from 'node:events'
import type { corev1 } from '../api/index.ts'
import { resources } from '../api/index.ts'
import { isNotFound } from '../apimachinery/errors.ts'
import { formatTime } from '../apimachinery/time.ts'
import { yielder } from '../base/index.ts'
import type { InformerFactory } from '../client/cache/informer-factory.ts'
import type { Client } from '../client/client.ts'
import type { SeriesRecorder } from '../client/record/series-recorder.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { ClusterCache } from './cache/cluster-cache.ts'
import { POD_SCOPE, watchCluster } from './event-handlers.ts'
import { fitErrorText } from './framework/fit-error.ts'
import type { ClusterView, CycleState, Diagnosis } from './framework/plugin.ts'
import type { PodInfo } from './framework/pod-info.ts'
import { isRejected, type Status } from './framework/status.ts'
import { Nominations } from './nominations.ts'
import { isWaiting, Profile } from './profile.ts'
import { type QueuedPod, SchedulingQueue } from './queue/scheduling-queue.ts'

export interface SchedulerOptions extends Pick<ComponentContext, 'clock' | 'random' | 'log'> {
  client: Client
  informers: InformerFactory
  recorder: (schedulerName: string) => SeriesRecorder
  view: ClusterView
  /** @default ['default-scheduler'] */
  schedulerNames?: readonly string[]
  /** How many bindings may be under way at once; more wait. @default 64 */
  maxBindings?: number
}

interface Failure {
  pod: QueuedPod
  profile: Profile
  message: string
  reason: 'Unschedulable' | 'SchedulerError'
  rejectedBy: ReadonlySet<string>
  pendingBy: ReadonlySet<string>
  /** undefined: leave as it is. */
  nominatedNode: string | undefined
  /** The nomination that was written last, where the cache may not show it yet. */
  nominatedBefore?: string
}

/**
 * Takes one waiting Pod after another, finds it a node in one turn of the loop, counts it there at once, and binds in the
 * background. What happens in the cluster meanwhile reaches the queue through event handlers, which wake Pods that may profit.
 */
export class Scheduler {
  readonly queue: SchedulingQueue
  readonly cache = new ClusterCache()
  private readonly options: SchedulerOptions
  private readonly profiles = new Map<string, Profile>()
  private readonly nominations = new Nominations()
  /** Pods on their way to their node. */
  private readonly underWay = new Set<Promise<void>>()
  private bindings = 0
  private readonly slotWaiters: (() => void)[] = []
  private signal: AbortSignal = AbortSignal.abort()

  constructor(options: SchedulerOptions) {
    this.options = options
    for (const name of options.schedulerNames ?? ['default-scheduler']) {
      const recorder = options.recorder(name)
      this.profiles.set(
        name,
        new Profile(name, this.cache, {
          client: options.client,
          clock: options.clock,
          random: options.random,
          log: options.log,
          view: options.view,
          nominatedOn: (node) => this.nominations.on(node),
          event: (regarding, related, type, reason, action, note) =>
            recorder.eventf(reference(regarding), related && reference(related), type, reason, action, note),
          activate: (pod) => this.queue.activate(pod.uid),
        }),
      )
    }
    const first = [...this.profiles.values()][0] as Profile
    this.queue = new SchedulingQueue({ clock: options.clock, plugins: first.runner.plugins })
  }

  /** Schedules until the signal aborts; bindings under way are waited for. */
  async run(signal: AbortSignal): Promise<void> {
    this.signal = signal
    // One for each informer, and each Pod that waits.
    setMaxListeners(0, signal)
    const { informers, log } = this.options
    const handlers = watchCluster({
      informers,
      cache: this.cache,
      queue: this.queue,
      nominations: this.nominations,
      isWaiting: (pod) => isWaiting(pod, (name) => this.profiles.has(name)),
    })
    signal.addEventListener('abort', () => this.queue.close(), { once: true })
    try {
      await handlers.synced(signal)
      this.queue.run()
      const tick = yielder()
      for (;;) {
        const pod = await this.queue.pop()
        if (!pod || signal.aborted) break
        await this.scheduleOne(pod)
        await tick()
      }
    } catch (e) {
      if (!signal.aborted) throw e
    } finally {
      this.queue.close()
      handlers.remove()
      await Promise.all(this.underWay)
      log.v(1).info('scheduler stopped')
    }
  }

  private async scheduleOne(queued: QueuedPod): Promise<void> {
    const { info } = queued
    const profile = this.profiles.get(info.pod.spec.schedulerName ?? 'default-scheduler')
    if (!profile) return this.queue.done(queued)
    if (info.pod.metadata.deletionTimestamp) {
      this.event(profile, info.pod, 'Warning', 'FailedScheduling', 'Scheduling', `skip schedule deleting pod: ${info.key}`)
      return this.queue.done(queued)
    }
    if (this.cache.isAssumed(info.uid)) return this.queue.done(queued)
    const state: CycleState = new Map()
    try {
      const result = profile.pick(state, info)
      if ('node' in result) await this.assume(queued, profile, state, result.node)
      else await this.reject(queued, profile, state, result.diagnosis)
    } catch (e) {
      await this.fail({
        pod: queued,
        profile,
        message: e instanceof Error ? e.message : String(e),
        reason: 'SchedulerError',
        rejectedBy: new Set(),
        pendingBy: new Set(),
        nominatedNode: '',
      })
    }
  }

  private async assume(queued: QueuedPod, profile: Profile, state: CycleState, node: string): Promise<void> {
    const { info } = queued
    this.cache.assume(info, node)
    const status = profile.runner.reserve(state, info, node)
    if (status) {
      this.cache.forget(info.uid)
      const rejected = isRejected(status)
      return this.fail({
        pod: queued,
        profile,
        message: rejected ? `0/1 nodes are available: 1 ${status.reasons.join(', ')}.` : status.reasons.join(', '),
        reason: rejected ? 'Unschedulable' : 'SchedulerError',
        rejectedBy: new Set(rejected && status.plugin ? [status.plugin] : []),
        pendingBy: new Set(),
        nominatedNode: '',
      })
    }
    this.queue.done(queued)
    this.nominations.remove(info.uid)
    // Volumes may be long in coming: who waits for them takes no slot, and the next Pod need not wait.
    const waits = profile.runner.preBindNeeded(state, info, node)
    if (!waits) await this.takeSlot()
    const binding = this.bind(queued, profile, state, node, waits)
    const work: Promise<void> = (waits ? binding : this.options.clock.track(binding)).finally(() => this.underWay.delete(work))
    this.underWay.add(work)
  }

  private async takeSlot(): Promise<void> {
    if (this.bindings >= (this.options.maxBindings ?? 64)) await new Promise<void>((resolve) => this.slotWaiters.push(resolve))
    else this.bindings++
  }

  private returnSlot(): void {
    const next = this.slotWaiters.shift()
    if (next) next()
    else this.bindings--
  }

  /** @param waits preBind has work to do; a slot is taken after it only */
  private async bind(queued: QueuedPod, profile: Profile, state: CycleState, node: string, waits: boolean): Promise<void> {
    const { info } = queued
    let status: Status | undefined
    let hasSlot = !waits
    try {
      if (waits) {
        // Whoever looks at the Pod meanwhile sees where it is going (KEP-5278).
        await this.patchStatus(info.pod, undefined, node)
        status = await profile.runner.preBind(state, info, node, this.signal)
        if (!status) {
          await this.takeSlot()
          hasSlot = true
        }
      }
      status ??= await profile.runner.bind(state, info, node)
      if (!status) {
        this.event(profile, info.pod, 'Normal', 'Scheduled', 'Binding', `Successfully assigned ${info.key} to ${node}`)
        return
      }
      profile.runner.unreserve(state, info, node)
      this.cache.forget(info.uid)
      // For everybody else it is as if a Pod had left the node.
      this.queue.onEvent({ resource: 'AssignedPod', action: 'Delete', old: info.pod })
      if (this.signal.aborted) return
      const rejected = isRejected(status)
      await this.fail({
        pod: queued,
        profile,
        message: rejected ? `0/1 nodes are available: 1 ${status.reasons.join(', ')}.` : status.reasons.join(', '),
        reason: rejected ? 'Unschedulable' : 'SchedulerError',
        rejectedBy: new Set(rejected && status.plugin ? [status.plugin] : []),
        pendingBy: new Set(),
        nominatedNode: '',
        ...(waits ? { nominatedBefore: node } : {}),
      })
    } catch (e) {
      this.options.log.error('binding failed', { pod: info.key, node, error: String(e) })
    } finally {
      if (hasSlot) this.returnSlot()
    }
  }

  /** No node fits: asks the PostFilter plugins (preemption) for a way out, then lets the Pod wait. */
  private async reject(queued: QueuedPod, profile: Profile, state: CycleState, diagnosis: Diagnosis): Promise<void> {
    const nodes = this.cache.nodes
    let nominatedNode: string | undefined
    const texts: string[] = []
    if (nodes.length === 0) nominatedNode = ''
    else {
      for (const plugin of profile.postFilterPlugins()) {
        const result = await plugin.postFilter?.(state, queued.info, diagnosis)
        if (!result) continue
        if (result.nominatedNode !== undefined) nominatedNode = result.nominatedNode
        if (!result.status) {
          texts.length = 0
          break
        }
        if (result.status.code === 'error' || result.status.code === 'unresolvable') {
          texts.splice(0, texts.length, ...result.status.reasons)
          break
        }
        texts.push(...result.status.reasons)
      }
    }
    const names = nodes.map((n) => n.name)
    await this.fail({
      pod: queued,
      profile,
      message: fitErrorText(nodes.length, diagnosis, names, texts.join(', ')),
      reason: 'Unschedulable',
      rejectedBy: diagnosis.plugins,
      pendingBy: diagnosis.pendingPlugins,
      nominatedNode,
    })
  }

  /** Back into the queue, then the event, then the status. */
  private async fail(failure: Failure): Promise<void> {
    const { pod: queued, profile, message, reason, nominatedNode } = failure
    const { info } = queued
    const current = this.podFromCache(info)
    if (current && !current.spec.nodeName) {
      queued.info = { ...info, pod: current }
      this.queue.failed(queued, failure.rejectedBy, failure.pendingBy, reason === 'SchedulerError')
    } else this.queue.done(queued)
    if (nominatedNode) this.nominations.set(info, nominatedNode)
    else if (nominatedNode === '') this.nominations.remove(info.uid)
    this.event(profile, info.pod, 'Warning', 'FailedScheduling', 'Scheduling', message)
    // The status is sent while the next Pod is looked at; a failure is only worth a log line.
    void this.options.clock.track(this.patchStatus(current ?? info.pod, { reason, message }, nominatedNode, failure.nominatedBefore))
  }

  /** @param nominatedNode undefined: leave it as it is; '' clears it */
  private async patchStatus(
    pod: corev1.Pod,
    condition: { reason: string; message: string } | undefined,
    nominatedNode: string | undefined,
    nominatedBefore = pod.status.nominatedNodeName ?? '',
  ): Promise<void> {
    const old = pod.status.conditions?.find((c) => c.type === 'PodScheduled')
    const sameCondition = !condition || (old?.status === 'False' && old.reason === condition.reason && old.message === condition.message)
    const sameNomination = nominatedNode === undefined || nominatedBefore === nominatedNode
    if (sameCondition && sameNomination) return
    const status: Record<string, unknown> = {}
    if (!sameCondition) {
      const lastTransitionTime = old?.status === 'False' ? old.lastTransitionTime : formatTime(this.options.clock.now())
      status.conditions = [
        {
          type: 'PodScheduled',
          status: 'False',
          ...condition,
          lastProbeTime: null,
          lastTransitionTime,
          ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
        },
      ]
    }
    if (!sameNomination) status.nominatedNodeName = nominatedNode === '' ? null : nominatedNode
    const pods = this.options.client.resource(resources.corev1.pods).namespace(pod.metadata.namespace)
    try {
      await pods.patch(pod.metadata.name ?? '', 'strategic', { metadata: { uid: pod.metadata.uid }, status }, { subresource: 'status' })
    } catch (e) {
      if (!isNotFound(e) && !this.signal.aborted)
        this.options.log.error('could not update the status of a Pod', { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, error: String(e) })
    }
  }

  private podFromCache(info: PodInfo): corev1.Pod | undefined {
    const pod = this.options.informers.informer(resources.corev1.pods, POD_SCOPE).lister.get(info.key)
    return pod?.metadata.uid === info.uid ? pod : undefined
  }

  private event(profile: Profile, pod: corev1.Pod, type: 'Normal' | 'Warning', reason: string, action: string, note: string): void {
    this.options.recorder(profile.schedulerName).eventf(reference(pod), undefined, type, reason, action, note)
  }
}

function reference(pod: corev1.Pod): corev1.ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, resourceVersion } as corev1.ObjectReference
}
