import type { Pod, PodStatus } from '../../api/core/v1/types.generated.ts'
import type { Clock, Random, Timer } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { format, specGracePeriod, uidOf } from './pod.ts'

/** What a worker does with its Pod; each call may be cut short by the signal. */
export interface PodSyncer {
  /** @returns whether the Pod is finished for good, and when to look again (ms from now; undefined: the usual time) */
  sync(pod: Pod, signal: AbortSignal): Promise<{ terminal: boolean; againInMs?: number }>
  terminating(pod: Pod, graceSeconds: number | undefined, change: ((status: PodStatus) => void) | undefined): Promise<void>
  terminated(pod: Pod): Promise<void>
  /** A shorter grace period than the one that termination began with. */
  hasten(pod: Pod, graceSeconds: number): void
  /** Whether the Pod has to wait: for another of its name to be gone. */
  mustWait(pod: Pod): boolean
  finished(pod: Pod): void
}

/** `syncing` until the Pod has to end, `terminating` while its containers do, `terminated` while it is cleaned up, then `finished`. */
export type WorkerState = 'syncing' | 'terminating' | 'terminated' | 'finished'

const RESYNC_MS = 60_000
const ERROR_MS = 10_000
const SOON_MS = 1000

/** One Pod's life on the node: a loop that never does two things at a time. */
export class PodWorker {
  state: WorkerState = 'syncing'
  pod: Pod
  private readonly syncer: PodSyncer
  private readonly clock: Clock
  private readonly random: Random
  private readonly log: Logger
  private timer: Timer | undefined
  private running = false
  private again = false
  private soon = false
  private stopped = false
  private sync: AbortController | undefined
  private ending = false
  private grace: number | undefined
  private change: ((status: PodStatus) => void) | undefined

  constructor(pod: Pod, syncer: PodSyncer, options: { clock: Clock; random: Random; log: Logger }) {
    this.pod = pod
    this.syncer = syncer
    this.clock = options.clock
    this.random = options.random
    this.log = options.log
  }

  get uid(): string {
    return uidOf(this.pod)
  }

  /** The Pod has begun to end. */
  get isEnding(): boolean {
    return this.ending
  }

  update(pod: Pod): void {
    const before = this.pod
    this.pod = pod
    const grace = pod.metadata.deletionGracePeriodSeconds
    if (pod.metadata.deletionTimestamp && !this.ending) this.end(grace ?? undefined)
    else if (
      this.ending &&
      grace !== undefined &&
      (before.metadata.deletionGracePeriodSeconds === undefined || grace < before.metadata.deletionGracePeriodSeconds)
    ) {
      this.shorten(grace)
    }
    this.wake()
  }

  /** Ends the Pod. @param change is applied to the last status */
  end(graceSeconds: number | undefined, change?: (status: PodStatus) => void): void {
    if (this.ending) {
      if (graceSeconds !== undefined) this.shorten(graceSeconds)
      return
    }
    this.ending = true
    this.grace = graceSeconds === undefined ? undefined : Math.max(1, graceSeconds)
    this.change = change
    this.sync?.abort(new Error('pod is terminating'))
    this.wake()
  }

  private shorten(graceSeconds: number): void {
    const grace = Math.max(1, graceSeconds)
    if (grace >= (this.grace ?? specGracePeriod(this.pod))) return
    this.grace = grace
    if (this.state === 'terminating') this.syncer.hasten(this.pod, grace)
  }

  /** Something changed: look now. */
  wake(): void {
    if (this.stopped) return
    if (this.running) {
      this.again = true
      return
    }
    this.schedule(0)
  }

  /** The runtime tells of a change: during a look it is mostly that look's own doing, so that the next one has time. */
  wakeSoon(): void {
    if (this.running) this.soon = true
    else this.wake()
  }

  /** The kubelet stops: nothing more is done; containers live on. */
  stop(): void {
    this.stopped = true
    this.timer?.cancel()
    this.sync?.abort(new Error('kubelet is stopping'))
  }

  private schedule(ms: number): void {
    this.timer?.cancel()
    this.timer = undefined
    if (this.stopped || this.state === 'finished') return
    if (ms === 0) {
      this.running = true
      void this.run()
      return
    }
    this.timer = this.clock.setTimeout(() => {
      this.running = true
      void this.run()
    }, ms)
  }

  private jitter(ms: number): number {
    return ms * (1 + this.random.float() * 0.5)
  }

  private async run(): Promise<void> {
    // The caller goes on first: many changes of one moment are one look.
    await Promise.resolve()
    this.again = false
    this.soon = false
    let next: number
    try {
      next = await this.step()
    } catch (error) {
      if (!this.stopped && !(this.ending && this.state === 'syncing')) {
        this.log.v(2).info('pod sync failed', { pod: format(this.pod), state: this.state, err: (error as Error).message })
      }
      next = this.jitter(ERROR_MS)
      if (this.ending && this.state === 'syncing') next = 0
      if (this.state === 'terminating' || this.state === 'terminated') next = 1000
    }
    this.running = false
    if (this.stopped) return
    // `state` was changed by the step.
    if ((this.state as WorkerState) === 'finished') return
    this.schedule(this.again ? 0 : this.soon ? Math.min(next, SOON_MS) : next)
  }

  private async step(): Promise<number> {
    if (this.state === 'finished') return 0
    if (this.syncer.mustWait(this.pod)) return this.jitter(ERROR_MS)
    if (this.state === 'syncing' && this.ending) this.state = 'terminating'
    switch (this.state) {
      case 'syncing': {
        this.sync = new AbortController()
        const { terminal, againInMs } = await this.syncer.sync(this.pod, this.sync.signal)
        if (terminal && !this.ending) {
          this.ending = true
          this.state = 'terminating'
          return 0
        }
        return againInMs ?? this.jitter(RESYNC_MS)
      }
      case 'terminating':
        await this.syncer.terminating(this.pod, this.grace, this.change)
        if (this.stopped) return 0
        this.state = 'terminated'
        return 0
      case 'terminated':
        await this.syncer.terminated(this.pod)
        this.state = 'finished'
        this.syncer.finished(this.pod)
        return 0
    }
  }
}
