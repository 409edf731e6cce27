import type { Job } from '../../api/batch/v1/types.generated.ts'
import type { ContainerStatus, Pod } from '../../api/core/v1/types.generated.ts'
import { objectKey } from '../../apimachinery/object.ts'

export type FailureAction = 'FailJob' | 'Ignore' | 'Count' | 'FailIndex'

export interface FailureVerdict {
  action: FailureAction
  /** For FailJob. */
  message: string
}

/** What the Job's rules say of a failed Pod; without a match it counts. */
export function judgeFailure(job: Job, pod: Pod): FailureVerdict {
  for (const [i, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const action = rule.action as FailureAction
    if (action === 'FailIndex' && job.spec.backoffLimitPerIndex === undefined) continue
    if (rule.onExitCodes) {
      const { containerName, operator, values } = rule.onExitCodes
      const hit = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].find((status: ContainerStatus) => {
        const code = status.state?.terminated?.exitCode
        if (code === undefined || code === 0 || (containerName && containerName !== status.name)) return false
        return operator === 'In' ? values.includes(code) : !values.includes(code)
      })
      if (hit) {
        const code = hit.state?.terminated?.exitCode
        return { action, message: `Container ${hit.name} for pod ${objectKey(pod)} failed with exit code ${code} matching FailJob rule at index ${i}` }
      }
    } else {
      const hit = rule.onPodConditions?.find((want) => pod.status?.conditions?.some((c) => c.type === want.type && c.status === (want.status || 'True')))
      if (hit) return { action, message: `Pod ${objectKey(pod)} has condition ${hit.type} matching FailJob rule at index ${i}` }
    }
  }
  return { action: 'Count', message: '' }
}
