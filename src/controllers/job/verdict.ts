import type { Job, JobCondition, JobStatus } from '../../api/batch/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { formatTime, timeMs } from '../../apimachinery/time.ts'
import { parseIndexes } from './indexes.ts'

/** Why a Job ends, under its interim condition's type. */
export interface Verdict {
  type: 'SuccessCriteriaMet' | 'FailureTarget'
  reason: string
  message: string
}

export function jobCondition(type: string, status: string, reason: string, message: string, now: number): JobCondition {
  const time = formatTime(now)
  return { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message }
}

export const hasCondition = (status: JobStatus, type: string): boolean => status.conditions?.some((c) => c.type === type && c.status === 'True') ?? false
export const isFinished = (job: Job): boolean => hasCondition(job.status, 'Complete') || hasCondition(job.status, 'Failed')
export const isIndexed = (job: Job): boolean => job.spec.completionMode === 'Indexed'

export interface VerdictInput {
  job: Job
  active: readonly Pod[]
  succeeded: number
  failed: number
  newlyFailed: number
  succeededIndexes: ReadonlySet<number>
  failedIndexes: ReadonlySet<number> | undefined
  failJobMessage: string | undefined
  now: number
}

/** The first reason that holds, in the order of the original; undefined while the Job goes on. */
export function judgeJob(input: VerdictInput): Verdict | undefined {
  const { job, active, failed, now } = input
  const interim = job.status.conditions?.find((c) => (c.type === 'SuccessCriteriaMet' || c.type === 'FailureTarget') && c.status === 'True')
  if (interim) return { type: interim.type as Verdict['type'], reason: interim.reason ?? '', message: interim.message ?? '' }
  const fail = (reason: string, message: string): Verdict => ({ type: 'FailureTarget', reason, message })
  if (input.failJobMessage !== undefined) return fail('PodFailurePolicy', input.failJobMessage)
  const limit = job.spec.backoffLimit ?? 6
  if ((input.newlyFailed > 0 && failed > limit) || pastOnFailureLimit(job, active, limit)) {
    return fail('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  }
  const started = timeMs(job.status.startTime)
  const deadline = job.spec.activeDeadlineSeconds
  if (deadline !== undefined && started !== undefined && !job.spec.suspend && now >= started + deadline * 1000) {
    return fail('DeadlineExceeded', 'Job was active longer than specified deadline')
  }
  const { failedIndexes, succeededIndexes } = input
  if (failedIndexes && isIndexed(job)) {
    if (job.spec.maxFailedIndexes !== undefined && failedIndexes.size > job.spec.maxFailedIndexes) {
      return fail('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
    }
    if (failedIndexes.size > 0 && failedIndexes.size + succeededIndexes.size >= (job.spec.completions ?? 0))
      return fail('FailedIndexes', 'Job has failed indexes')
  }
  const rule = matchedSuccessRule(job, succeededIndexes)
  if (rule !== undefined) return { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` }
  return isComplete(input) ? { type: 'SuccessCriteriaMet', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' } : undefined
}

function isComplete({ job, succeeded, active }: VerdictInput): boolean {
  const { completions } = job.spec
  // A work queue is done when one Pod says so and the others have ended too.
  if (completions === undefined) return succeeded > 0 && active.length === 0
  return succeeded >= completions && active.length === 0
}

function pastOnFailureLimit(job: Job, active: readonly Pod[], limit: number): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false
  let restarts = 0
  for (const pod of active) {
    if (pod.status?.phase !== 'Running' && pod.status?.phase !== 'Pending') continue
    for (const s of [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])]) restarts += s.restartCount
  }
  return limit === 0 ? restarts > 0 : restarts >= limit
}

function matchedSuccessRule(job: Job, succeeded: ReadonlySet<number>): number | undefined {
  if (!isIndexed(job)) return undefined
  for (const [i, rule] of (job.spec.successPolicy?.rules ?? []).entries()) {
    const wanted = rule.succeededIndexes === undefined ? undefined : parseIndexes(rule.succeededIndexes, job.spec.completions ?? 0)
    const reached = wanted ? [...wanted].filter((x) => succeeded.has(x)).length : succeeded.size
    const needed = rule.succeededCount ?? wanted?.size
    if (needed !== undefined && needed > 0 && reached >= needed) return i
  }
  return undefined
}
