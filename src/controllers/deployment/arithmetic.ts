import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import { scaledValue } from '../../apimachinery/intstr.ts'

export const MAX_INT32 = 2147483647
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas'

export const replicasOf = (deployment: Deployment): number => deployment.spec.replicas ?? 1
export const sizeOf = (set: ReplicaSet): number => set.spec.replicas ?? 1
export const isRolling = (deployment: Deployment): boolean => deployment.spec.strategy.type === 'RollingUpdate'
export const sumSizes = (sets: readonly ReplicaSet[]): number => sets.reduce((n, s) => n + sizeOf(s), 0)
export const sumAvailable = (sets: readonly ReplicaSet[]): number => sets.reduce((n, s) => n + (s.status.availableReplicas ?? 0), 0)
export const activeSets = (sets: readonly ReplicaSet[]): ReplicaSet[] => sets.filter((s) => sizeOf(s) > 0)

/** Surge rounds up, unavailable down; both 0 would not move, so one Pod may be missing then. */
function fenceposts(deployment: Deployment): { surge: number; unavailable: number } {
  const total = replicasOf(deployment)
  const { maxSurge: s, maxUnavailable: u } = deployment.spec.strategy.rollingUpdate ?? {}
  const surge = scaledValue(s ?? 0, total, true)
  const unavailable = scaledValue(u ?? 0, total, false)
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable }
}

export function maxSurge(deployment: Deployment): number {
  return isRolling(deployment) ? fenceposts(deployment).surge : 0
}

export function maxUnavailable(deployment: Deployment): number {
  const total = replicasOf(deployment)
  if (!isRolling(deployment) || total === 0) return 0
  return Math.min(fenceposts(deployment).unavailable, total)
}

/** The size the new ReplicaSet may have next. */
export function newSetSize(deployment: Deployment, all: readonly ReplicaSet[], size: number): number {
  const wanted = replicasOf(deployment)
  if (!isRolling(deployment)) return wanted
  const room = wanted + maxSurge(deployment) - sumSizes(all)
  return room <= 0 ? size : size + Math.min(room, wanted - size)
}

/** How much a ReplicaSet takes of what is to be added (or taken away) in all. */
export function proportion(set: ReplicaSet, deployment: Deployment, toAdd: number, added: number): number {
  if (sizeOf(set) === 0 || toAdd === 0 || toAdd === added) return 0
  const allowed = toAdd - added
  const fraction = fractionOf(set, deployment)
  return toAdd > 0 ? Math.min(fraction, allowed) : Math.max(fraction, allowed)
}

function fractionOf(set: ReplicaSet, deployment: Deployment): number {
  const wanted = replicasOf(deployment)
  if (wanted === 0) return -sizeOf(set)
  const annotated = Number.parseInt(set.metadata.annotations?.[MAX_REPLICAS] ?? '', 10)
  const before = Number.isNaN(annotated) ? (deployment.status.replicas ?? 0) : annotated
  if (before === 0) return 0
  return Math.round((sizeOf(set) * (wanted + maxSurge(deployment))) / before) - sizeOf(set)
}

/** All Pods are of the new template and available, and the status is about the current spec. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const wanted = replicasOf(deployment)
  return (
    (status.updatedReplicas ?? 0) === wanted &&
    (status.replicas ?? 0) === wanted &&
    (status.availableReplicas ?? 0) === wanted &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  )
}

const created = (set: ReplicaSet): string => set.metadata.creationTimestamp ?? ''
const byName = (a: ReplicaSet, b: ReplicaSet): number => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)

export function oldestFirst(a: ReplicaSet, b: ReplicaSet): number {
  return created(a) === created(b) ? byName(a, b) : created(a) < created(b) ? -1 : 1
}

export function largestFirst(newer: boolean): (a: ReplicaSet, b: ReplicaSet) => number {
  return (a, b) => sizeOf(b) - sizeOf(a) || (newer ? -oldestFirst(a, b) : oldestFirst(a, b))
}
