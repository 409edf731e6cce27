import type { Deployment, ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import { MAX_REPLICAS, maxSurge } from './arithmetic.ts'

export const REVISION = 'deployment.kubernetes.io/revision'
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history'
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'
export const ROLLBACK_TO = 'deprecated.deployment.rollback.to'
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
const NOT_COPIED = new Set([LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO])
const MAX_HISTORY_CHARS = 2000

/** The revision number; undefined when the annotation is there and no number. */
export function revisionOf(object: Pick<ReplicaSet, 'metadata'>): number | undefined {
  const text = object.metadata.annotations?.[REVISION]
  if (text === undefined || text === '') return 0
  return /^-?[0-9]+$/.test(text) ? Number(text) : undefined
}

export function desiredReplicasOf(set: ReplicaSet): number | undefined {
  const text = set.metadata.annotations?.[DESIRED_REPLICAS]
  return text !== undefined && /^-?[0-9]+$/.test(text) ? Number(text) : undefined
}

export function replicasAnnotationsDiffer(set: ReplicaSet, deployment: Deployment): boolean {
  const desired = deployment.spec.replicas ?? 1
  return set.metadata.annotations?.[DESIRED_REPLICAS] !== String(desired) || set.metadata.annotations?.[MAX_REPLICAS] !== String(desired + maxSurge(deployment))
}

/** @param set a copy that may be changed */
export function setReplicasAnnotations(set: ReplicaSet, deployment: Deployment): boolean {
  if (!replicasAnnotationsDiffer(set, deployment)) return false
  const desired = deployment.spec.replicas ?? 1
  set.metadata.annotations = { ...set.metadata.annotations, [DESIRED_REPLICAS]: String(desired), [MAX_REPLICAS]: String(desired + maxSurge(deployment)) }
  return true
}

/**
 * Brings the annotations of the new ReplicaSet up to date: those of the Deployment, the revision and what it was before.
 * @param set a copy that may be changed
 */
export function setNewAnnotations(deployment: Deployment, set: ReplicaSet, revision: number, exists: boolean): boolean {
  const annotations: Record<string, string> = { ...set.metadata.annotations }
  let changed = false
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (NOT_COPIED.has(key) || (Object.hasOwn(annotations, key) && annotations[key] === value)) continue
    annotations[key] = value
    changed = true
  }
  const oldText = annotations[REVISION]
  const old = revisionOf(set)
  if (old === undefined) return changed
  if (old < revision) {
    annotations[REVISION] = String(revision)
    changed = true
    if (oldText !== undefined) annotations[REVISION_HISTORY] = appendHistory(annotations[REVISION_HISTORY], oldText)
  }
  set.metadata.annotations = annotations
  if (!exists && setReplicasAnnotations(set, deployment)) changed = true
  return changed
}

function appendHistory(history: string | undefined, revision: string): string {
  if (!history) return revision
  const old = history.split(',')
  while (old.length > 0 && [...old, revision].join(',').length > MAX_HISTORY_CHARS) old.shift()
  return [...old, revision].join(',')
}

/** @param deployment a copy that may be changed */
export function setDeploymentRevision(deployment: Deployment, revision: string | undefined): boolean {
  if (revision === undefined || deployment.metadata.annotations?.[REVISION] === revision) return false
  deployment.metadata.annotations = { ...deployment.metadata.annotations, [REVISION]: revision }
  return true
}

/** What a rollback puts on the Deployment: the ReplicaSet's annotations, and of its own those that never travel. */
export function rollbackAnnotations(deployment: Deployment, set: ReplicaSet): Record<string, string> {
  const out: Record<string, string> = {}
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) if (NOT_COPIED.has(key)) out[key] = value
  for (const [key, value] of Object.entries(set.metadata.annotations ?? {})) if (!NOT_COPIED.has(key)) out[key] = value
  return out
}
