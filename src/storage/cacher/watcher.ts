import type { StorageEvent, StorageWatchOptions } from '../interface.ts'
import { EventView } from './event-view.ts'

/** One watch: what it sees, and the way out to its consumer. */
export class Watcher {
  readonly options: StorageWatchOptions
  readonly view: EventView
  /** Events up to this revision are not for it. */
  from: number
  done = false
  /** A bookmark follows what is being sent. */
  bookmarkDue = false
  private readonly limit: number
  private readonly onDone: (watcher: Watcher) => void
  /** Live events wait here while the consumer, or the state that comes first, holds them back. */
  private backlog: StorageEvent[] = []
  private holding: boolean

  constructor(options: StorageWatchOptions, from: number, setup: { limit: number; holding: boolean; onDone(watcher: Watcher): void }) {
    this.options = options
    this.view = new EventView(options)
    this.from = from
    this.limit = setup.limit
    this.holding = setup.holding
    this.onDone = setup.onDone
  }

  /** Sends events of its view, in order, up to revision `upTo`; a watch that began after the first of them leaves out what it has already. */
  give(events: readonly StorageEvent[], upTo: number): void {
    if (this.done) return
    const { from } = this
    this.send(revisionOf(events[0] as StorageEvent) > from ? events : events.filter((e) => revisionOf(e) > from))
    if (!this.bookmarkDue || upTo < from) return
    this.bookmarkDue = false
    this.send([{ type: 'BOOKMARK', resourceVersion: upTo }])
  }

  send(events: readonly StorageEvent[]): void {
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

  private call(events: readonly StorageEvent[]): unknown {
    try {
      return this.options.onEvents(events)
    } catch (e) {
      this.close(e instanceof Error ? e : new Error(String(e)))
      return undefined
    }
  }

  private deliver(events: readonly StorageEvent[]): void {
    const answer = this.call(events)
    if (!(answer instanceof Promise)) return
    this.holding = true
    answer.then(
      () => this.release(),
      (e) => this.close(e instanceof Error ? e : new Error(String(e))),
    )
  }
}

function revisionOf(event: StorageEvent): number {
  return event.type === 'BOOKMARK' ? event.resourceVersion : event.object.resourceVersion
}
