import type { Pod } from '../../api/core/v1/types.generated.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { findPodCondition } from '../../component-helpers/pod-conditions.ts'

const BASE_MS = 10_000
const MAX_MS = 600_000

/** When a Pod ended, as well as can be told. */
export function finishTime(pod: Pod): number {
  const times = (pod.status?.containerStatuses ?? []).map((s) => timeMs(s.state?.terminated?.finishedAt))
  if (times.length > 0 && times.every((t) => t !== undefined)) return Math.max(...(times as number[]))
  const ready = findPodCondition(pod, 'Ready')
  if (ready?.status === 'False' && ready.lastTransitionTime) return timeMs(ready.lastTransitionTime) ?? 0
  const deleted = timeMs(pod.metadata.deletionTimestamp)
  if (deleted !== undefined) return deleted - (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000
  return timeMs(pod.metadata.creationTimestamp) ?? 0
}

/** Failures in a row since the last success, and when the last of them happened: kept while the manager runs. */
export class PodBackoff {
  private readonly records = new Map<string, { failures: number; lastFailure: number }>()

  note(key: string, succeeded: readonly Pod[], failed: readonly Pod[]): void {
    const old = this.records.get(key) ?? { failures: 0, lastFailure: 0 }
    const lastSuccess = Math.max(0, ...succeeded.map(finishTime))
    const since = failed.map(finishTime).filter((t) => t >= lastSuccess)
    const failures = (succeeded.length > 0 && lastSuccess > old.lastFailure ? 0 : old.failures) + since.length
    this.records.set(key, { failures, lastFailure: failures === 0 ? 0 : Math.max(old.lastFailure, ...since) })
  }

  /** How long new Pods still have to wait, in ms. */
  remaining(key: string, now: number): number {
    const record = this.records.get(key)
    if (!record || record.failures === 0) return 0
    return Math.max(0, record.lastFailure + Math.min(BASE_MS * 2 ** (record.failures - 1), MAX_MS) - now)
  }

  forget(key: string): void {
    this.records.delete(key)
  }
}
