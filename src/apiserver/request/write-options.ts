import { newInvalid } from '../../apimachinery/errors.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required, tooLong } from '../../apimachinery/field.ts'
import type { DeleteOptions } from '../../apimachinery/meta/v1/types.generated.ts'
import type { RequestContext } from './context.ts'
import { parseInt64 } from './list-options.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** Options of create, update and patch. */
export interface WriteRequest {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  readonly force: boolean | undefined
}

const NONE: WriteRequest = { dryRun: false, fieldManager: '', fieldValidation: 'Warn', force: undefined }

const DRY_RUN = FieldPath.root('dryRun')
const MANAGER = FieldPath.root('fieldManager')
const VALIDATION = FieldPath.root('fieldValidation')
const FORCE = FieldPath.root('force')
const PROPAGATION = FieldPath.root('propagationPolicy')

/** @param kind CreateOptions, UpdateOptions or PatchOptions */
export function parseWriteRequest(context: RequestContext, kind: string, apply = false): WriteRequest {
  const query = context.query
  if (query.text === '' && !apply) return NONE
  const errors: ErrorList = []
  const dryRuns = query.all('dryRun')
  const manager = query.get('fieldManager') ?? ''
  const validation = query.get('fieldValidation') ?? ''
  const force = kind === 'PatchOptions' && query.has('force') ? query.bool('force') : undefined
  if (kind === 'PatchOptions') {
    if (apply && manager === '') errors.push(required(MANAGER, 'is required for apply patch'))
    if (!apply && force !== undefined) errors.push(forbidden(FORCE, 'may not be specified for non-apply patch'))
  }
  validateManager(manager, errors)
  validateDryRun(dryRuns, errors)
  if (validation !== '' && validation !== 'Ignore' && validation !== 'Warn' && validation !== 'Strict') {
    errors.push(notSupported(VALIDATION, validation, ['', 'Ignore', 'Strict', 'Warn']))
  }
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind }, '', errors)
  return {
    dryRun: dryRuns.length > 0,
    fieldManager: manager,
    fieldValidation: (validation === '' ? 'Warn' : validation) as FieldValidation,
    force,
  }
}

function validateDryRun(values: readonly string[], errors: ErrorList): void {
  if (values.some((v) => v !== 'All')) errors.push(notSupported(DRY_RUN, values, ['All']))
}

function validateManager(manager: string, errors: ErrorList): void {
  if (Buffer.byteLength(manager) > 128) errors.push(tooLong(MANAGER, 128))
  let at = 0
  for (const rune of manager) {
    const c = rune.codePointAt(0) as number
    if (!isPrintableRune(rune, c)) {
      const hex = c.toString(16).toUpperCase().padStart(4, '0')
      errors.push(invalid(MANAGER, manager, `invalid character U+${hex} (at position ${at})`))
    }
    at += Buffer.byteLength(rune)
  }
}

const UNPRINTABLE = /[\p{C}\p{Z}]/u

function isPrintableRune(rune: string, code: number): boolean {
  return code === 32 || (code < 127 ? code > 32 : !UNPRINTABLE.test(rune))
}

/** DeleteOptions out of the query, when the request has no body. */
export function deleteOptionsOfQuery(context: RequestContext): DeleteOptions {
  const query = context.query
  if (query.text === '') return {}
  const options: DeleteOptions = {}
  const grace = parseInt64(query, 'gracePeriodSeconds')
  if (grace !== undefined) options.gracePeriodSeconds = grace
  if (query.has('orphanDependents')) options.orphanDependents = query.bool('orphanDependents')
  const policy = query.get('propagationPolicy')
  if (policy !== undefined) options.propagationPolicy = policy
  const dryRun = query.all('dryRun')
  if (dryRun.length) options.dryRun = dryRun
  return options
}

export function validateDeleteOptions(options: DeleteOptions): void {
  const errors: ErrorList = []
  const policy = options.propagationPolicy
  if (policy !== undefined && policy !== null && policy !== 'Foreground' && policy !== 'Background' && policy !== 'Orphan') {
    errors.push(notSupported(PROPAGATION, policy, ['Foreground', 'Background', 'Orphan', 'nil']))
  }
  if (options.orphanDependents !== undefined && policy !== undefined) {
    errors.push(invalid(PROPAGATION, policy, 'orphanDependents and deletionPropagation cannot be both set'))
  }
  validateDryRun(options.dryRun ?? [], errors)
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors)
}
