import type { WatchBody } from './api-request.ts'

export interface WatchObserver {
  /** Told how many events go out. */
  onEvents?(count: number): void
  onEnd(): void
}

/** The same watch, with somebody told when it starts, sends and ends. @param begin is given what stops the watch */
export function observedWatch(watch: WatchBody, begin: (stop: () => void) => WatchObserver): WatchBody {
  return {
    start(sink) {
      let stop = () => {}
      const observer = begin(() => stop())
      const handle = watch.start({
        write: (frames, events) => {
          observer.onEvents?.(events ?? 1)
          return sink.write(frames, events)
        },
        drained: () => sink.drained?.(),
        ...(sink.events
          ? {
              events: (events) => {
                observer.onEvents?.(events.length)
                sink.events?.(events)
              },
            }
          : {}),
        end: () => {
          observer.onEnd()
          sink.end()
        },
      })
      stop = () => handle.stop()
      return handle
    },
  }
}
