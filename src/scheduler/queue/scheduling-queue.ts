import type { corev1 } from '../../api/index.ts'
import { type Clock, Heap, type Timer } from '../../base/index.ts'
import type { ClusterEvent, EventRegistration, Plugin } from '../framework/plugin.ts'
import { type PodInfo, podInfo } from '../framework/pod-info.ts'

/**
 * Where a Pod that wants a node waits. `active`: ready; `backoff`, `errorBackoff`: ready at a time; `unschedulable`: waits for an
 * event that one of the plugins that rejected it cares about; `gated`: a PreEnqueue plugin holds it; `inFlight`: being scheduled.
 */
export type Place = 'active' | 'backoff' | 'errorBackoff' | 'unschedulable' | 'gated' | 'inFlight'

export interface QueuedPod {
  info: PodInfo
  place: Place
  /** When it entered its present place, ms. */
  timestamp: number
  attempts: number
  unschedulableCount: number
  consecutiveErrors: number
  initialAttempt: number | undefined
  /** Plugins that rejected it at the last attempt. */
  rejectedBy: Set<string>
  pendingBy: Set<string>
  gatedBy: string | undefined
  /** Where in the list of events its flight began. */
  flightStart: number
  /** Ticket of its valid heap entry; older entries of the heaps are ignored. */
  ticket: number
}

interface Entry {
  pod: QueuedPod
  ticket: number
  at: number
}

export interface QueueOptions {
  clock: Clock
  plugins: readonly Plugin[]
  initialBackoffMs?: number
  maxBackoffMs?: number
  /** Pods in the unschedulable pool longer than this are tried again whatever happened. @default 5 min */
  maxUnschedulableMs?: number
}

const BACKOFF_WINDOW_MS = 1000
const FLUSH_UNSCHEDULABLE_MS = 30_000
/** More events than this during one flight count as "anything may have happened". */
const MAX_FLIGHT_EVENTS = 10_000

export class SchedulingQueue {
  private readonly clock: Clock
  private readonly pods = new Map<string, QueuedPod>()
  private readonly active = new Heap<Entry>(
    (a, b) =>
      a.pod.info.priority > b.pod.info.priority ||
      (a.pod.info.priority === b.pod.info.priority && (a.pod.timestamp < b.pod.timestamp || (a.pod.timestamp === b.pod.timestamp && a.ticket < b.ticket))),
  )
  private readonly backoff = new Heap<Entry>(
    (a, b) =>
      a.at < b.at ||
      (a.at === b.at && (a.pod.info.priority > b.pod.info.priority || (a.pod.info.priority === b.pod.info.priority && a.pod.timestamp < b.pod.timestamp))),
  )
  private readonly errors = new Heap<Entry>((a, b) => a.at < b.at)
  private readonly unschedulable = new Set<QueuedPod>()
  private readonly registrations = new Map<string, readonly EventRegistration[]>()
  private readonly preEnqueue: readonly Plugin[]
  private readonly initialBackoffMs: number
  private readonly maxBackoffMs: number
  private readonly maxUnschedulableMs: number
  private readonly timers: Timer[] = []
  private flightEvents: ClusterEvent[] = []
  private flightBase = 0
  private flying = 0
  private ticket = 0
  private wake: (() => void) | undefined
  private closed = false
  private counts: Record<Place, number> = { active: 0, backoff: 0, errorBackoff: 0, unschedulable: 0, gated: 0, inFlight: 0 }

  constructor(options: QueueOptions) {
    this.clock = options.clock
    this.initialBackoffMs = options.initialBackoffMs ?? 1000
    this.maxBackoffMs = options.maxBackoffMs ?? 10_000
    this.maxUnschedulableMs = options.maxUnschedulableMs ?? 5 * 60_000
    this.preEnqueue = options.plugins.filter((p) => p.preEnqueue)
    for (const p of options.plugins) if (p.events) this.registrations.set(p.name, p.events())
  }

  /** Starts the flushes; `close` ends them. */
  run(): void {
    this.timers.push(this.clock.setInterval(() => this.flushBackoff(), BACKOFF_WINDOW_MS))
    this.timers.push(this.clock.setInterval(() => this.flushUnschedulable(), FLUSH_UNSCHEDULABLE_MS))
  }

  close(): void {
    this.closed = true
    for (const t of this.timers) t.cancel()
    this.wake?.()
  }

  /** Pods by queue, as the pending_pods metric counts them. */
  pending(): Readonly<Record<Place, number>> {
    return this.counts
  }

  has(uid: string): boolean {
    return this.pods.has(uid)
  }

  add(pod: corev1.Pod): void {
    const uid = pod.metadata.uid ?? ''
    if (this.pods.has(uid)) return this.update(pod, pod)
    const queued: QueuedPod = {
      info: podInfo(pod),
      place: 'gated',
      timestamp: this.clock.now(),
      attempts: 0,
      unschedulableCount: 0,
      consecutiveErrors: 0,
      initialAttempt: undefined,
      rejectedBy: new Set(),
      pendingBy: new Set(),
      gatedBy: undefined,
      flightStart: 0,
      ticket: 0,
    }
    this.pods.set(uid, queued)
    this.counts.gated++
    this.toActive(queued)
  }

