import { RuntimeError } from '../runtime/runtime.ts'

/** A `metav1.Status`, as far as the error channel has it. */
export interface CommandStatus {
  status: 'Success' | 'Failure'
  message?: string
  reason?: string
  details?: { causes: { reason: string; message: string }[] }
  code?: number
}

/** What the error channel says at the end, in the order of keys clients have come to know. */
export const SUCCESS: CommandStatus = { status: 'Success' }

export function statusOfExit(code: number, command: readonly string[]): CommandStatus {
  if (code === 0) return SUCCESS
  return {
    status: 'Failure',
    message: `command terminated with non-zero exit code: error executing command [${command.join(' ')}], exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  }
}

export function failureStatus(what: string, error: unknown): CommandStatus {
  const why = error instanceof RuntimeError ? error.details : error instanceof Error ? error.message : String(error)
  return { status: 'Failure', message: `Internal error occurred: ${what}: ${why}`, reason: 'InternalError', code: 500 }
}
