import { type Clock, sleepOn, type Timer } from './clock.ts'
import { Heap } from './heap.ts'

interface Entry {
  at: number
  order: number
  fn: () => void
  cancelled: boolean
}

/** How many macrotask turns in a row must pass without tracked work before the clock counts as settled. */
const QUIET_TURNS = 3
/** Upper bound of timers fired by one `advance`, so that a loop that never sleeps is an error instead of a hang. */
const MAX_FIRED = 10_000_000

/** A clock that stands still until it is advanced. Timers fire in order of time, then of setting. */
export class VirtualClock implements Clock {
  private time: number
  private readonly start: number
  private order = 0
  private pending = 0
  private readonly timers = new Heap<Entry>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))

  /** @param startMs the first `now()`, in milliseconds since the epoch @default 2026-01-01T00:00:00Z */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.time = startMs
    this.start = startMs
  }

  now(): number {
    return this.time
  }

  monotonic(): number {
    return this.time - this.start
  }

  setTimeout(fn: () => void, ms: number): Timer {
    const entry: Entry = { at: this.time + Math.max(0, ms), order: this.order++, fn, cancelled: false }
    this.timers.push(entry)
    return {
      cancel: () => {
        entry.cancelled = true
      },
    }
  }

  setInterval(fn: () => void, ms: number): Timer {
    let timer: Timer
    const again = () => {
      timer = this.setTimeout(again, ms)
      fn()
    }
    timer = this.setTimeout(again, ms)
    return { cancel: () => timer.cancel() }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal)
  }

  deadline(fn: () => void, ms: number): Timer {
    return this.setTimeout(fn, ms)
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.pending++
    const done = () => {
      this.pending--
    }
    work.then(done, done)
    return work
  }

  /** The time of the next timer, or undefined when none is set. */
  nextTimer(): number | undefined {
    for (;;) {
      const next = this.timers.peek()
      if (!next) return undefined
      if (!next.cancelled) return next.at
      this.timers.pop()
    }
  }

  /** Number of timers that are set and not cancelled. */
  timerCount(): number {
    this.timers.removeWhere((t) => t.cancelled)
    return this.timers.size
  }

  /** Lets everything that needs no time run to its end. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      quiet = this.pending === 0 ? quiet + 1 : 0
    }
  }

  /** Moves time forward by `ms`, firing each timer at its own time and settling after each. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms
    await this.settle()
    for (let fired = 0; ; fired++) {
      if (fired > MAX_FIRED) throw new Error(`virtual clock: more than ${MAX_FIRED} timers fired within ${ms} ms`)
      const at = this.nextTimer()
      if (at === undefined || at > end) break
      this.time = Math.max(this.time, at)
      this.timers.pop()?.fn()
      await this.settle()
    }
    this.time = end
  }

  /** Advances from timer to timer until `condition` holds; throws after `limitMs` of virtual time. */
  async advanceUntil(condition: () => boolean | Promise<boolean>, limitMs = 3_600_000): Promise<void> {
    const end = this.time + limitMs
    await this.settle()
    while (!(await condition())) {
      const at = this.nextTimer()
      if (at === undefined || at > end) throw new Error(`virtual clock: condition not met within ${limitMs} ms`)
      await this.advance(at - this.time)
    }
  }
}