  update(old: corev1.Pod, pod: corev1.Pod): void {
    const queued = this.pods.get(pod.metadata.uid ?? '')
    if (!queued) return this.add(pod)
    queued.info = podInfo(pod)
    if (queued.place === 'inFlight') {
      for (const e of podUpdateEvents(old, pod)) this.note(e)
      return
    }
    if (queued.place === 'active') {
      // Its place in the order may have changed.
      this.move(queued, 'active', queued.timestamp)
      return
    }
    if (queued.place !== 'unschedulable' && queued.place !== 'gated') return
    for (const e of podUpdateEvents(old, pod)) {
      if (this.wanted(queued, e)) {
        this.requeue(queued)
        return
      }
    }
  }

  remove(uid: string): void {
    const queued = this.pods.get(uid)
    if (!queued) return
    this.pods.delete(uid)
    this.unschedulable.delete(queued)
    this.counts[queued.place]--
    queued.ticket = -1
    if (queued.place === 'inFlight') this.landed()
  }

  /** The next Pod to schedule; undefined when the queue was closed. */
  async pop(): Promise<QueuedPod | undefined> {
    for (;;) {
      if (this.closed) return undefined
      const entry = this.valid(this.active, 'active') ?? this.valid(this.backoff, 'backoff')
      if (entry) {
        const { pod } = entry
        this.setPlace(pod, 'inFlight')
        pod.ticket = ++this.ticket
        pod.attempts++
        pod.initialAttempt ??= this.clock.now()
        pod.flightStart = this.flightBase + this.flightEvents.length
        pod.rejectedBy = new Set()
        pod.pendingBy = new Set()
        this.flying++
        return pod
      }
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
      this.wake = undefined
    }
  }

  /** The Pod found its node: it leaves the queue. */
  done(queued: QueuedPod): void {
    if (queued.place !== 'inFlight' || this.pods.get(queued.info.uid) !== queued) return
    this.pods.delete(queued.info.uid)
    this.counts.inFlight--
    queued.ticket = -1
    this.landed()
  }

  /** The Pod was rejected by plugins, or failed with an error (no plugin): it waits. */
  failed(queued: QueuedPod, rejectedBy: ReadonlySet<string>, pendingBy: ReadonlySet<string>, isError: boolean): void {
    // A Pod that left (`done`) and whose binding failed comes back with its history.
    if (!this.pods.has(queued.info.uid)) {
      this.pods.set(queued.info.uid, queued)
      queued.place = 'gated'
      this.counts.gated++
      queued.flightStart = this.flightBase + this.flightEvents.length
    } else if (queued.place !== 'inFlight') return
    const inFlight = queued.place === 'inFlight'
    const events = this.flightEvents.slice(Math.max(0, queued.flightStart - this.flightBase))
    const overflowed = queued.flightStart < this.flightBase
    queued.rejectedBy = new Set(rejectedBy)
    queued.pendingBy = new Set(pendingBy)
    if (isError) {
      queued.consecutiveErrors++
      this.toBackoff(queued, 'errorBackoff')
    } else {
      queued.consecutiveErrors = 0
      queued.unschedulableCount++
      if (overflowed || events.some((e) => this.wanted(queued, e))) this.requeue(queued)
      else {
        this.move(queued, 'unschedulable', this.clock.now())
        this.unschedulable.add(queued)
      }
    }
    if (inFlight) this.landed()
  }

  /** Something happened in the cluster: every waiting Pod that may profit is moved. */
  onEvent(event: ClusterEvent): void {
    this.note(event)
    for (const queued of this.unschedulable) if (this.wanted(queued, event)) this.requeue(queued)
  }

  /** Asks the gates of a Pod again. */
  activate(uid: string): void {
    const queued = this.pods.get(uid)
    if (queued && queued.place !== 'inFlight' && queued.place !== 'active') this.toActive(queued)
  }

  private note(event: ClusterEvent): void {
    if (this.flying === 0) return
    if (this.flightEvents.length >= MAX_FLIGHT_EVENTS) {
      this.flightBase += this.flightEvents.length
      this.flightEvents = []
    }
    this.flightEvents.push(event)
  }

  private landed(): void {
    this.flying--
    if (this.flying === 0) {
      this.flightBase += this.flightEvents.length
      this.flightEvents = []
    }
  }

  private wanted(queued: QueuedPod, event: ClusterEvent): boolean {
    if (event.resource === '*') return true
    const gate = queued.gatedBy
    if (gate !== undefined) return this.hints(gate, queued, event)
    if (queued.rejectedBy.size === 0 && queued.pendingBy.size === 0) return true
    for (const plugin of queued.rejectedBy) if (this.hints(plugin, queued, event)) return true
    for (const plugin of queued.pendingBy) if (this.hints(plugin, queued, event)) return true
    return false
  }

