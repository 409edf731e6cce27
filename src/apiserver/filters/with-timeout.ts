import { durationMs } from '../../apimachinery/duration.ts'
import { newBadRequest, newTimeout } from '../../apimachinery/errors.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { Clock } from '../../base/clock.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { Handler } from '../request/context.ts'

const REQUEST_TIMEOUT_MS = 60_000

/** Ends requests that are not long-running after 60 s, or what `timeout` asks for below that. */
export function withTimeout(next: Handler, clock: Clock): Handler {
  return (context) => {
    if (context.longRunning) return next(context)
    let limit = REQUEST_TIMEOUT_MS
    const asked = context.query.get('timeout')
    if (asked !== undefined && asked !== '') {
      const ms = durationMs(asked)
      if (ms === undefined) {
        return Promise.reject(newBadRequest(`invalid timeout specified in the request URL - time: invalid duration ${quote(asked)}`))
      }
      if (ms > 0 && ms < limit) limit = ms
    }
    return new Promise<ApiResponse>((resolve, reject) => {
      const timer = clock.deadline(() => reject(newTimeout('request did not complete within the allotted timeout')), limit)
      next(context).then(
        (response) => {
          timer.cancel()
          resolve(response)
        },
        (error) => {
          timer.cancel()
          reject(error)
        },
      )
    })
  }
}
