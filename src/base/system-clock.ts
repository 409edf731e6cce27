import { type Clock, sleepOn, type Timer } from './clock.ts'

const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** The machine's own time. */
export function systemClock(): Clock {
  const clock: Clock = {
    now: () => performance.timeOrigin + performance.now(),
    monotonic: () => performance.now(),
    setTimeout(fn, ms): Timer {
      if (ms > MAX_TIMEOUT_MS) {
        // Longer than the platform's timers can count: wait in stages.
        let inner = setTimeout(() => {
          inner = undefined as never
          stage = clock.setTimeout(fn, ms - MAX_TIMEOUT_MS)
        }, MAX_TIMEOUT_MS)
        let stage: Timer | undefined
        return {
          cancel: () => {
            if (inner) clearTimeout(inner)
            stage?.cancel()
          },
        }
      }
      const handle = setTimeout(fn, ms)
      return { cancel: () => clearTimeout(handle) }
    },
    setInterval(fn, ms): Timer {
      const handle = setInterval(fn, ms)
      return { cancel: () => clearInterval(handle) }
    },
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    deadline(fn, ms): Timer {
      let cancelled = false
      const first = clock.setTimeout(() => {
        // Timers run before the poll phase; a zero timer set now fires only after sockets were polled once.
        second = clock.setTimeout(() => {
          if (!cancelled) fn()
        }, 0)
      }, ms)
      let second: Timer | undefined
      return {
        cancel: () => {
          cancelled = true
          first.cancel()
          second?.cancel()
        },
      }
    },
    track: (work) => work,
  }
  return clock
}
