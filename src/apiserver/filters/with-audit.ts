import type { ApiResponse } from '../request/api-request.ts'
import type { Handler, RequestContext } from '../request/context.ts'

/** Receives each request at its start and its end. */
export interface AuditSink {
  received?(context: RequestContext): void
  completed?(context: RequestContext, outcome: { response?: ApiResponse; error?: unknown }): void
}

export function withAudit(next: Handler, sink: AuditSink | undefined): Handler {
  if (!sink) return next
  return async (context) => {
    sink.received?.(context)
    try {
      const response = await next(context)
      sink.completed?.(context, { response })
      return response
    } catch (error) {
      sink.completed?.(context, { error })
      throw error
    }
  }
}
