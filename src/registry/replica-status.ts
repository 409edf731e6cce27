import { type ErrorList, type FieldPath, invalid } from '../apimachinery/field.ts'
import { nonNegative } from './workload-template.ts'

type Counts = Readonly<Record<string, unknown>>

const count = (status: Counts, name: string): number => (typeof status[name] === 'number' ? (status[name] as number) : 0)

/** Figures that must not be negative. */
export function validateCounts(status: Counts, names: readonly string[], path: FieldPath): ErrorList {
  return names.flatMap((name) => nonNegative(count(status, name), path.child(name)))
}

/** Figures that are parts of another. */
export function validateParts(status: Counts, names: readonly string[], whole: string, text: string, path: FieldPath): ErrorList {
  const most = count(status, whole)
  return names.filter((name) => count(status, name) > most).map((name) => invalid(path.child(name), count(status, name), text))
}

/** A counter of hash collisions only grows. */
export function validateCollisionCount(status: Counts, old: Counts | undefined, path: FieldPath): ErrorList {
  const now = status.collisionCount as number | undefined
  const before = old?.collisionCount as number | undefined
  if (before === undefined) return []
  return now === undefined || now < before ? [invalid(path.child('collisionCount'), now ?? 0, 'cannot be decremented')] : []
}
