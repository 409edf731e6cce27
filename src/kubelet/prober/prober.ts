import type { Container, Pod, Probe } from '../../api/core/v1/types.generated.ts'
import type { Clock, Random, Timer } from '../../base/index.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { containerReference, isHostNetwork, uidOf } from '../pods/pod.ts'
import { latestContainer, type PodState, podIPs } from '../runtime/pod-state.ts'
import type { ContainerRuntime, ContainerStatus } from '../runtime/runtime.ts'
import { mayRestart } from '../sync/restart-policy.ts'
import { type ProbeType, runProbe } from './probe.ts'

export interface ProberOptions {
  runtime: ContainerRuntime
  clock: Clock
  random: Random
  recorder: EventRecorder
  hostIP(): string
  /** A result flipped: the Pod is to be synced. */
  onChange(podUid: string): void
}

interface Watched {
  pod: Pod
  state: PodState
  /** Termination has begun: only readiness goes on. */
  terminating: boolean
}

const ERROR_TRIES = 3
const WORD = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const

/** Probes of all Pods of a node: one worker for each probe of each container. */
export class Prober {
  private readonly pods = new Map<string, Watched>()
  private readonly workers = new Map<string, ProbeWorker>()
  private readonly results: Record<ProbeType, Map<string, boolean>> = { liveness: new Map(), readiness: new Map(), startup: new Map() }
  readonly options: ProberOptions

  constructor(options: ProberOptions) {
    this.options = options
  }

  /** Takes note of a Pod's present containers; makes its workers at the first call. */
  update(pod: Pod, state: PodState): void {
    const uid = uidOf(pod)
    const known = this.pods.get(uid)
    this.pods.set(uid, { pod, state, terminating: known?.terminating ?? false })
    const containers: Container[] = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')]
    for (const c of containers) {
      for (const type of ['startup', 'readiness', 'liveness'] as const) {
        const probe = c[`${type}Probe`]
        const key = `${uid}|${c.name}|${type}`
        if (!probe || this.workers.has(key) || known?.terminating) continue
        const worker = new ProbeWorker(this, uid, c.name, type, probe, () => this.workers.delete(key))
        this.workers.set(key, worker)
        worker.start()
      }
    }
  }

  /** Liveness and startup probes end; readiness goes on until the Pod is removed. */
  stopLiveness(podUid: string): void {
    const known = this.pods.get(podUid)
    if (known) known.terminating = true
    for (const [key, worker] of this.workers) if (key.startsWith(`${podUid}|`) && worker.type !== 'readiness') worker.stop()
  }

  remove(podUid: string): void {
    for (const [key, worker] of this.workers) if (key.startsWith(`${podUid}|`)) worker.stop()
    const known = this.pods.get(podUid)
    for (const c of known?.state.containers ?? []) for (const type of ['liveness', 'readiness', 'startup'] as const) this.results[type].delete(c.id)
    this.pods.delete(podUid)
  }

  stopAll(): void {
    for (const worker of this.workers.values()) worker.stop()
  }

  watched(podUid: string): Watched | undefined {
    return this.pods.get(podUid)
  }

  result(type: ProbeType, containerId: string): boolean | undefined {
    return this.results[type].get(containerId)
  }

  setResult(type: ProbeType, containerId: string, value: boolean, podUid: string): void {
    if (this.results[type].get(containerId) === value) return
    this.results[type].set(containerId, value)
    this.options.onChange(podUid)
  }

  dropResult(containerId: string): void {
    for (const type of ['liveness', 'readiness', 'startup'] as const) this.results[type].delete(containerId)
  }

  /** Whether a running container has passed its startup probe. */
  isStarted(c: Container, status: ContainerStatus): boolean {
    return status.state === 'RUNNING' && (c.startupProbe === undefined || this.results.startup.get(status.id) === true)
  }

  isReady(c: Container, status: ContainerStatus): boolean {
    return this.isStarted(c, status) && (c.readinessProbe === undefined || this.results.readiness.get(status.id) === true)
  }

  /** Something changed for this Pod: readiness may be asked for at once. */
  nudge(podUid: string): void {
    for (const [key, worker] of this.workers) if (key.startsWith(`${podUid}|`)) worker.nudge()
  }
}

class ProbeWorker {
  readonly type: ProbeType
  private readonly prober: Prober
  private readonly podUid: string
  private readonly container: string
  private readonly probe: Probe
  private readonly onStop: () => void
  private readonly abort = new AbortController()
  private timer: Timer | undefined
  private delay: Timer | undefined
  private containerId = ''
  private onHold = false
  private run = 0
  private last: boolean | undefined
  private probing = false

