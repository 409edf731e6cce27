import type { StorageEvent } from '../interface.ts'
import type { StoredJson } from '../stored-json.ts'

/** One change of one object, as all watches see it before their filters. Its StorageEvents are made at most once each and shared by all. */
export class CacheEvent {
  readonly revision: number
  readonly key: string
  /** The state after it; undefined: deleted. */
  readonly object: StoredJson | undefined
  readonly previous: StoredJson | undefined
  /** Monotonic ms. */
  readonly time: number
  private added: StorageEvent | undefined = undefined
  private modified: StorageEvent | undefined = undefined
  private deleted: StorageEvent | undefined = undefined

  constructor(init: { revision: number; key: string; object: StoredJson | undefined; previous: StoredJson | undefined; time: number }) {
    this.revision = init.revision
    this.key = init.key
    this.object = init.object
    this.previous = init.previous
    this.time = init.time
  }

  /** The event for a watch whose filter took the state before (`had`) and takes the one after (`has`). A watch that is left sees the old state at the new revision. */
  as(had: boolean, has: boolean): StorageEvent | undefined {
    if (has && this.object) {
      if (had) return (this.modified ??= { type: 'MODIFIED', object: this.object })
      return (this.added ??= { type: 'ADDED', object: this.object })
    }
    if (had && this.previous) return (this.deleted ??= { type: 'DELETED', object: this.previous.at(this.revision) })
    return undefined
  }
}

/** The newest events, so that a watch can start in the past. Old ones go when there are many, young ones only when there are too many. */
export class EventRing {
  private events: CacheEvent[] = []
  private head = 0
  /** Everything after this revision is here. */
  private base: number
  private readonly minimum: number
  private readonly maximum: number
  private readonly keepMs: number

  constructor(base: number, options: { minimum: number; maximum: number; keepMs: number }) {
    this.base = base
    this.minimum = options.minimum
    this.maximum = options.maximum
    this.keepMs = options.keepMs
  }

  get size(): number {
    return this.events.length - this.head
  }

  /** A watch can start after any revision from this one on. */
  get oldest(): number {
    return this.base
  }

  get newest(): number {
    return this.size === 0 ? this.base : (this.events[this.events.length - 1] as CacheEvent).revision
  }

  push(event: CacheEvent): void {
    this.events.push(event)
    while (this.size > this.minimum) {
      const first = this.events[this.head] as CacheEvent
      if (this.size <= this.maximum && event.time - first.time < this.keepMs) break
      this.events[this.head++] = undefined as never
      // Events of one revision stand and fall together.
      this.base = first.revision
    }
    if (this.head > 1024 && this.head * 2 > this.events.length) {
      this.events = this.events.slice(this.head)
      this.head = 0
    }
  }

  /** The events after `revision`, oldest first. */
  after(revision: number): CacheEvent[] {
    let lo = this.head
    let hi = this.events.length
    while (lo < hi) {
      const mid = (lo + hi) >> 1
      if ((this.events[mid] as CacheEvent).revision <= revision) lo = mid + 1
      else hi = mid
    }
    return this.events.slice(lo)
  }
}
