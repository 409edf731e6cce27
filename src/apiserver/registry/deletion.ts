import { newConflict } from '../../apimachinery/errors.ts'
import type { DeleteOptions, ObjectMeta } from '../../apimachinery/meta/v1/types.generated.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepEqual } from '../../base/deep-freeze.ts'
import type { ResolvedStrategy } from './generic-strategy.ts'

const ORPHAN = 'orphan'
const FOREGROUND = 'foregroundDeletion'

/** What a delete does to the stored object. */
export type DeletionStep =
  /** Take it out of the store. */
  | { kind: 'remove' }
  /** Nothing: it is on its way out already. */
  | { kind: 'keep' }
  /** Store this in its place; remove it right after when `thenRemove`. */
  | { kind: 'update'; object: KubeObject; thenRemove: boolean }

/** Refuses a delete whose preconditions do not hold. */
export function checkDeletePreconditions(gk: { group: string; kind: string }, obj: KubeObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {}
  const gr = { group: gk.group, resource: gk.kind }
  const name = obj.metadata.name ?? ''
  if (uid !== undefined && uid !== obj.metadata.uid) {
    throw newConflict(
      gr,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${obj.metadata.uid}). The object might have been deleted and then recreated`,
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== obj.metadata.resourceVersion) {
    throw newConflict(
      gr,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${obj.metadata.resourceVersion}). The object might have been modified`,
    )
  }
}

/**
 * One step of deleting `current` (frozen): graceful periods, finalizers and propagation as upstream orders them.
 * @param now ms
 */
export function planDeletion(strategy: ResolvedStrategy, current: KubeObject, options: DeleteOptions, now: number): DeletionStep {
  const graceful = planGrace(strategy, current.metadata, current, options, now)
  if (graceful === 'pending') return { kind: 'keep' }
  const finalizers = finalizersFor(strategy, current, options)
  const old = current.metadata.finalizers ?? []
  const changed = !deepEqual(finalizers, old)
  if (graceful === 'no' && finalizers.length === 0 && !changed) return { kind: 'remove' }
  const metadata: ObjectMeta = { ...current.metadata }
  if (changed) {
    if (finalizers.length) metadata.finalizers = finalizers
    else delete metadata.finalizers
  }
  if (graceful === 'no') {
    if (finalizers.length === 0) return { kind: 'remove' }
    const at = metadata.deletionTimestamp
    if (!at && (metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation as number) + 1
    if (!at || Date.parse(at) > now) metadata.deletionTimestamp = formatTime(now)
    metadata.deletionGracePeriodSeconds = 0
    const object = { ...current, metadata }
    return sameMetadata(metadata, current.metadata) ? { kind: 'keep' } : { kind: 'update', object, thenRemove: false }
  }
  if (!metadata.deletionTimestamp && (metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation as number) + 1
  metadata.deletionTimestamp = graceful.timestamp
  metadata.deletionGracePeriodSeconds = graceful.seconds
  return { kind: 'update', object: { ...current, metadata }, thenRemove: graceful.seconds === 0 && finalizers.length === 0 }
}

function sameMetadata(a: ObjectMeta, b: ObjectMeta): boolean {
  return deepEqual(a, b)
}

type Grace = 'no' | 'pending' | { seconds: number; timestamp: string }

function planGrace(strategy: ResolvedStrategy, meta: ObjectMeta, obj: KubeObject, options: DeleteOptions, now: number): Grace {
  if (!strategy.gracefulDeletionSeconds) return 'no'
  let asked = options.gracePeriodSeconds
  if (asked !== undefined && asked < 0) asked = 1
  if (meta.deletionTimestamp) {
    const stored = meta.deletionGracePeriodSeconds
    if (stored === undefined || stored === 0) return 'no'
    if (asked === undefined || asked >= stored) return 'pending'
    const start = Date.parse(meta.deletionTimestamp) - stored * 1000
    let end = start + asked * 1000
    let seconds = asked
    if (end < now) {
      end = now
      if (asked !== 0) seconds = 1
    }
    return { seconds, timestamp: formatTime(end) }
  }
  let seconds = strategy.gracefulDeletionSeconds(obj as never, asked === undefined ? options : { ...options, gracePeriodSeconds: asked })
  if (seconds === undefined) return 'no'
  if (seconds < 0) seconds = 1
  return { seconds, timestamp: formatTime(now + seconds * 1000) }
}

function finalizersFor(strategy: ResolvedStrategy, obj: KubeObject, options: DeleteOptions): string[] {
  const existing = obj.metadata.finalizers ?? []
  const orphan = shouldOrphan(strategy, obj, options)
  const foreground = shouldWaitForDependents(obj, options)
  const out = existing.filter((f) => f !== ORPHAN && f !== FOREGROUND)
  if (orphan) out.push(ORPHAN)
  if (foreground) out.push(FOREGROUND)
  if (out.length === existing.length && out.every((f) => existing.includes(f))) return [...existing]
  return out
}

function shouldOrphan(strategy: ResolvedStrategy, obj: KubeObject, options: DeleteOptions): boolean {
  if (options.orphanDependents !== undefined) return options.orphanDependents
  switch (options.propagationPolicy) {
    case 'Orphan':
      return true
    case 'Background':
    case 'Foreground':
      return false
  }
  for (const f of obj.metadata.finalizers ?? []) {
    if (f === ORPHAN) return true
    if (f === FOREGROUND) return false
  }
  return strategy.orphansByDefault(obj)
}

function shouldWaitForDependents(obj: KubeObject, options: DeleteOptions): boolean {
  if (options.orphanDependents !== undefined) return false
  switch (options.propagationPolicy) {
    case 'Foreground':
      return true
    case 'Background':
    case 'Orphan':
      return false
  }
  for (const f of obj.metadata.finalizers ?? []) {
    if (f === FOREGROUND) return true
    if (f === ORPHAN) return false
  }
  return false
}

/** An update has taken away the last reason to keep an object that is being deleted. */
export function isReadyToGo(strategy: ResolvedStrategy, obj: KubeObject, old: KubeObject): boolean {
  const meta = obj.metadata
  if (!meta.deletionTimestamp || (meta.finalizers?.length ?? 0) > 0) return false
  if (strategy.holdsDeletion?.(obj as never)) return false
  return (old.metadata.deletionGracePeriodSeconds ?? 0) === 0 && (meta.deletionGracePeriodSeconds ?? 0) === 0
}
