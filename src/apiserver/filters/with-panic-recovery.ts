import { StatusError } from '../../apimachinery/errors.ts'
import type { Logger } from '../../component-base/component.ts'
import { plainText } from '../endpoints/plain.ts'
import { type StatusWriter, statusResponse } from '../negotiation/status-response.ts'
import type { Handler } from '../request/context.ts'

/** The one place where errors become answers: a StatusError its Status, anything else a logged 500. */
export function withPanicRecovery(next: Handler, writer: StatusWriter, log: Logger): Handler {
  return async (context) => {
    try {
      return await next(context)
    } catch (error) {
      if (error instanceof StatusError) return statusResponse(writer, context, error)
      const status = statusOfUnknown(error)
      if (status) return statusResponse(writer, context, status)
      log.error('request handler failed', { path: context.info.path, verb: context.info.verb, error: error instanceof Error ? error.stack : String(error) })
      return plainText(500, 'This request caused apiserver to panic. Look in the logs for details.')
    }
  }
}

/** Errors with a meaning of their own that are not Statuses yet. */
function statusOfUnknown(error: unknown): StatusError | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'StoreUnavailableError' || error.message.startsWith('etcdserver: ')) {
    return new StatusError({ code: 500, reason: '', message: error.message })
  }
  return undefined
}
