import { CompactedError, type KeyValue, type KVEvent, type KVWatch, type WatchRequest } from '../kv.ts'
import { inRange, rangeEnd, withoutValue } from './evaluate.ts'
import type { Entry, Row } from './row.ts'

/** What the watches read: the entries that are visible and still kept. */
export interface Timeline {
  readonly revision: number
  readonly compactedRevision: number
  /** Undefined below the oldest entry in memory and above the revision. */
  entry(revision: number): Entry | undefined
  /** Brings older entries into memory. */
  hydrate(): Promise<void>
  keyValue(row: Row): KeyValue
}

/** A continuation of it is a microtask, and a cheaper one than queueMicrotask's. */
const RESOLVED = Promise.resolve()

/** Entries per watch before other work gets its turn. */
const STEP = 500
/** Bytes of values per batch, likewise; one revision is never split. */
const STEP_BYTES = 1024 * 1024

interface Watcher {
  readonly request: WatchRequest
  readonly end: string
  /** The next revision to look at. */
  next: number
  busy: boolean
  /** It has asked for older entries; what is missing then is gone. */
  hydrated: boolean
  done: boolean
  waiting: ((revision: number) => void)[]
}

function concerned({ request, end }: Watcher, keys: readonly string[]): boolean {
  for (const key of keys) if (inRange(key, request.key, end)) return true
  return false
}

/** Carries each visible revision to each watch, once and in order; a watch from the past catches up in steps. */
export class WatchHub {
  private readonly timeline: Timeline
  private readonly watchers = new Set<Watcher>()
  private scheduled = false

  /** Everything up to here has been shown to all watches that were there. */
  private shown = 0
  private readonly pumpAll = () => {
    this.scheduled = false
    const { revision, compactedRevision } = this.timeline
    const next = this.shown + 1
    const keys = this.keysFrom(next, revision)
    this.shown = revision
    for (const watcher of this.watchers) {
      // Most watches are up to date and have nothing to do with what is new.
      if (keys && watcher.next === next && next >= compactedRevision && !watcher.busy && !watcher.done && !concerned(watcher, keys)) {
        watcher.next = revision + 1
        if (watcher.waiting.length > 0) this.settle(watcher)
      } else this.pump(watcher)
    }
  }

  /** Keys written from one revision to another; undefined when they are many or no longer known. */
  private keysFrom(from: number, to: number): string[] | undefined {
    if (to - from >= STEP) return undefined
    const keys: string[] = []
    for (let revision = from; revision <= to; revision++) {
      const entry = this.timeline.entry(revision)
      if (!entry) return undefined
      for (const write of entry.writes) keys.push(write.row.key)
    }
    return keys
  }

  constructor(timeline: Timeline) {
    this.timeline = timeline
  }

  get size(): number {
    return this.watchers.size
  }

  watch(request: WatchRequest): KVWatch {
    const start = request.startRevision ? request.startRevision : this.timeline.revision + 1
    const watcher: Watcher = { request, end: rangeEnd(request.key, request.end), next: start, busy: false, hydrated: false, done: false, waiting: [] }
    this.watchers.add(watcher)
    if (watcher.next <= this.timeline.revision) queueMicrotask(() => this.pump(watcher))
    return {
      cancel: () => this.finish(watcher),
      progress: () => {
        if (watcher.done || watcher.next > this.timeline.revision) return Promise.resolve(this.timeline.revision)
        return new Promise((resolve) => watcher.waiting.push(resolve))
      },
    }
  }

  /** To be called whenever the timeline has grown. */
  notify(): void {
    if (this.scheduled || this.watchers.size === 0) return
    this.scheduled = true
    RESOLVED.then(this.pumpAll)
  }

  close(error: Error): void {
    for (const watcher of [...this.watchers]) {
      this.finish(watcher)
      watcher.request.onClose?.({ error })
    }
  }

  private finish(watcher: Watcher): void {
    watcher.done = true
    this.watchers.delete(watcher)
    this.settle(watcher)
  }

  private settle(watcher: Watcher): void {
    const { waiting } = watcher
    if (waiting.length === 0) return
    watcher.waiting = []
    for (const resolve of waiting) resolve(this.timeline.revision)
  }

  private pump(watcher: Watcher): void {
    if (watcher.busy || watcher.done) return
    const { timeline } = this
    if (watcher.next < timeline.compactedRevision) {
      this.compacted(watcher)
      return
    }
    const { request, end } = watcher
    const single = request.end === undefined || request.end === ''
    const target = timeline.revision
    const events: KVEvent[] = []
    let bytes = 0
    let pause: Promise<unknown> | undefined
    try {
      for (let steps = 0; watcher.next <= target; steps++) {
        if (steps >= STEP || bytes >= STEP_BYTES) {
          pause = new Promise((resolve) => setImmediate(resolve))
          break
        }
        const entry = timeline.entry(watcher.next)
        if (!entry) {
          if (watcher.hydrated) throw new CompactedError(timeline.compactedRevision)
          watcher.hydrated = true
          pause = timeline.hydrate()
          break
        }
        watcher.next++
        for (const write of entry.writes) {
          if (single ? write.row.key !== request.key : !inRange(write.row.key, request.key, end)) continue
          const event: KVEvent = {
            type: write.type,
            kv: write.type === 'delete' ? withoutValue(write.row) : timeline.keyValue(write.row),
            ...(request.prevKv && write.prev ? this.previous(write.prev) : {}),
          }
          bytes += event.kv.value.length + (event.prev?.value.length ?? 0)
          events.push(event)
        }
      }
    } catch (e) {
      if (e instanceof CompactedError) this.compacted(watcher)
      else this.fail(watcher, e)
      return
    }
    if (events.length > 0) {
      const taken = request.onEvents({ revision: watcher.next - 1, events })
      if (taken instanceof Promise) pause = pause ? Promise.all([pause, taken]) : taken
    }
    if (pause && !watcher.done) this.later(watcher, pause)
    if (watcher.next > timeline.revision) this.settle(watcher)
  }

  /** Nothing when compaction has taken it. */
  private previous(row: Row): { prev?: KeyValue } {
    try {
      return { prev: this.timeline.keyValue(row) }
    } catch (e) {
      if (e instanceof CompactedError) return {}
      throw e
    }
  }

  private later(watcher: Watcher, work: Promise<unknown>): void {
    watcher.busy = true
    const again = () => {
      watcher.busy = false
      this.pump(watcher)
    }
    work.then(again, (e) => {
      watcher.busy = false
      if (!watcher.done) this.fail(watcher, e)
    })
  }

  private fail(watcher: Watcher, e: unknown): void {
    this.finish(watcher)
    watcher.request.onClose?.({ error: e instanceof Error ? e : new Error(String(e)) })
  }

  private compacted(watcher: Watcher): void {
    this.finish(watcher)
    watcher.request.onClose?.({ compactRevision: this.timeline.compactedRevision })
  }
}
