/**
 * What a plugin says of a Pod or a node. Undefined means success, so the common case allocates nothing.
 * `unschedulable`: preemption may help; `unresolvable`: it cannot; `pending`: waits for something to happen elsewhere.
 */
export type StatusCode = 'unschedulable' | 'unresolvable' | 'error' | 'skip' | 'wait' | 'pending'

export interface Status {
  readonly code: StatusCode
  readonly reasons: readonly string[]
  /** The plugin that rejected; filled in by the framework. */
  readonly plugin?: string
  readonly error?: Error
}

export const unschedulable = (...reasons: string[]): Status => ({ code: 'unschedulable', reasons })
export const unresolvable = (...reasons: string[]): Status => ({ code: 'unresolvable', reasons })
export const skip: Status = { code: 'skip', reasons: [] }

export function errorStatus(error: unknown): Status {
  const e = error instanceof Error ? error : new Error(String(error))
  return { code: 'error', reasons: [e.message], error: e }
}

/** A Pod or node was refused, as opposed to an error or a skip. */
export type Rejection = Status & { readonly code: 'unschedulable' | 'unresolvable' | 'pending' }

export function isRejected(s: Status | undefined): s is Rejection {
  return s !== undefined && (s.code === 'unschedulable' || s.code === 'unresolvable' || s.code === 'pending')
}
