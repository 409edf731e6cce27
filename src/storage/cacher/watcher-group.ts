import type { StorageEvent } from '../interface.ts'
import type { EventView } from './event-view.ts'
import type { Watcher } from './watcher.ts'

/** Watches with the same view: an event is judged once for all of them, and all are given the same array of events. */
export class WatcherGroup {
  readonly view: EventView
  /** Events are being handed out. */
  delivering = false
  private pending: StorageEvent[] = []
  private readonly watchers = new Set<Watcher>()
  private list: readonly Watcher[] | undefined

  constructor(view: EventView) {
    this.view = view
  }

  get size(): number {
    return this.watchers.size
  }

  /** Events have not reached all watches yet. */
  get isBehind(): boolean {
    return this.delivering || this.pending.length > 0
  }

  add(watcher: Watcher): void {
    this.watchers.add(watcher)
    this.list = undefined
  }

  remove(watcher: Watcher): void {
    this.watchers.delete(watcher)
    this.list = undefined
  }

  /** The watches as of now. */
  members(): readonly Watcher[] {
    this.list ??= [...this.watchers]
    return this.list
  }

  /** @returns true when it is the first that waits */
  push(event: StorageEvent): boolean {
    return this.pending.push(event) === 1
  }

  /** What waits, to be handed out. */
  take(): readonly StorageEvent[] {
    const { pending } = this
    this.pending = []
    return pending
  }
}
