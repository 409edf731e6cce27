import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import { quote } from '../../apimachinery/quote.ts'
import { formatTime, timeMs } from '../../apimachinery/time.ts'
import { isComplete, MAX_INT32, maxUnavailable, replicasOf, sumSizes } from './arithmetic.ts'

export function hasProgressDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec.progressDeadlineSeconds
  return seconds !== undefined && seconds !== MAX_INT32
}

export function conditionOf(status: DeploymentStatus, type: string): DeploymentCondition | undefined {
  return status.conditions?.find((c) => c.type === type)
}

export function newCondition(type: string, status: string, reason: string, message: string, now: number): DeploymentCondition {
  const time = formatTime(now)
  return { type, status, lastUpdateTime: time, lastTransitionTime: time, reason, message }
}

/** Same status and reason: nothing changes, not even the message. A changed condition moves to the end. @param status a copy that may be changed */
export function setCondition(status: DeploymentStatus, condition: DeploymentCondition): void {
  const old = conditionOf(status, condition.type)
  if (old && old.status === condition.status && old.reason === condition.reason) return
  const next = old && old.status === condition.status ? { ...condition, lastTransitionTime: old.lastTransitionTime } : condition
  status.conditions = [...(status.conditions ?? []).filter((c) => c.type !== condition.type), next as DeploymentCondition]
}

export function removeCondition(status: DeploymentStatus, type: string): void {
  const rest = (status.conditions ?? []).filter((c) => c.type !== type)
  if (rest.length > 0) status.conditions = rest
  else delete status.conditions
}

/** Status as the ReplicaSets give it, with the Available condition. */
export function calculateStatus(all: readonly ReplicaSet[], newSet: ReplicaSet | undefined, deployment: Deployment, now: number): DeploymentStatus {
  const sum = (field: 'replicas' | 'readyReplicas' | 'availableReplicas') => all.reduce((n, s) => n + (s.status[field] ?? 0), 0)
  const replicas = sum('replicas')
  const updated = newSet?.status.replicas ?? 0
  const ready = sum('readyReplicas')
  const available = sum('availableReplicas')
  const unavailable = Math.max(0, sumSizes(all) - available)
  const observed = all.filter((s) => s.status.observedGeneration !== undefined || s.status.terminatingReplicas !== undefined)
  const terminating = observed.every((s) => s.status.terminatingReplicas !== undefined)
    ? all.reduce((n, s) => n + (s.status.terminatingReplicas ?? 0), 0)
    : undefined
  const status: DeploymentStatus = {
    ...(deployment.metadata.generation ? { observedGeneration: deployment.metadata.generation } : {}),
    ...(replicas ? { replicas } : {}),
    ...(updated ? { updatedReplicas: updated } : {}),
    ...(ready ? { readyReplicas: ready } : {}),
    ...(available ? { availableReplicas: available } : {}),
    ...(unavailable ? { unavailableReplicas: unavailable } : {}),
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    ...(deployment.status.conditions?.length ? { conditions: [...deployment.status.conditions] } : {}),
    ...(deployment.status.collisionCount === undefined ? {} : { collisionCount: deployment.status.collisionCount }),
  }
  const enough = available >= replicasOf(deployment) - maxUnavailable(deployment)
  setCondition(
    status,
    enough
      ? newCondition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.', now)
      : newCondition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.', now),
  )
  return status
}

function isProgressing(deployment: Deployment, status: DeploymentStatus): boolean {
  const old = deployment.status
  const n = (x: number | undefined) => x ?? 0
  return (
    n(status.updatedReplicas) > n(old.updatedReplicas) ||
    n(status.replicas) - n(status.updatedReplicas) < n(old.replicas) - n(old.updatedReplicas) ||
    n(status.readyReplicas) > n(old.readyReplicas) ||
    n(status.availableReplicas) > n(old.availableReplicas)
  )
}

function hasTimedOut(deployment: Deployment, status: DeploymentStatus, now: number): boolean {
  const condition = conditionOf(status, 'Progressing')
  if (!condition || condition.reason === 'NewReplicaSetAvailable') return false
  if (condition.reason === 'ProgressDeadlineExceeded') return true
  return (timeMs(condition.lastUpdateTime) ?? 0) + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 < now
}

/** Sets Progressing and ReplicaFailure. @param status a copy that may be changed */
export function judgeProgress(status: DeploymentStatus, deployment: Deployment, all: readonly ReplicaSet[], newSet: ReplicaSet | undefined, now: number): void {
  const current = conditionOf(deployment.status, 'Progressing')
  if (!hasProgressDeadline(deployment)) removeCondition(status, 'Progressing')
  const settled = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === 'NewReplicaSetAvailable'
  if (hasProgressDeadline(deployment) && !settled) {
    const subject = newSet ? `ReplicaSet ${quote(newSet.metadata.name ?? '')}` : `Deployment ${quote(deployment.metadata.name ?? '')}`
    if (isComplete(deployment, status)) {
      setCondition(status, newCondition('Progressing', 'True', 'NewReplicaSetAvailable', `${subject} has successfully progressed.`, now))
    } else if (isProgressing(deployment, status)) {
      const condition = newCondition('Progressing', 'True', 'ReplicaSetUpdated', `${subject} is progressing.`, now)
      if (current?.status === 'True' && current.lastTransitionTime) condition.lastTransitionTime = current.lastTransitionTime
      removeCondition(status, 'Progressing')
      setCondition(status, condition)
    } else if (hasTimedOut(deployment, status, now)) {
      setCondition(status, newCondition('Progressing', 'False', 'ProgressDeadlineExceeded', `${subject} has timed out progressing.`, now))
    }
  }
  const failure = failureOf(newSet) ?? all.map(failureOf).find((c) => c !== undefined)
  if (failure) {
    const { lastTransitionTime } = failure
    const time = lastTransitionTime ?? formatTime(now)
    setCondition(status, {
      type: 'ReplicaFailure',
      status: failure.status,
      lastUpdateTime: time,
      lastTransitionTime: time,
      ...(failure.reason ? { reason: failure.reason } : {}),
      ...(failure.message ? { message: failure.message } : {}),
    })
  } else removeCondition(status, 'ReplicaFailure')
}

const failureOf = (set: ReplicaSet | undefined) => set?.status.conditions?.find((c) => c.type === 'ReplicaFailure')

/** When to look again for a missed deadline, in ms; undefined when nothing can be missed. */
export function progressCheckAfter(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const condition = conditionOf(status, 'Progressing')
  if (!condition || !hasProgressDeadline(deployment) || isComplete(deployment, status) || condition.reason === 'ProgressDeadlineExceeded') return undefined
  const after = (timeMs(condition.lastUpdateTime) ?? now) + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 - now
  return after < 1000 ? 0 : after + 1000
}
