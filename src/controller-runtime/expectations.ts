import type { Clock } from '../base/index.ts'

const TIMEOUT_MS = 5 * 60_000

interface Expected {
  creations: number
  deletions: Set<string>
  at: number
}

/**
 * What a controller has asked for and not yet seen in its informers: while something is outstanding it must not create or
 * delete more. Outstanding things are given up after five minutes, since an event may have been missed.
 */
export class Expectations {
  private readonly clock: Pick<Clock, 'monotonic'>
  private readonly byOwner = new Map<string, Expected>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock
  }

  satisfied(owner: string): boolean {
    const e = this.byOwner.get(owner)
    return !e || (e.creations <= 0 && e.deletions.size === 0) || this.clock.monotonic() - e.at > TIMEOUT_MS
  }

  /** Replaces what was expected before. */
  expect(owner: string, creations: number, deletions: Iterable<string> = []): void {
    this.byOwner.set(owner, { creations, deletions: new Set(deletions), at: this.clock.monotonic() })
  }

  creationSeen(owner: string, count = 1): void {
    const e = this.byOwner.get(owner)
    if (e) e.creations -= count
  }

  /** @param id the key or uid given to `expect`; others are ignored */
  deletionSeen(owner: string, id: string): void {
    this.byOwner.get(owner)?.deletions.delete(id)
  }

  forget(owner: string): void {
    this.byOwner.delete(owner)
  }
}
