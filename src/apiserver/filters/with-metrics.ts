import type { Clock } from '../../base/clock.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { Handler } from '../request/context.ts'
import { observedWatch } from '../request/observed-watch.ts'

/** Counts requests, their time and what is still running. */
export function withMetrics(next: Handler, metrics: RequestMetrics, clock: Clock): Handler {
  return async (context) => {
    const response = await next(context)
    metrics.observe(context, response, (clock.monotonic() - context.start) / 1000)
    if (response.watch) {
      response.watch = observedWatch(response.watch, () => ({
        onEvents: (count) => metrics.sentEvents(context.info, count),
        onEnd: metrics.began(context),
      }))
    } else if (context.longRunning) endWithStream(response, metrics.began(context))
    return response
  }
}

function endWithStream(response: ApiResponse, ended: () => void): void {
  if (response.stream) response.stream.once('close', ended)
  else ended()
}
