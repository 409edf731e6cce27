import { aggregateText, type FieldError, fieldErrorText } from './field.ts'
import type { Status, StatusCause, StatusDetails } from './meta/v1/types.generated.ts'
import { type GroupResource, groupKindName, groupResourceName } from './object.ts'
import { quote } from './quote.ts'

/** The closed set of reasons. `''` is what an error that is no Status gets ("Unknown"). */
export type StatusReason =
  | ''
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'StoreReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable'

export interface StatusErrorInit {
  code: number
  reason: StatusReason
  message: string
  /** `{}` is printed as such, undefined is left out. */
  details?: StatusDetails
  /** For Expired: the token to continue with. */
  continue?: string
  cause?: unknown
}

/** An error the API answers with. Test with the `is…` predicates, never by message. */
export class StatusError extends Error {
  readonly code: number
  readonly reason: StatusReason
  readonly details: StatusDetails | undefined
  readonly continueToken: string | undefined

  constructor(init: StatusErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause })
    this.name = 'StatusError'
    this.code = init.code
    this.reason = init.reason
    this.details = init.details
    this.continueToken = init.continue
  }

  /** The Status object sent to clients, in upstream's field order. */
  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken ? { continue: this.continueToken } : {},
      status: 'Failure',
      ...(this.message === '' ? {} : { message: this.message }),
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    } as Status
  }

  static fromStatus(status: Status): StatusError {
    return new StatusError({
      code: status.code ?? 500,
      reason: (status.reason ?? '') as StatusReason,
      message: status.message ?? '',
      ...(status.details ? { details: status.details } : {}),
      ...(status.metadata?.continue ? { continue: status.metadata.continue } : {}),
    })
  }
}

/** Anything thrown, as the Status it is answered with: errors that are no Status are 500 without reason. */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new StatusError({ code: 500, reason: '', message, cause: error })
}

const resourceDetails = (gr: GroupResource, name: string, rest: Partial<StatusDetails> = {}): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(gr.group === '' ? {} : { group: gr.group }),
  ...(gr.resource === '' ? {} : { kind: gr.resource }),
  ...rest,
})

