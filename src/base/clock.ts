/**
 * Time as a dependency. Everything that reads a clock or sets a timer takes a `Clock`; production passes
 * `systemClock()`, tests and simulations a `VirtualClock` whose time moves only when told.
 */
export interface Timer {
  /** Stops the timer; calling it twice, or after it fired, does nothing. */
  cancel(): void
}

export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch; fractions allowed (microsecond timestamps use them). */
  now(): number
  /** Milliseconds since an arbitrary start; never goes backwards. For durations. */
  monotonic(): number
  /** Runs `fn` once after `ms`. Does not keep the process alive on its own account: units decide that by their signal. */
  setTimeout(fn: () => void, ms: number): Timer
  setInterval(fn: () => void, ms: number): Timer
  /** Resolves after `ms`; rejects with the signal's reason when aborted before. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * A timer for judging lateness (probes, leases, watches): when it is due it first lets one poll phase pass, so that
   * answers which have already arrived are seen before somebody is declared late.
   */
  deadline(fn: () => void, ms: number): Timer
  /** Makes pending work known to the clock, so that a virtual clock can tell "settled" from "waiting for time". */
  track<T>(work: Promise<T>): Promise<T>
}

/** A sleep built on any clock's `setTimeout`; shared by the implementations. */
export function sleepOn(clock: Pick<Clock, 'setTimeout'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
