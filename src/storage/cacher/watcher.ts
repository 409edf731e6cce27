import type { StorageEvent, StorageWatchOptions, StoredObject } from '../interface.ts'
import { nameOfKey, scope } from '../object-storage.ts'
import type { CacheEvent } from './event-ring.ts'

/** One watch: its scope and filter, and the way out to its consumer. */
export class Watcher {
  readonly options: StorageWatchOptions
  readonly start: string
  readonly end: string
  /** Events up to this revision are not for it. */
  from: number
  done = false
  private readonly named: string | undefined
  private readonly limit: number
  private readonly onDone: (watcher: Watcher) => void
  /** Live events wait here while the consumer, or the state that comes first, holds them back. */
  private backlog: StorageEvent[] = []
  private holding: boolean
  private batch: StorageEvent[] = []

  constructor(options: StorageWatchOptions, from: number, setup: { limit: number; holding: boolean; onDone(watcher: Watcher): void }) {
    this.options = options
    const range = scope(options)
    this.start = range.start
    this.end = range.end
    this.named = options.name !== undefined && !options.namespace ? options.name : undefined
    this.from = from
    this.limit = setup.limit
    this.holding = setup.holding
    this.onDone = setup.onDone
  }

  covers(key: string): boolean {
    return key >= this.start && (this.end === '\0' || key < this.end) && (this.named === undefined || nameOfKey(key) === this.named)
  }

  accepts(object: StoredObject): boolean {
    return !this.options.filter || this.options.filter(object)
  }

  /** The event as this watch sees it; undefined when it does not. */
  see(event: CacheEvent): StorageEvent | undefined {
    if (event.revision <= this.from || !this.covers(event.key)) return undefined
    const had = event.previous !== undefined && this.accepts(event.previous)
    const has = event.object !== undefined && this.accepts(event.object)
    return event.as(had, has)
  }

  /** Adds to the batch that `flush` sends. @returns true when it is the batch's first */
  collect(event: StorageEvent): boolean {
    return this.batch.push(event) === 1
  }

  flush(): void {
    const { batch } = this
    this.batch = []
    this.send(batch)
  }

  send(events: StorageEvent[]): void {
    if (this.done || events.length === 0) return
    if (!this.holding) {
      this.deliver(events)
      return
    }
    if (this.backlog.length + events.length > this.limit) {
      // A consumer that does not keep up starts again from where it is.
      this.close()
      return
    }
    for (const event of events) this.backlog.push(event)
  }

  /** Hands events of the starting state over, past the backlog; resolves when the consumer took them. */
  async sendFirst(events: StorageEvent[]): Promise<void> {
    if (this.done || events.length === 0) return
    await this.call(events)
  }

  /** The starting state is out: what came meanwhile follows. */
  release(): void {
    this.holding = false
    const { backlog } = this
    this.backlog = []
    if (backlog.length > 0) this.send(backlog)
  }

  close(error?: Error): void {
    if (this.done) return
    this.stop()
    this.options.onClose(error)
  }

  stop(): void {
    if (this.done) return
    this.done = true
    this.backlog = []
    this.onDone(this)
  }

  private call(events: StorageEvent[]): unknown {
    try {
      return this.options.onEvents(events)
    } catch (e) {
      this.close(e instanceof Error ? e : new Error(String(e)))
      return undefined
    }
  }

  private deliver(events: StorageEvent[]): void {
    const answer = this.call(events)
    if (!(answer instanceof Promise)) return
    this.holding = true
    answer.then(
      () => this.release(),
      (e) => this.close(e instanceof Error ? e : new Error(String(e))),
    )
  }
}
