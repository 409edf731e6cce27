import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import type { Pod, PodStatus } from '../../api/core/v1/types.generated.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { pullSecrets } from '../images/pull-secrets.ts'
import { isHostNetwork, isStatic, podReference, uidOf } from '../pods/pod.ts'
import type { PodManager } from '../pods/pod-manager.ts'
import type { PodSyncer } from '../pods/pod-worker.ts'
import type { Prober } from '../prober/prober.ts'
import type { RuntimeHandlers } from '../runtime/handlers.ts'
import { hasRunning, type PodState } from '../runtime/pod-state.ts'
import type { PodStates } from '../runtime/pod-states.ts'
import type { ContainerRuntime } from '../runtime/runtime.ts'
import { podStatus } from '../status/pod-status.ts'
import type { StatusManager } from '../status/status-manager.ts'
import { TerminationMessages } from '../status/termination-messages.ts'
import type { ObjectCache } from '../volumes/object-cache.ts'
import type { VolumeManager } from '../volumes/volume-manager.ts'
import type { PodRuntime } from './pod-runtime.ts'

/** The longest wait when a deadline is ahead. */
const DEADLINE_LOOK_MS = 60_000
const NETWORK_RETRY_MS = 1000
/** A failure stays to be seen before the next look may replace it by a wait. */
const AFTER_FAILURE_MS = 1000

export interface PodLifecycleOptions {
  clock: Clock
  recorder: EventRecorder
  runtime: ContainerRuntime
  handlers: RuntimeHandlers
  states: PodStates
  pods: PodManager
  status: StatusManager
  prober: Prober
  volumes: VolumeManager
  podRuntime: PodRuntime
  objects: ObjectCache
  hostIPs: readonly string[]
  /** Why Pods get no network now. */
  networkProblem(): string | undefined
}

/** A Pod's way on the node, from its first sync until nothing is left of it; every step reads the runtime, acts, and reports. */
export class PodLifecycle implements PodSyncer {
  private readonly options: PodLifecycleOptions
  private readonly messages: TerminationMessages

  constructor(options: PodLifecycleOptions) {
    this.options = options
    this.messages = new TerminationMessages(options.runtime)
  }

