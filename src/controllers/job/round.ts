import type { Job, JobStatus } from '../../api/batch/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { isPodActive, isPodTerminating } from '../../component-helpers/pod-conditions.ts'
import { compareActivePods } from '../../controller-runtime/pods/deletion-order.ts'
import { formatIndexes, indexOf, parseIndexes } from './indexes.ts'
import { judgeFailure } from './pod-failure-policy.ts'
import { FAILURE_COUNT, IGNORED_COUNT, TRACKING_FINALIZER } from './pod-template.ts'
import { isIndexed, judgeJob, type Verdict } from './verdict.ts'

const MAX_UNCOUNTED = 500

export interface Counts {
  succeeded: Pod[]
  failed: Pod[]
}

/** What one sync knows of a Job and its Pods. */
export class Round {
  readonly active: Pod[]
  readonly terminating: number
  /** Ended and not yet counted. */
  readonly fresh: Counts
  private readonly job: Job
  private readonly pods: readonly Pod[]
  private readonly tracked: (pod: Pod) => boolean
  private readonly now: number
  private readonly uncounted: { succeeded: Set<string>; failed: Set<string> }
  private readonly succeededIndexes: Set<number>
  private readonly failedIndexes: Set<number> | undefined
  private readonly failJobMessage: string | undefined

  constructor(job: Job, status: JobStatus, pods: readonly Pod[], tracked: (pod: Pod) => boolean, now: number) {
    this.job = job
    this.pods = pods
    this.tracked = tracked
    this.now = now
    this.active = pods.filter(isPodActive)
    this.terminating = pods.filter(isPodTerminating).length
    this.uncounted = { succeeded: new Set(status.uncountedTerminatedPods?.succeeded), failed: new Set(status.uncountedTerminatedPods?.failed) }
    const fresh = pods.filter((p) => tracked(p) && !this.uncounted.succeeded.has(p.metadata.uid ?? '') && !this.uncounted.failed.has(p.metadata.uid ?? ''))
    this.fresh = { succeeded: fresh.filter((p) => p.status?.phase === 'Succeeded'), failed: fresh.filter((p) => this.isFailed(p)) }
    const completions = job.spec.completions ?? 0
    this.succeededIndexes = isIndexed(job) ? parseIndexes(status.completedIndexes, completions) : new Set()
    if (isIndexed(job)) {
      for (const pod of this.fresh.succeeded) {
        const index = indexOf(pod)
        if (index !== undefined && index < completions) this.succeededIndexes.add(index)
      }
    }
    this.failedIndexes = isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined ? parseIndexes(status.failedIndexes, completions) : undefined
    if (this.failedIndexes) {
      for (const pod of this.fresh.failed) {
        const index = indexOf(pod)
        const { action } = judgeFailure(job, pod)
        if (index === undefined || action === 'Ignore') continue
        const failures = annotated(pod, FAILURE_COUNT) + 1
        if (action === 'FailIndex' || failures > (job.spec.backoffLimitPerIndex ?? 0)) this.failedIndexes.add(index)
      }
    }
    this.failJobMessage = this.fresh.failed.map((p) => judgeFailure(job, p)).find((v) => v.action === 'FailJob')?.message
  }

  private isFailed(pod: Pod): boolean {
    if (pod.status?.phase === 'Failed') return true
    const onlyFailed = this.job.spec.podReplacementPolicy === 'Failed' || this.job.spec.podFailurePolicy !== undefined
    return !onlyFailed && Boolean(pod.metadata.deletionTimestamp) && pod.status?.phase !== 'Succeeded'
  }

  private succeeded(): number {
    if (isIndexed(this.job)) return this.succeededIndexes.size
    return (this.job.status.succeeded ?? 0) + this.uncounted.succeeded.size + this.fresh.succeeded.length
  }

  private failed(): number {
    const counted = this.fresh.failed.filter((p) => judgeFailure(this.job, p).action !== 'Ignore').length
    return (this.job.status.failed ?? 0) + this.uncounted.failed.size + counted
  }

  verdict(): Verdict | undefined {
    return judgeJob({
      job: this.job,
      active: this.active,
      succeeded: this.succeeded(),
      failed: this.failed(),
      newlyFailed: this.failed() > 0 ? 1 : 0,
      succeededIndexes: this.succeededIndexes,
      failedIndexes: this.failedIndexes,
      failJobMessage: this.failJobMessage,
      now: this.now,
    })
  }

  wantedActive(parallelism: number): number {
    const { completions } = this.job.spec
    const succeeded = this.succeeded()
    // A work queue starts nothing new once one Pod has said that the work is done.
    if (completions === undefined) return succeeded > 0 ? Math.min(this.active.length, parallelism) : parallelism
    return Math.max(0, Math.min(parallelism, completions - succeeded - (this.failedIndexes?.size ?? 0)))
  }

