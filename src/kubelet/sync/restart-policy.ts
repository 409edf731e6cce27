import type { Container, Pod } from '../../api/core/v1/types.generated.ts'
import type { AnyContainer } from '../pods/pod.ts'
import { latestContainer, type PodState } from '../runtime/pod-state.ts'
import type { ContainerStatus } from '../runtime/runtime.ts'

/** The policy that counts for a container: its own, else the Pod's; ephemeral containers never restart. */
export function policyOf(pod: Pod, container: AnyContainer): string {
  if (pod.spec.ephemeralContainers?.some((c) => c.name === container.name)) return 'Never'
  return (container as Container).restartPolicy ?? pod.spec.restartPolicy ?? 'Always'
}

/** What the first matching rule says about an exit code (KEP-5307). */
function ruleFor(container: AnyContainer, exitCode: number): string | undefined {
  for (const rule of (container as Container).restartPolicyRules ?? []) {
    const values = rule.exitCodes?.values ?? []
    const listed = values.includes(exitCode)
    const matches = rule.exitCodes?.operator === 'In' ? listed : rule.exitCodes?.operator === 'NotIn' ? !listed : false
    if (matches) return rule.action
  }
  return undefined
}

/** Whether a container that ended with this code is started again. */
export function restartsAfter(pod: Pod, container: AnyContainer, exitCode: number): boolean {
  const rule = ruleFor(container, exitCode)
  if (rule === 'Restart' || rule === 'RestartAllContainers') return true
  const policy = policyOf(pod, container)
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

/** Whether the container has any way to run again, whatever its exit code. */
export function mayRestart(pod: Pod, container: AnyContainer): boolean {
  return policyOf(pod, container) !== 'Never' || ((container as Container).restartPolicyRules?.length ?? 0) > 0
}

/** Whether the container is to be started now. */
export function shouldStart(pod: Pod, container: AnyContainer, state: PodState): boolean {
  if (pod.metadata.deletionTimestamp) return false
  const status: ContainerStatus | undefined = latestContainer(state, container.name)
  if (!status) return true
  if (status.state === 'RUNNING') return false
  if (status.state === 'UNKNOWN' || status.state === 'CREATED') return true
  return restartsAfter(pod, container, status.exitCode)
}
