import type { Clock, Timer } from '../../base/clock.ts'
import { yielder } from '../../base/yielder.ts'
import type { StorageEvent } from '../interface.ts'
import type { Watcher } from './watcher.ts'
import type { WatcherGroup } from './watcher-group.ts'

/** Watches served before the clock is looked at. */
const STEP = 16
/** A round shorter than this is followed by the next at once. */
const SHORT_MS = 0.5
/** How much longer than the round its rest is, and the longest rest. */
const REST = 2
const REST_MS = 20

/**
 * Hands events to groups of watches in rounds: at once when there is time, in slices when there are many watches. After a round it rests
 * for twice as long as that took, so that telling takes no more than a third of the loop and what comes meanwhile goes out in one piece; an
 * event that comes alone never waits.
 */
export class FanOut {
  private readonly clock: Clock
  private readonly revision: () => number
  private touched: WatcherGroup[] = []
  private running = false
  private restUntil = 0
  private rest: Timer | undefined

  /** @param revision up to which all events have been added */
  constructor(clock: Clock, revision: () => number) {
    this.clock = clock
    this.revision = revision
  }

  add(group: WatcherGroup, event: StorageEvent): void {
    if (group.push(event)) this.touched.push(group)
  }

  /** Sends what was added: now, or after the round or the rest that is under way. */
  flush(): void {
    if (this.running || this.rest || this.touched.length === 0) return
    const wait = this.restUntil - this.clock.monotonic()
    if (wait <= 0) {
      void this.round()
      return
    }
    this.rest = this.clock.setTimeout(() => {
      this.rest = undefined
      void this.round()
    }, wait)
  }

  /** Sends a bookmark as of now, after the events that are under way to its watch. */
  bookmark(watcher: Watcher, group: WatcherGroup | undefined): void {
    if (group?.isBehind) watcher.bookmarkDue = true
    else watcher.send([{ type: 'BOOKMARK', resourceVersion: this.revision() }])
  }

  /** Forgets what is not sent yet. */
  clear(): void {
    for (const group of this.touched) group.take()
    this.touched = []
    this.rest?.cancel()
    this.rest = undefined
  }

  private async round(): Promise<void> {
    this.running = true
    const tick = yielder()
    const groups = this.touched
    this.touched = []
    let spent = 0
    let since = this.clock.monotonic()
    let served = 0
    try {
      for (const group of groups) {
        const events = group.take()
        if (events.length === 0) continue
        const upTo = this.revision()
        group.delivering = true
        for (const watcher of group.members()) {
          watcher.give(events, upTo)
          if (++served % STEP !== 0) continue
          const pause = tick()
          if (!pause) continue
          spent += this.clock.monotonic() - since
          await pause
          since = this.clock.monotonic()
        }
        group.delivering = false
      }
    } finally {
      this.running = false
    }
    const now = this.clock.monotonic()
    spent += now - since
    this.restUntil = spent < SHORT_MS ? 0 : now + Math.min(spent * REST, REST_MS)
    this.flush()
  }
}
