import type { ReplicaSet, ReplicaSetCondition, ReplicaSetStatus } from '../../api/apps/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { selectorFromLabels } from '../../apimachinery/labels.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { isPodAvailable, isPodReady } from '../../component-helpers/pod-conditions.ts'

export interface StatusInput {
  set: ReplicaSet
  active: readonly Pod[]
  /** Undefined leaves the field out: ReplicationControllers have none. */
  terminating: readonly Pod[] | undefined
  /** Pods to make (negative) or delete (positive) that `error` was about. */
  difference: number
  error: unknown
  now: number
}

/** The status the Pods give; conditions are carried over, ReplicaFailure comes with an error and goes without. */
export function replicaSetStatus({ set, active, terminating, difference, error, now }: StatusInput): ReplicaSetStatus {
  const template = selectorFromLabels(set.spec.template.metadata?.labels)
  const minReady = set.spec.minReadySeconds ?? 0
  let labelled = 0
  let ready = 0
  let available = 0
  for (const pod of active) {
    if (template.matches(pod.metadata.labels)) labelled++
    if (!isPodReady(pod)) continue
    ready++
    if (isPodAvailable(pod, minReady, now)) available++
  }
  return {
    replicas: active.length,
    ...(labelled ? { fullyLabeledReplicas: labelled } : {}),
    ...(ready ? { readyReplicas: ready } : {}),
    ...(available ? { availableReplicas: available } : {}),
    ...(terminating ? { terminatingReplicas: terminating.length } : {}),
    ...(set.metadata.generation ? { observedGeneration: set.metadata.generation } : {}),
    ...conditions(set.status.conditions, difference, error, now),
  }
}

function conditions(old: ReplicaSetCondition[] | undefined, difference: number, error: unknown, now: number): { conditions?: ReplicaSetCondition[] } {
  const failure = old?.find((c) => c.type === 'ReplicaFailure')
  let list = old ?? []
  if (error !== undefined && !failure) {
    const reason = difference < 0 ? 'FailedCreate' : 'FailedDelete'
    const message = error instanceof Error ? error.message : String(error)
    list = [...list, { type: 'ReplicaFailure', status: 'True', lastTransitionTime: formatTime(now), reason, message }]
  } else if (error === undefined && failure) {
    list = list.filter((c) => c.type !== 'ReplicaFailure')
  }
  return list.length > 0 ? { conditions: list } : {}
}
