import type { schedulingv1, schedulingv1alpha2 } from '../../api/index.ts'
import { NONE, namedColumns } from '../named-age.ts'

export const priorityClassColumns = namedColumns<schedulingv1.PriorityClass>('Value:integer|Global-Default:boolean|Age|PreemptionPolicy', (c) => [
  c.value,
  c.globalDefault ?? false,
  c.preemptionPolicy ?? '',
])

export const workloadColumns = namedColumns<schedulingv1alpha2.Workload>('Age', () => [])

export const podGroupColumns = namedColumns<schedulingv1alpha2.PodGroup>('Policy|Workload|Status|Age', ({ spec, status }) => {
  const conditions = (status as { conditions?: { type: string; status: string; reason?: string }[] } | undefined)?.conditions ?? []
  const disrupted = conditions.find((c) => c.type === 'DisruptionTarget')
  const scheduled = conditions.find((c) => c.type === 'PodGroupScheduled')
  const state = disrupted ? (disrupted.reason ?? '') : scheduled ? (scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable') : 'Pending'
  return [spec?.schedulingPolicy?.gang ? 'Gang' : 'Basic', spec?.podGroupTemplateRef?.workload?.workloadName || NONE, state]
})
