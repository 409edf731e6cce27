import type { Clock } from './clock.ts'

/** Exponential back-off per key: initial, 2x, 4x … up to max; a key that rested for `resetAfterMs` starts anew. All in ms. */
export class Backoff {
  private readonly entries = new Map<string, { delay: number; last: number }>()
  private readonly clock: Pick<Clock, 'monotonic'>
  private readonly initialMs: number
  private readonly maxMs: number
  private readonly resetAfterMs: number

  constructor(clock: Pick<Clock, 'monotonic'>, options: { initialMs: number; maxMs: number; resetAfterMs?: number }) {
    this.clock = clock
    this.initialMs = options.initialMs
    this.maxMs = options.maxMs
    this.resetAfterMs = options.resetAfterMs ?? 2 * options.maxMs
  }

  /** Notes one more failure of `key` and returns the delay it now has. */
  next(key: string): number {
    const now = this.clock.monotonic()
    const entry = this.entries.get(key)
    const fresh = !entry || now - entry.last > this.resetAfterMs
    const delay = fresh ? this.initialMs : Math.min(entry.delay * 2, this.maxMs)
    this.entries.set(key, { delay, last: now })
    return delay
  }

  /** The delay of `key` as last computed, 0 when it has none. */
  get(key: string): number {
    return this.entries.get(key)?.delay ?? 0
  }

  /** How many ms of the current delay are still to wait at this moment. */
  remaining(key: string): number {
    const entry = this.entries.get(key)
    return entry ? Math.max(0, entry.last + entry.delay - this.clock.monotonic()) : 0
  }

  reset(key: string): void {
    this.entries.delete(key)
  }

  /** Forgets keys that rested long enough; call it now and then so that the table stays bounded. */
  gc(): void {
    const now = this.clock.monotonic()
    for (const [key, entry] of this.entries) if (now - entry.last > this.resetAfterMs) this.entries.delete(key)
  }
}
