import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isConflict, isNotFound } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { type Clock, deepEqual, type Timer } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { Logger } from '../../component-base/component.ts'
import { format, isMirror, isStatic, nameOf, namespaceOf, uidOf } from '../pods/pod.ts'
import { statusPatch } from './status-patch.ts'

export interface StatusManagerOptions {
  client: Client
  clock: Clock
  log: Logger
  /** The Pod in the API under which a status is reported: the mirror Pod of a static one; undefined when there is none now. */
  apiPod(pod: Pod): Pod | undefined
  /** Whether all of the Pod's containers and volumes are gone, so that it may be deleted from the API. */
  canBeDeleted(uid: string): boolean
}

interface Entry {
  pod: Pod
  status: PodStatus
  dirty: boolean
  /** The answer to the last write, until the watch has caught up with it. */
  written?: Pod
}

const RECONCILE_MS = 10_000
const RETRY_MS = 1000

/** Holds the kubelet's view of each Pod's status and writes it to the API, one Pod at a time. */
export class StatusManager {
  private readonly entries = new Map<string, Entry>()
  private readonly queue: string[] = []
  private readonly queued = new Set<string>()
  private readonly options: StatusManagerOptions
  private working = false
  private signal: AbortSignal | undefined
  private readonly failed = new Set<string>()
  private retry: Timer | undefined

  constructor(options: StatusManagerOptions) {
    this.options = options
  }

  start(signal: AbortSignal): void {
    this.signal = signal
    const { clock } = this.options
    const timer = clock.setInterval(() => this.reconcile(), RECONCILE_MS)
    signal.addEventListener('abort', () => {
      timer.cancel()
      this.retry?.cancel()
    })
    this.kick()
  }

  /** The status last set; before that the one the API has. */
  get(pod: Pod): PodStatus {
    return this.entries.get(uidOf(pod))?.status ?? this.options.apiPod(pod)?.status ?? pod.status ?? {}
  }

  /** Takes over a status; times of conditions and of the start are kept where nothing changed. */
  set(pod: Pod, status: PodStatus): PodStatus {
    const uid = uidOf(pod)
    const old = this.get(pod)
    const now = formatTime(this.options.clock.now())
    const next: PodStatus = { ...status, startTime: old.startTime ?? status.startTime ?? now }
    next.conditions = (status.conditions ?? []).map((c) => withTime(c, old.conditions, now, pod.metadata.generation))
    if (pod.metadata.generation !== undefined && !isStatic(pod)) next.observedGeneration = pod.metadata.generation
    // Phase never leaves its end, and does not reach it while something may still run.
    if (old.phase === 'Failed' || old.phase === 'Succeeded') next.phase = old.phase
    else if ((next.phase === 'Failed' || next.phase === 'Succeeded') && mayRun(next)) {
      next.phase = old.phase ?? 'Pending'
      delete next.reason
      delete next.message
      if (old.reason) next.reason = old.reason
      if (old.message) next.message = old.message
      next.conditions = next.conditions.filter((c) => c.type !== 'DisruptionTarget')
    }
    if (next.phase === 'Failed' || next.phase === 'Succeeded') {
      const reason = next.phase === 'Failed' ? 'PodFailed' : 'PodCompleted'
      next.conditions = next.conditions.map((c) =>
        (c.type === 'Ready' || c.type === 'ContainersReady') && c.status === 'True'
          ? withTime({ type: c.type, status: 'False', reason }, old.conditions, now, pod.metadata.generation)
          : c,
      )
    }
    const entry = this.entries.get(uid)
    if (entry && deepEqual(entry.status, next)) {
      entry.pod = pod
      return next
    }
    this.entries.set(uid, { pod, status: next, dirty: true, ...(entry?.written ? { written: entry.written } : {}) })
    this.enqueue(uid)
    return next
  }

