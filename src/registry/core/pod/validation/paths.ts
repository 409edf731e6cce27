import type { KeyToPath } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, invalid, required } from '../../../../apimachinery/field.ts'

/** Paths below a directory that must not lead out of it. */
export function validatePathNoBacksteps(value: string, path: FieldPath): ErrorList {
  return value.split('/').includes('..') ? [invalid(path, value, "must not contain '..'")] : []
}

export function validateLocalDescendingPath(value: string, path: FieldPath): ErrorList {
  const errs: ErrorList = value.startsWith('/') ? [invalid(path, value, 'must be a relative path')] : []
  return [...errs, ...validatePathNoBacksteps(value, path)]
}

/** Also refuses names that begin with `..`, which atomic writers keep for themselves. */
export function validateLocalNonReservedPath(value: string, path: FieldPath): ErrorList {
  const errs = validateLocalDescendingPath(value, path)
  if (value.startsWith('..') && !value.startsWith('../')) errs.push(invalid(path, value, "must not start with '..'"))
  return errs
}

export const FILE_MODE_TEXT = 'must be a number between 0 and 0777 (octal), both inclusive'

export function validateFileMode(mode: number | undefined, path: FieldPath): ErrorList {
  return mode !== undefined && (mode < 0 || mode > 0o777) ? [invalid(path, mode, FILE_MODE_TEXT)] : []
}

export function validateKeyToPath(item: KeyToPath, path: FieldPath): ErrorList {
  const errs: ErrorList = item.key ? [] : [required(path.child('key'))]
  if (!item.path) errs.push(required(path.child('path')))
  else errs.push(...validateLocalNonReservedPath(item.path, path.child('path')))
  return [...errs, ...validateFileMode(item.mode, path.child('mode'))]
}
