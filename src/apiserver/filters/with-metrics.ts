import type { Clock } from '../../base/clock.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { ApiResponse, WatchBody } from '../request/api-request.ts'
import type { Handler, RequestContext } from '../request/context.ts'

/** Counts requests, their time and what is still running. Paths nobody serves count as one. */
export function withMetrics(next: Handler, metrics: RequestMetrics, clock: Clock): Handler {
  return async (context) => {
    const response = await next(context)
    metrics.observe(context, response, (clock.monotonic() - context.start) / 1000)
    if (response.watch) response.watch = counted(response.watch, metrics, context)
    else if (context.longRunning) endWithStream(response, metrics.began(context))
    return response
  }
}

function counted(watch: WatchBody, metrics: RequestMetrics, context: RequestContext): WatchBody {
  return {
    start(sink) {
      const ended = metrics.began(context)
      const handle = watch.start({
        write: (frames) => {
          metrics.sentEvents(context.info, 1)
          return sink.write(frames)
        },
        ...(sink.events
          ? {
              events: (events) => {
                metrics.sentEvents(context.info, events.length)
                sink.events?.(events)
              },
            }
          : {}),
        end: () => {
          ended()
          sink.end()
        },
      })
      return handle
    },
  }
}

function endWithStream(response: ApiResponse, ended: () => void): void {
  if (response.stream) response.stream.once('close', ended)
  else ended()
}
