import { StatusError, type StatusReason } from '../../apimachinery/errors.ts'
import type { Status } from '../../apimachinery/meta/v1/types.generated.ts'
import type { TransportResponse } from '../transport.ts'

const GENERIC: Record<number, { reason: StatusReason; message: string }> = {
  400: { reason: 'BadRequest', message: 'the server rejected our request for an unknown reason' },
  401: { reason: 'Unauthorized', message: 'the server has asked for the client to provide credentials' },
  403: { reason: 'Forbidden', message: 'forbidden' },
  404: { reason: 'NotFound', message: 'the server could not find the requested resource' },
  405: { reason: 'MethodNotAllowed', message: 'the server does not allow this method on the requested resource' },
  406: { reason: 'NotAcceptable', message: 'the server was unable to respond with a content type that the client supports' },
  409: { reason: 'Conflict', message: 'the server reported a conflict' },
  413: { reason: 'RequestEntityTooLarge', message: 'the request entity is too large' },
  415: { reason: 'UnsupportedMediaType', message: 'the body of the request was in an unknown format' },
  422: { reason: 'Invalid', message: 'the server rejected our request due to an error in our request' },
  429: { reason: 'TooManyRequests', message: 'the server has received too many requests and has asked us to try again later' },
  500: { reason: 'InternalError', message: 'an error on the server has prevented the request from succeeding' },
  503: { reason: 'ServiceUnavailable', message: 'the server is currently unable to handle the request' },
  504: { reason: 'Timeout', message: 'the server was unable to return a response in the time allotted, but may still be processing the request' },
}

export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && (value as Status).kind === 'Status'
}

/** The error of an answer that is no success: the server's own Status, or a generic one made of the code and the text. */
export async function responseError(response: TransportResponse): Promise<StatusError> {
  const body = await response.object().catch(() => undefined)
  if (isStatus(body)) return StatusError.fromStatus(body)
  const known = GENERIC[response.status]
  const text = body === undefined ? (await response.text().catch(() => '')).trim().slice(0, 2048) : ''
  const message = known?.message ?? `the server responded with the status code ${response.status} but did not return more information`
  const causes = text === '' ? [] : [{ reason: 'UnexpectedServerResponse', message: text }]
  return new StatusError({
    code: response.status,
    reason: known?.reason ?? '',
    message: response.status === 403 && text !== '' ? text : message,
    details: causes.length ? { causes } : {},
  })
}