  mustWait(pod: Pod): boolean {
    return this.options.pods.mustWait(pod)
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<{ terminal: boolean; againInMs?: number }> {
    const { clock, recorder, handlers, states, pods, prober, volumes, podRuntime } = this.options
    const uid = uidOf(pod)
    await handlers.resolve(pod)
    let state = await states.read(pod)
    const before = this.options.status.get(pod)
    prober.update(pod, state)
    const status = this.report(pod, state, false)
    if (isStatic(pod)) pods.mirror(pod)
    if (hasEnded(status) || hasEnded(before) || hasEnded(this.statusOf(pod, state, false))) return { terminal: true }
    const late = this.deadline(pod, status)
    if (late !== undefined && late <= 0) {
      const message = 'Pod was active on the node longer than the specified deadline'
      recorder.event(podReference(pod), 'Normal', 'DeadlineExceeded', message)
      pods.end(uid, undefined, (s) => {
        s.phase = 'Failed'
        s.reason = 'DeadlineExceeded'
        s.message = message
      })
      return { terminal: false }
    }
    const network = this.options.networkProblem()
    if (network !== undefined && !isHostNetwork(pod) && handlers.runtimeOf(pod) === handlers.main) {
      recorder.event(podReference(pod), 'Warning', 'NetworkNotReady', `network is not ready: ${network}`)
      return { terminal: false, againInMs: NETWORK_RETRY_MS }
    }
    if (!this.isPretend(pod)) await clock.track(fs.mkdir(join(volumes.podDir(uid), 'volumes'), { recursive: true, mode: 0o750 }))
    await volumes.mount(pod, signal)
    signal.throwIfAborted()
    const secrets = await pullSecrets(pod, this.options)
    const result = await podRuntime.syncPod(pod, state, secrets, signal)
    if (result.changed || result.error) {
      state = await states.read(pod)
      prober.update(pod, state)
      this.report(pod, state, false)
      prober.nudge(uid)
      await podRuntime.collect(state, 1)
    }
    if (result.changed) return { terminal: false, againInMs: result.error ? AFTER_FAILURE_MS : 0 }
    if (result.error) {
      if (result.retryAt === undefined) throw result.error
      return { terminal: false, againInMs: Math.max(100, result.retryAt - clock.now()) }
    }
    return late === undefined ? { terminal: false } : { terminal: false, againInMs: Math.min(late, DEADLINE_LOOK_MS) }
  }

  async terminating(pod: Pod, graceSeconds: number | undefined, change: ((status: PodStatus) => void) | undefined): Promise<void> {
    const { states, prober, podRuntime } = this.options
    const uid = uidOf(pod)
    let state = await states.read(pod)
    this.report(pod, state, false, change)
    prober.stopLiveness(uid)
    await podRuntime.killPod(pod, state, graceSeconds)
    prober.remove(uid)
    state = await states.read(pod)
    if (hasRunning(state)) throw new Error('containers are still running')
    this.report(pod, state, true, change)
  }

  async terminated(pod: Pod): Promise<void> {
    const { clock, states, volumes, status } = this.options
    this.report(pod, await states.read(pod), true)
    if (!this.isPretend(pod)) await clock.track(volumes.unmount(uidOf(pod)))
    status.terminate(pod)
  }

  finished(pod: Pod): void {
    this.options.pods.finished(pod)
  }

  hasten(pod: Pod, graceSeconds: number): void {
    const { states, runtime } = this.options
    for (const c of states.get(uidOf(pod))?.containers ?? []) {
      if (c.state === 'RUNNING') void runtime.stopContainer(c.id, Math.max(2, graceSeconds)).catch(() => {})
    }
  }

  /** Removes what is left of a Pod that no source has any more. */
  async clear(pod: Pod): Promise<void> {
    const { states, handlers, podRuntime } = this.options
    const state = states.take(pod)
    handlers.forget(uidOf(pod))
    podRuntime.forget(uidOf(pod))
    await podRuntime.removePod(state, state)
  }

  /** The sandbox is up: its addresses are told at once, while images are still pulled. */
  sandboxReady(pod: Pod): void {
    const { states, pods } = this.options
    void states
      .read(pod)
      .then((state) => {
        if (pods.worker(uidOf(pod))?.state === 'syncing') this.report(pod, state, false)
      })
      .catch(() => {})
  }

  private report(pod: Pod, state: PodState, terminating: boolean, change?: (status: PodStatus) => void): PodStatus {
    const status = this.statusOf(pod, state, terminating)
    change?.(status)
    return this.options.status.set(pod, status)
  }

  private statusOf(pod: Pod, state: PodState, terminating: boolean): PodStatus {
    const { clock, runtime, pods, status, prober, podRuntime, hostIPs } = this.options
    const uid = uidOf(pod)
    if (!this.isPretend(pod)) this.messages.collect(state)
    return podStatus(pod, state, {
      old: status.get(pod),
      apiConditions: pods.apiPod(pod)?.status?.conditions ?? [],
      hostIPs,
      prober,
      sources: {
        runtimeName: (id) => (runtime.route?.(id) ?? runtime).name,
        startFailure: (container) => podRuntime.startFailure(uid, container),
        terminationMessage: (s) => this.messages.of(s.id),
      },
      terminating,
      now: formatTime(clock.now()),
    })
  }

  /** No process and no file stands behind the Pod's containers. */
  private isPretend(pod: Pod): boolean {
    return this.options.handlers.runtimeOf(pod).pretend !== undefined
  }

  /** Milliseconds until the Pod has been active for too long. */
  private deadline(pod: Pod, status: PodStatus): number | undefined {
    const seconds = pod.spec.activeDeadlineSeconds
    if (seconds === undefined || !status.startTime) return undefined
    return Date.parse(status.startTime) + seconds * 1000 - this.options.clock.now()
  }
}

const hasEnded = ({ phase }: PodStatus): boolean => phase === 'Failed' || phase === 'Succeeded'
