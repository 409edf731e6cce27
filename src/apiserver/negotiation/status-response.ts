import type { StatusError } from '../../apimachinery/errors.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'
import type { Negotiator } from './accept.ts'
import type { Encoder } from './encode.ts'

/** What errors are written with; one per server. */
export interface StatusWriter {
  readonly negotiator: Negotiator
  readonly encoder: Encoder
}

/** An error as an answer, in the media type the client asked for. */
export function statusResponse(writer: StatusWriter, context: RequestContext, error: StatusError): ApiResponse {
  const status = error.toStatus()
  const headers: Record<string, string | string[]> = {}
  const retry = error.details?.retryAfterSeconds
  if (retry !== undefined && retry > 0) headers['retry-after'] = String(retry)
  if (context.request.inProcess) return { status: error.code, headers, object: status }
  const { mediaType, pretty } = writer.negotiator.errorType(context)
  headers['content-type'] = mediaType
  return { status: error.code, headers, bytes: writer.encoder.encode(status, mediaType, pretty) }
}