export function newNotFound(gr: GroupResource, name: string): StatusError {
  return new StatusError({ code: 404, reason: 'NotFound', message: `${groupResourceName(gr)} ${quote(name)} not found`, details: resourceDetails(gr, name) })
}
export function newAlreadyExists(gr: GroupResource, name: string): StatusError {
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${groupResourceName(gr)} ${quote(name)} already exists`,
    details: resourceDetails(gr, name),
  })
}
export function newGenerateNameConflict(gr: GroupResource, name: string, retryAfterSeconds: number): StatusError {
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${groupResourceName(gr)} ${quote(name)} already exists, the server was not able to generate a unique name for the object`,
    details: resourceDetails(gr, name, { retryAfterSeconds }),
  })
}
export function newConflict(gr: GroupResource, name: string, text: string): StatusError {
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${groupResourceName(gr)} ${quote(name)}: ${text}`,
    details: resourceDetails(gr, name),
  })
}
export const OPTIMISTIC_LOCK_TEXT = 'the object has been modified; please apply your changes to the latest version and try again'

export function newApplyConflict(causes: StatusCause[], message: string): StatusError {
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes } })
}
export function newGone(message: string): StatusError {
  return new StatusError({ code: 410, reason: 'Gone', message })
}
export function newExpired(message: string, continueToken?: string): StatusError {
  return new StatusError({ code: 410, reason: 'Expired', message, ...(continueToken ? { continue: continueToken } : {}) })
}
export function newInvalid(gk: { group: string; kind: string }, name: string, errors: readonly FieldError[]): StatusError {
  const causes: StatusCause[] = errors.map((e) => ({ reason: e.type, message: e.body, field: e.field }))
  const head = `${groupKindName(gk)} ${quote(name)} is invalid`
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: errors.length === 0 ? head : `${head}: ${aggregateText(errors.map(fieldErrorText))}`,
    details: {
      ...(name === '' ? {} : { name }),
      ...(gk.group === '' ? {} : { group: gk.group }),
      ...(gk.kind === '' ? {} : { kind: gk.kind }),
      ...(causes.length ? { causes } : {}),
    },
  })
}
export function newBadRequest(message: string): StatusError {
  return new StatusError({ code: 400, reason: 'BadRequest', message })
}
export function newUnauthorized(message = 'Unauthorized'): StatusError {
  return new StatusError({ code: 401, reason: 'Unauthorized', message: message === '' ? 'not authorized' : message })
}
export function newForbidden(gr: GroupResource, name: string, text: string): StatusError {
  const what = gr.resource === '' ? 'forbidden' : name === '' ? `${groupResourceName(gr)} is forbidden` : `${groupResourceName(gr)} ${quote(name)} is forbidden`
  return new StatusError({ code: 403, reason: 'Forbidden', message: `${what}: ${text}`, details: resourceDetails(gr, name) })
}
export function newMethodNotSupported(gr: GroupResource, verb: string): StatusError {
  return new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${verb} is not supported on resources of kind ${quote(groupResourceName(gr))}`,
    details: resourceDetails(gr, ''),
  })
}
export function newNotAcceptable(message: string): StatusError {
  return new StatusError({ code: 406, reason: 'NotAcceptable', message })
}
export function newUnsupportedMediaType(message: string): StatusError {
  return new StatusError({ code: 415, reason: 'UnsupportedMediaType', message })
}
export function newRequestEntityTooLarge(message: string): StatusError {
  return new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${message}` })
}
export function newTooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError({ code: 429, reason: 'TooManyRequests', message, details: retryAfterSeconds > 0 ? { retryAfterSeconds } : {} })
}
export function newInternalError(cause: unknown): StatusError {
  const text = cause instanceof Error ? cause.message : String(cause)
  return new StatusError({ code: 500, reason: 'InternalError', message: `Internal error occurred: ${text}`, details: { causes: [{ message: text }] }, cause })
}
export function newServerTimeout(gr: GroupResource, operation: string, retryAfterSeconds: number): StatusError {
  return new StatusError({
    code: 500,
    reason: 'ServerTimeout',
    message: `The ${operation} operation against ${groupResourceName(gr)} could not be completed at this time, please try again.`,
    details: resourceDetails(gr, operation, retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
  })
}
export function newServiceUnavailable(message: string): StatusError {
  return new StatusError({ code: 503, reason: 'ServiceUnavailable', message })
}
export function newTimeout(message: string, retryAfterSeconds = 0): StatusError {
  return new StatusError({ code: 504, reason: 'Timeout', message: `Timeout: ${message}`, details: retryAfterSeconds > 0 ? { retryAfterSeconds } : {} })
}
export function newTooLargeResourceVersion(min: number, current: number, retryAfterSeconds: number): StatusError {
  return new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${min}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
    },
  })
}

const reasonIs = (error: unknown, ...reasons: StatusReason[]): error is StatusError => error instanceof StatusError && reasons.includes(error.reason)
export const isNotFound = (e: unknown): e is StatusError => reasonIs(e, 'NotFound')
export const isAlreadyExists = (e: unknown): e is StatusError => reasonIs(e, 'AlreadyExists')
export const isConflict = (e: unknown): e is StatusError => reasonIs(e, 'Conflict')
export const isForbidden = (e: unknown): e is StatusError => reasonIs(e, 'Forbidden')
export const isInvalid = (e: unknown): e is StatusError => reasonIs(e, 'Invalid')
export const isExpired = (e: unknown): e is StatusError => reasonIs(e, 'Expired', 'Gone')
export const isTooManyRequests = (e: unknown): e is StatusError => reasonIs(e, 'TooManyRequests')
export const isTooLargeResourceVersion = (e: unknown): e is StatusError =>
  reasonIs(e, 'Timeout') && (e.details?.causes?.some((c) => c.reason === 'ResourceVersionTooLarge') ?? false)
/** A namespace is going away and takes no new objects. */
export const isNamespaceTerminating = (e: unknown): e is StatusError =>
  reasonIs(e, 'Forbidden') && (e.details?.causes?.some((c) => c.reason === 'NamespaceTerminating') ?? false)
