import type { Clock } from '../../base/index.ts'

/** Says how long an item that failed has to wait. */
export interface RateLimiter {
  /** Notes one more failure and returns the delay in ms. */
  when(item: string): number
  /** The item succeeded, or nobody tries it any more. */
  forget(item: string): void
  requeues(item: string): number
}

/** base·2^failures, up to max, per item. */
export class ExponentialLimiter implements RateLimiter {
  private readonly failures = new Map<string, number>()
  private readonly baseMs: number
  private readonly maxMs: number

  constructor(baseMs: number, maxMs: number) {
    this.baseMs = baseMs
    this.maxMs = maxMs
  }

  when(item: string): number {
    const failures = this.failures.get(item) ?? 0
    this.failures.set(item, failures + 1)
    return Math.min(this.baseMs * 2 ** failures, this.maxMs)
  }

  forget(item: string): void {
    this.failures.delete(item)
  }

  requeues(item: string): number {
    return this.failures.get(item) ?? 0
  }
}

/** One bucket for all items: `qps` a second, `burst` at once; each call takes a token, if need be of the future. */
export class BucketLimiter implements RateLimiter {
  private readonly clock: Pick<Clock, 'monotonic'>
  private readonly qps: number
  private readonly burst: number
  private tokens: number
  private last: number

  constructor(clock: Pick<Clock, 'monotonic'>, qps: number, burst: number) {
    this.clock = clock
    this.qps = qps
    this.burst = burst
    this.tokens = burst
    this.last = clock.monotonic()
  }

  when(): number {
    const now = this.clock.monotonic()
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.last) / 1000) * this.qps)
    this.last = now
    this.tokens -= 1
    return this.tokens >= 0 ? 0 : (-this.tokens / this.qps) * 1000
  }

  /** Takes a token only when one is there. */
  tryTake(): boolean {
    const now = this.clock.monotonic()
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.last) / 1000) * this.qps)
    this.last = now
    if (this.tokens < 1) return false
    this.tokens -= 1
    return true
  }

  forget(): void {}

  requeues(): number {
    return 0
  }
}

/** The longest delay of several limiters. */
export class MaxOfLimiter implements RateLimiter {
  private readonly limiters: readonly RateLimiter[]

  constructor(...limiters: RateLimiter[]) {
    this.limiters = limiters
  }

  when(item: string): number {
    return Math.max(...this.limiters.map((l) => l.when(item)))
  }

  forget(item: string): void {
    for (const l of this.limiters) l.forget(item)
  }

  requeues(item: string): number {
    return Math.max(...this.limiters.map((l) => l.requeues(item)))
  }
}

/** 5 ms·2^n up to 1000 s per item, and 10 a second with bursts of 100 over all. */
export function defaultLimiter(clock: Pick<Clock, 'monotonic'>): RateLimiter {
  return new MaxOfLimiter(new ExponentialLimiter(5, 1_000_000), new BucketLimiter(clock, 10, 100))
}