  /** The Pod has no container any more: what still claims to run or wait is marked as lost. */
  terminate(pod: Pod): void {
    const uid = uidOf(pod)
    const old = this.get(pod)
    const end = (s: ContainerStatus, initialized: boolean): ContainerStatus => {
      if (s.state.terminated) return s
      if (initialized && s.state.waiting && !s.lastState.terminated) return s
      const before = s.lastState.terminated
      if (before && s.state.waiting) return { ...s, state: { terminated: before }, lastState: {}, ready: false, started: false }
      return {
        ...s,
        ready: false,
        started: false,
        state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message: 'The container could not be located when the pod was terminated' } },
      }
    }
    const neverStarted = !(old.containerStatuses ?? []).some((s) => s.state.running || s.state.terminated || s.lastState.terminated)
    const status: PodStatus = {
      ...old,
      containerStatuses: (old.containerStatuses ?? []).map((s) => end(s, false)),
      ...(old.initContainerStatuses ? { initContainerStatuses: old.initContainerStatuses.map((s) => end(s, !neverStarted)) } : {}),
    }
    if (!isStatic(pod) && status.phase !== 'Failed' && status.phase !== 'Succeeded') {
      status.phase =
        (status.containerStatuses ?? []).every((s) => s.state.terminated?.exitCode === 0) && (status.containerStatuses ?? []).length > 0
          ? 'Succeeded'
          : 'Failed'
    }
    this.set(pod, status)
    this.enqueue(uid)
  }

  /** Looks again at a Pod: after it became deletable, or changed in the API. */
  touch(uid: string): void {
    if (this.entries.has(uid)) this.enqueue(uid)
  }

  forget(uid: string): void {
    this.entries.delete(uid)
  }

  private reconcile(): void {
    for (const [uid, entry] of this.entries) {
      const api = this.newest(entry)
      if (entry.dirty || (api && (api.metadata.deletionTimestamp || statusPatch(api, entry.status)))) this.enqueue(uid)
    }
  }

  private enqueue(uid: string): void {
    if (this.queued.has(uid)) return
    this.queued.add(uid)
    this.queue.push(uid)
    this.kick()
  }

  private kick(): void {
    if (this.working || !this.signal || this.signal.aborted) return
    this.working = true
    void this.work()
  }

  private async work(): Promise<void> {
    try {
      for (let uid = this.queue.shift(); uid !== undefined; uid = this.queue.shift()) {
        this.queued.delete(uid)
        if (this.signal?.aborted) return
        await this.write(uid)
      }
    } finally {
      this.working = false
      if (this.queue.length > 0) this.kick()
    }
  }

  private async write(uid: string): Promise<void> {
    const entry = this.entries.get(uid)
    if (!entry) return
    const api = this.newest(entry)
    if (!api) return
    const { status } = entry
    const client = this.options.client.resource(resources.corev1.pods).namespace(namespaceOf(api))
    try {
      let current = api
      const patch = statusPatch(api, status)
      if (patch) {
        current = await client.patch(nameOf(api), 'strategic', patch, { subresource: 'status', ...(this.signal ? { signal: this.signal } : {}) })
        const now = this.entries.get(uid)
        if (now) now.written = current
      }
      if (this.entries.get(uid)?.status === status) entry.dirty = false
      if (this.deletable(current, entry)) {
        await client.delete(nameOf(api), { gracePeriodSeconds: 0, preconditions: { uid: uidOf(api) } })
        this.options.log.v(3).info('pod deleted from the API', { pod: format(api) })
      }
    } catch (error) {
      if (isNotFound(error)) {
        entry.dirty = false
        return
      }
      if (this.signal?.aborted) return
      // Another Pod of that name (uid conflict) is not ours; anything else is tried again.
      if (isConflict(error)) {
        entry.dirty = false
        return
      }
      this.options.log.v(2).info('status of pod not written', { pod: format(entry.pod), err: (error as Error).message })
      this.failed.add(uid)
      this.retry ??= this.options.clock.setTimeout(() => {
        this.retry = undefined
        for (const again of this.failed) this.enqueue(again)
        this.failed.clear()
      }, RETRY_MS)
    }
  }

  /** What the watch showed last or what was written last, whichever is newer: a patch against an older state would undo itself for ever. */
  private newest(entry: Entry): Pod | undefined {
    const api = this.options.apiPod(entry.pod)
    const { written } = entry
    if (!api || !written) return api
    if (written.metadata.uid === api.metadata.uid && Number(written.metadata.resourceVersion) > Number(api.metadata.resourceVersion)) return written
    delete entry.written
    return api
  }

  private deletable(api: Pod, entry: Entry): boolean {
    if (!api.metadata.deletionTimestamp || isMirror(api)) return false
    const phase = api.status?.phase ?? entry.status.phase
    if (phase !== 'Failed' && phase !== 'Succeeded') return false
    return this.options.canBeDeleted(uidOf(entry.pod))
  }
}

function withTime(c: PodCondition, old: readonly PodCondition[] | undefined, now: string, generation: number | undefined): PodCondition {
  const before = old?.find((o) => o.type === c.type)
  const { lastTransitionTime: _drop, ...rest } = c
  return {
    ...rest,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before && before.status === c.status && before.lastTransitionTime ? before.lastTransitionTime : now,
  }
}

function mayRun(status: PodStatus): boolean {
  return [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].some((s) => s.state.running !== undefined)
}