  /** Active Pods without an index of their own. */
  misfits(): Pod[] {
    const seen = new Set<number>()
    const completions = this.job.spec.completions ?? 0
    return [...this.active]
      .sort((a, b) => -compareActivePods(a, b))
      .filter((pod) => {
        const index = indexOf(pod)
        if (index === undefined || index >= completions || seen.has(index) || this.succeededIndexes.has(index) || this.failedIndexes?.has(index)) return true
        seen.add(index)
        return false
      })
  }

  missingIndexes(count: number): number[] {
    const busy = new Set(this.active.map(indexOf))
    const out: number[] = []
    for (let i = 0; i < (this.job.spec.completions ?? 0) && out.length < count; i++) {
      if (!busy.has(i) && !this.succeededIndexes.has(i) && !this.failedIndexes?.has(i)) out.push(i)
    }
    return out
  }

  replacementCounts(index: number): Record<string, string> {
    if (!this.failedIndexes) return {}
    const last = this.fresh.failed.filter((p) => indexOf(p) === index).at(-1)
    const ignored = last ? judgeFailure(this.job, last).action === 'Ignore' : false
    const failures = last ? annotated(last, FAILURE_COUNT) + (ignored ? 0 : 1) : 0
    const ignoredCount = last ? annotated(last, IGNORED_COUNT) + (ignored ? 1 : 0) : 0
    return { [FAILURE_COUNT]: String(failures), ...(ignoredCount > 0 ? { [IGNORED_COUNT]: String(ignoredCount) } : {}) }
  }

  /** With limits per index a failed Pod tells the next one its count: it stays until that one is there. */
  mustStay(pod: Pod): boolean {
    const index = indexOf(pod)
    if (!this.failedIndexes || index === undefined || !this.fresh.failed.includes(pod)) return false
    return !this.failedIndexes.has(index) && !this.succeededIndexes.has(index) && !this.pods.some((p) => p !== pod && isPodActive(p) && indexOf(p) === index)
  }

  /** When the Job ends, Pods that were still running count as failed. */
  endedWith(pods: readonly Pod[]): Counts {
    const known = new Set([...this.fresh.succeeded, ...this.fresh.failed])
    const rest = pods.filter(
      (p) => this.tracked(p) && !known.has(p) && !this.uncounted.succeeded.has(p.metadata.uid ?? '') && !this.uncounted.failed.has(p.metadata.uid ?? ''),
    )
    return { succeeded: this.fresh.succeeded, failed: [...this.fresh.failed, ...rest] }
  }

  /** As many as may be noted at once; the rest has its turn in a later sync. */
  limited(ended: Counts): Counts {
    const room = Math.max(0, MAX_UNCOUNTED - this.uncounted.succeeded.size - this.uncounted.failed.size)
    const succeeded = ended.succeeded.slice(0, room)
    return { succeeded, failed: ended.failed.slice(0, room - succeeded.length) }
  }

  /** Notes the uids of what ended. */
  count(status: JobStatus, ended: Counts): void {
    const uid = (pod: Pod) => pod.metadata.uid ?? ''
    if (isIndexed(this.job)) {
      const text = formatIndexes(this.succeededIndexes)
      if (text !== '') status.completedIndexes = text
      if (this.succeededIndexes.size > 0) status.succeeded = this.succeededIndexes.size
      if (this.failedIndexes) status.failedIndexes = formatIndexes(this.failedIndexes)
    } else for (const pod of ended.succeeded) this.uncounted.succeeded.add(uid(pod))
    for (const pod of ended.failed) {
      if (this.mustStay(pod) || judgeFailure(this.job, pod).action === 'Ignore') continue
      this.uncounted.failed.add(uid(pod))
    }
    this.writeUncounted(status)
  }

  private writeUncounted(status: JobStatus): void {
    const { succeeded, failed } = this.uncounted
    status.uncountedTerminatedPods = {
      ...(succeeded.size > 0 ? { succeeded: [...succeeded] } : {}),
      ...(failed.size > 0 ? { failed: [...failed] } : {}),
    }
  }

  hasUncounted(status: JobStatus): boolean {
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
    return succeeded.length + failed.length > 0
  }

  /** Turns noted uids whose Pods are free of the finalizer into numbers. */
  settle(status: JobStatus, released: (uid: string) => boolean): void {
    const held = new Set(
      this.pods.filter((p) => p.metadata.finalizers?.includes(TRACKING_FINALIZER) && !released(p.metadata.uid ?? '')).map((p) => p.metadata.uid ?? ''),
    )
    for (const [side, field] of [
      [this.uncounted.succeeded, 'succeeded'],
      [this.uncounted.failed, 'failed'],
    ] as const) {
      for (const uid of [...side]) {
        if (held.has(uid)) continue
        side.delete(uid)
        status[field] = (status[field] ?? 0) + 1
      }
    }
    this.writeUncounted(status)
  }
}

function annotated(pod: Pod, key: string): number {
  const n = Number.parseInt(pod.metadata.annotations?.[key] ?? '0', 10)
  return Number.isNaN(n) ? 0 : n
}
