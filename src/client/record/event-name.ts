import type { Clock, Random } from '../../base/index.ts'

/** Makes names of events: `{object}.{16 hex digits of the time in ns}`, growing with each call. */
export class EventNamer {
  private readonly clock: Pick<Clock, 'now'>
  private readonly random: Random
  private last = 0n

  constructor(clock: Pick<Clock, 'now'>, random: Random) {
    this.clock = clock
    this.random = random
  }

  next(objectName: string): string {
    // The platform's clock has no nanoseconds; chance fills them, so that recorders do not take each other's names.
    let ns = BigInt(Math.floor(this.clock.now())) * 1_000_000n + BigInt(this.random.int(1_000_000))
    if (ns <= this.last) ns = this.last + 1n
    this.last = ns
    return `${objectName}.${ns.toString(16)}`
  }
}