  constructor(prober: Prober, podUid: string, container: string, type: ProbeType, probe: Probe, onStop: () => void) {
    this.prober = prober
    this.podUid = podUid
    this.container = container
    this.type = type
    this.probe = probe
    this.onStop = onStop
  }

  start(): void {
    this.schedule(0)
  }

  stop(): void {
    this.timer?.cancel()
    this.delay?.cancel()
    this.abort.abort(new Error('probe stopped'))
    this.onStop()
  }

  nudge(): void {
    if (this.probing || this.abort.signal.aborted) return
    const watched = this.prober.watched(this.podUid)
    const status = watched && latestContainer(watched.state, this.container)
    // A new container, or one that has just started, is looked at without waiting for the period.
    if (status?.state === 'RUNNING' && (status.id !== this.containerId || (this.last === undefined && !this.onHold))) this.schedule(0)
  }

  private schedule(ms: number): void {
    this.timer?.cancel()
    if (this.abort.signal.aborted) return
    this.timer = this.prober.options.clock.setTimeout(() => {
      this.probing = true
      void this.once()
        .catch(() => true)
        .then((goOn) => {
          this.probing = false
          if (goOn) this.schedule((this.probe.periodSeconds ?? 10) * 1000)
          else this.stop()
        })
    }, ms)
  }

  /** @returns whether to go on */
  private async once(): Promise<boolean> {
    const { prober, type, podUid } = this
    const { clock, recorder, runtime } = prober.options
    const watched = prober.watched(podUid)
    if (!watched) return false
    const { pod, state } = watched
    const c = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((x) => x.name === this.container)
    const status = latestContainer(state, this.container)
    if (!c || !status) return true
    if (status.id !== this.containerId) {
      if (this.containerId) prober.dropResult(this.containerId)
      this.containerId = status.id
      this.onHold = false
      this.run = 0
      this.last = undefined
    }
    if (status.state !== 'RUNNING') {
      if (type === 'readiness') prober.setResult(type, status.id, false, podUid)
      return status.state !== 'EXITED' || mayRestart(pod, c)
    }
    if (this.onHold) return true
    if ((watched.terminating || pod.metadata.deletionTimestamp) && type !== 'readiness') return false
    // Before its initial delay a probe does not run; it is looked at again just then.
    const early = status.startedAt + (this.probe.initialDelaySeconds ?? 0) * 1000 - clock.now()
    if (early > 0) {
      this.delay?.cancel()
      this.delay = clock.setTimeout(() => this.nudgeAfterDelay(), early)
      return true
    }
    const started = prober.isStarted(c, status)
    if (type === 'startup' ? started : !started) return true

    const podIP = isHostNetwork(pod) ? prober.options.hostIP() : (podIPs(state)[0] ?? '')
    let outcome = await runProbe(pod, c, status.id, type, this.probe, { runtime, clock, podIP, signal: this.abort.signal })
    for (let tries = 1; outcome.result === 'unknown' && tries < ERROR_TRIES; tries++) {
      outcome = await runProbe(pod, c, status.id, type, this.probe, { runtime, clock, podIP, signal: this.abort.signal })
    }
    if (this.abort.signal.aborted) return false
    const about = containerReference(pod, c.name)
    if (outcome.result === 'unknown') {
      recorder.event(about, 'Warning', 'Unhealthy', `${WORD[type]} probe errored and resulted in unknown state: ${outcome.output}`)
      return true
    }
    if (outcome.result === 'failure') recorder.event(about, 'Warning', 'Unhealthy', `${WORD[type]} probe failed: ${outcome.output}`)
    if (outcome.result === 'warning') recorder.event(about, 'Warning', 'ProbeWarning', `${WORD[type]} probe warning: ${outcome.output}`)

    const ok = outcome.result !== 'failure'
    this.run = this.last === ok ? this.run + 1 : 1
    this.last = ok
    const threshold = ok ? (this.probe.successThreshold ?? 1) : (this.probe.failureThreshold ?? 3)
    if (this.run < threshold) return true
    prober.setResult(type, status.id, ok, podUid)
    if ((type !== 'readiness' && !ok) || type === 'startup') {
      // The container is killed, or has started: nothing to learn until the next one.
      this.onHold = true
      this.run = 0
    }
    return true
  }

  private nudgeAfterDelay(): void {
    if (!this.probing && !this.abort.signal.aborted && this.last === undefined) this.schedule(0)
  }
}