  private hints(plugin: string, queued: QueuedPod, event: ClusterEvent): boolean {
    const list = this.registrations.get(plugin)
    // A plugin that names no events is woken by all.
    if (!list) return true
    for (const r of list) {
      if (r.resource !== event.resource || !r.actions.includes(event.action)) continue
      if (!r.hint || r.hint(queued.info, event)) return true
    }
    return false
  }

  private requeue(queued: QueuedPod): void {
    if (queued.pendingBy.size > 0 || this.backoffEnd(queued) <= this.clock.now()) this.toActive(queued)
    else this.toBackoff(queued, 'backoff')
  }

  private toActive(queued: QueuedPod): void {
    for (const plugin of this.preEnqueue) {
      const status = plugin.preEnqueue?.(queued.info)
      if (status) {
        queued.gatedBy = plugin.name
        this.move(queued, 'gated', queued.timestamp)
        this.unschedulable.add(queued)
        return
      }
    }
    queued.gatedBy = undefined
    this.move(queued, 'active', this.clock.now())
    this.wake?.()
  }

  private toBackoff(queued: QueuedPod, place: 'backoff' | 'errorBackoff'): void {
    if (place === 'errorBackoff') queued.timestamp = this.clock.now()
    const end = this.backoffEnd(queued)
    if (end <= this.clock.now() && place === 'backoff') return this.toActive(queued)
    this.move(queued, place, queued.timestamp)
    if (place === 'backoff') this.wake?.()
  }

  private backoffEnd(queued: QueuedPod): number {
    const n = queued.consecutiveErrors > 0 ? queued.consecutiveErrors : queued.unschedulableCount
    if (n === 0 || this.maxBackoffMs === 0) return 0
    return queued.timestamp + Math.min(this.maxBackoffMs, this.initialBackoffMs * 2 ** Math.min(30, n - 1))
  }

  private move(queued: QueuedPod, place: Place, timestamp: number): void {
    this.unschedulable.delete(queued)
    this.setPlace(queued, place)
    queued.timestamp = timestamp
    queued.ticket = ++this.ticket
    const end = this.backoffEnd(queued)
    const entry = { pod: queued, ticket: queued.ticket, at: Math.floor(end / BACKOFF_WINDOW_MS) * BACKOFF_WINDOW_MS }
    if (place === 'active') this.active.push(entry)
    else if (place === 'backoff') this.backoff.push(entry)
    else if (place === 'errorBackoff') this.errors.push(entry)
  }

  private setPlace(queued: QueuedPod, place: Place): void {
    this.counts[queued.place]--
    this.counts[place]++
    queued.place = place
  }

  private valid(heap: Heap<Entry>, place: Place): Entry | undefined {
    for (;;) {
      const entry = heap.pop()
      if (!entry) return undefined
      if (entry.ticket === entry.pod.ticket && entry.pod.place === place) return entry
    }
  }

  private flushBackoff(): void {
    const now = this.clock.now()
    for (const [heap, place] of [
      [this.backoff, 'backoff'],
      [this.errors, 'errorBackoff'],
    ] as const) {
      for (;;) {
        const head = heap.peek()
        if (!head) break
        if (head.ticket !== head.pod.ticket || head.pod.place !== place) {
          heap.pop()
          continue
        }
        if (head.at + BACKOFF_WINDOW_MS > now) break
        heap.pop()
        this.toActive(head.pod)
      }
    }
  }

  private flushUnschedulable(): void {
    const limit = this.clock.now() - this.maxUnschedulableMs
    for (const queued of [...this.unschedulable]) if (queued.place === 'unschedulable' && queued.timestamp < limit) this.requeue(queued)
  }
}

/** What an update of a waiting Pod means to the plugins. */
export function podUpdateEvents(old: corev1.Pod, pod: corev1.Pod): ClusterEvent[] {
  const events: ClusterEvent[] = []
  const add = (action: ClusterEvent['action']) => events.push({ resource: 'UnschedulablePod', action, old, new: pod })
  if (!sameMap(old.metadata.labels, pod.metadata.labels)) add('UpdatePodLabel')
  if ((old.spec.schedulingGates?.length ?? 0) > 0 && (pod.spec.schedulingGates?.length ?? 0) === 0) add('UpdatePodSchedulingGatesEliminated')
  if ((pod.spec.tolerations?.length ?? 0) !== (old.spec.tolerations?.length ?? 0)) add('UpdatePodToleration')
  const before = podInfo(old).requests
  const after = podInfo(pod).requests
  if ([...before.entries()].some(([name, amount]) => after.get(name) < amount)) add('UpdatePodScaleDown')
  if (events.length === 0) add('Update')
  return events
}

function sameMap(a: Record<string, string> | undefined, b: Record<string, string> | undefined): boolean {
  const ka = Object.keys(a ?? {})
  return ka.length === Object.keys(b ?? {}).length && ka.every((k) => a?.[k] === b?.[k])
}
