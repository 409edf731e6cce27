import { newExpired, newInternalError, newTooLargeResourceVersion, newTooManyRequests } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { Backoff } from '../../base/backoff.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { yielder } from '../../base/yielder.ts'
import type { ObjectStorage, StorageEvent, StorageList, StorageListOptions, StorageWatch, StorageWatchOptions, StoredObject, WriteMeta } from '../interface.ts'
import { type KV, type KVEvent, type KVWatch, prefixEnd } from '../kv/kv.ts'
import { createObjectStorage, type KVObjectStorage, nameOfKey, scope } from '../object-storage.ts'
import { SortedMap } from '../sorted-map.ts'
import type { StoredJson } from '../stored-json.ts'
import { CacheEvent, EventRing } from './event-ring.ts'
import { FanOut } from './fan-out.ts'
import { Snapshots } from './snapshots.ts'
import { Watcher } from './watcher.ts'
import { type Indexer, WatcherIndex } from './watcher-index.ts'

export interface CacherOptions {
  /** `/registry/pods`. */
  prefix: string
  clock: Clock
  ttlSeconds?: number
  /** Values by which many narrow watches are told apart, such as a Pod's `spec.nodeName`. */
  indexers?: Record<string, Indexer>
  /** How many events a watch may be behind before it is closed. @default 10_000 */
  watchBuffer?: number
  /** Events kept for watches from the past: at least `minimum`, young ones (`keepMs`) up to `maximum`. @default { minimum: 1000, maximum: 20_000, keepMs: 75_000 } */
  history?: { minimum?: number; maximum?: number; keepMs?: number }
}

/** How long a request waits for the cache to reach the resourceVersion it asked for. */
const FRESH_WAIT_MS = 3000
const BOOKMARK_MS = 57_000
/** How long before the end of a watch its last bookmark is sent. */
const BOOKMARK_BEFORE_END_MS = 2000
/** Objects handled before the clock is looked at. */
const STEP = 512
/** Objects in one batch of a watch's starting state. */
const INITIAL_BATCH = 500
const INITIAL_BATCH_BYTES = 1024 * 1024

interface Loaded {
  rows: SortedMap<StoredJson>
  /** Everything up to here is in `rows`. */
  revision: number
  ring: EventRing
  watch: KVWatch
}

/**
 * The watch cache of one resource: all its objects in memory, kept by one watch of the store, read by any number of clients. It starts
 * when first needed. In-process stores tell their revision for nothing, so that even the newest state is read from here.
 */
export class Cacher implements ObjectStorage {
  readonly storage: KVObjectStorage
  private readonly kv: KV
  private readonly clock: Clock
  private readonly watchers: WatcherIndex
  private readonly fanOut: FanOut
  private readonly snapshots: Snapshots
  private readonly backoff: Backoff
  private readonly options: CacherOptions
  private loaded: Loaded | undefined
  private starting: Promise<Loaded> | undefined
  private failure: Error | undefined
  private downSince: number | undefined
  private readonly waiting = new Set<() => void>()
  private bookmarkTimer: Timer | undefined
  private closed = false
  private readonly aborted = new AbortController()

  constructor(kv: KV, options: CacherOptions) {
    this.kv = kv
    this.options = options
    this.clock = options.clock
    this.storage = createObjectStorage(kv, options)
    this.watchers = new WatcherIndex(new Map(Object.entries(options.indexers ?? {})))
    this.fanOut = new FanOut(options.clock, () => this.loaded?.revision ?? 0)
    this.snapshots = new Snapshots(options.clock)
    this.backoff = new Backoff(options.clock, { initialMs: 100, maxMs: 10_000 })
  }

  /** Whether the cache can be read; does not start it. */
  get isReady(): boolean {
    return this.loaded !== undefined
  }

  /** How many watches are served. */
  get watchCount(): number {
    return this.watchers.size
  }

  /** Loads the cache when that has not been done; resolves when it can be read. */
  async ready(): Promise<void> {
    await this.load()
  }

  async create(key: string, object: KubeObject, options?: WriteMeta): Promise<StoredObject> {
    return this.adopt(await this.storage.create(key, object, options))
  }

  async update(
    key: string,
    update: (current: StoredObject | undefined) => Promise<KubeObject | 'keep'> | KubeObject | 'keep',
    options?: WriteMeta,
  ): Promise<StoredObject> {
    const current = this.loaded?.rows.get(key)
    return this.adopt(await this.storage.update(key, update, { ...options, ...(current ? { current } : {}) }))
  }

  async delete(key: string, check?: (current: StoredObject) => void, options?: WriteMeta): Promise<StoredObject | undefined> {
    const current = this.loaded?.rows.get(key)
    return this.storage.delete(key, check, { ...options, ...(current ? { current } : {}) })
  }

  async get(key: string, resourceVersion?: number): Promise<StoredObject | undefined> {
    const { loaded } = this
    if (!loaded) {
      // Whoever reads one object need not wait for all.
      if (!resourceVersion) return this.storage.get(key)
      await this.load()
    }
    if (resourceVersion === undefined) {
      if (this.kv.remote) {
        const stored = await this.storage.get(key)
        return stored && this.adopt(stored)
      }
      await this.catchUp()
    } else if (resourceVersion > 0) await this.waitFor(resourceVersion)
    return this.now().rows.get(key)
  }

  async list(options: StorageListOptions): Promise<StorageList> {
    const { limit = 0, resourceVersion } = options
    if (options.continue && options.continue.revision > 0) {
      const rows = this.snapshots.get(options.continue.revision)
      return rows ? this.collect(rows, options.continue.revision, options) : this.storage.list(options)
    }
    if (!this.loaded && limit > 0 && !options.filter && !resourceVersion) return this.storage.list(options)
    await this.load()
    const exact = resourceVersion !== undefined && resourceVersion > 0 && (options.match === 'Exact' || (options.match === undefined && limit > 0))
    if (exact) {
      await this.waitFor(resourceVersion)
      const rows = this.rowsAt(resourceVersion)
      return rows ? this.collect(rows, resourceVersion, options) : this.storage.list(options)
    }
    if (resourceVersion === undefined) await this.catchUp()
    else if (resourceVersion > 0) await this.waitFor(resourceVersion)
    const { rows, revision } = this.now()
    return this.collect(rows, revision, resourceVersion === 0 && !options.continue ? { ...options, limit: 0 } : options)
  }

  watch(options: StorageWatchOptions): StorageWatch {
    const start = options.resourceVersion ?? 0
    const withState = options.sendInitialEvents ?? start === 0
    const watcher = new Watcher(options, start, {
      limit: this.options.watchBuffer ?? 10_000,
      holding: true,
      onDone: (w) => {
        this.watchers.remove(w)
        lastBookmark?.cancel()
        if (this.watchers.size === 0) this.stopBookmarks()
      },
    })
    let lastBookmark: Timer | undefined
    if (options.bookmarks && options.timeoutMs !== undefined && options.timeoutMs > BOOKMARK_BEFORE_END_MS) {
      lastBookmark = this.clock.setTimeout(() => void this.bookmark([watcher]), options.timeoutMs - BOOKMARK_BEFORE_END_MS)
    }
    this.begin(watcher, start, withState).catch((e) => watcher.close(e instanceof Error ? e : new Error(String(e))))
    return { stop: () => watcher.stop() }
  }

  async currentRevision(): Promise<number> {
    return this.kv.linearizableRevision ? this.kv.linearizableRevision() : this.kv.revision
  }

  async count(): Promise<number> {
    return this.loaded ? this.loaded.rows.size : this.storage.count()
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.aborted.abort(newInternalError(new Error('apiserver cacher is stopped')))
    this.drop(new Error('apiserver cacher is stopped'))
  }

  /** The cache's own instance of what was just written, so that it is parsed once for all. */
  private adopt(stored: StoredObject): StoredObject {
    const cached = this.loaded?.rows.get(stored.key)
    return cached?.resourceVersion === stored.resourceVersion ? cached : stored
  }

  private now(): Loaded {
    if (!this.loaded) throw this.unavailable()
    return this.loaded
  }

  private unavailable(): Error {
    if (this.closed) return newInternalError(new Error('apiserver cacher is stopped'))
    const seconds = this.downSince === undefined ? 0 : (this.clock.monotonic() - this.downSince) / 1000
    const retryAfter = Math.min(30, Math.max(1, Math.floor(Math.exp(0.06 * seconds))))
    return newTooManyRequests(`storage is (re)initializing${this.failure ? `: ${this.failure.message}` : ''}`, retryAfter)
  }

  private async load(): Promise<Loaded> {
    if (this.loaded) return this.loaded
    if (this.closed || (this.failure && this.starting)) throw this.unavailable()
    if (!this.starting) {
      this.starting = this.run()
      this.starting.catch(() => undefined)
    }
    // The first failure answers everybody who waits; loading goes on.
    return new Promise((resolve, reject) => {
      const check = () => {
        if (this.loaded) resolve(this.loaded)
        else if (this.failure || this.closed) reject(this.unavailable())
        else return
        this.waiting.delete(check)
      }
      this.waiting.add(check)
      check()
    })
  }

  private wake(): void {
    for (const check of [...this.waiting]) check()
  }

  /** Loads until it worked. */
  private async run(): Promise<Loaded> {
    for (;;) {
      try {
        return await this.loadOnce()
      } catch (e) {
        this.failure = e instanceof Error ? e : new Error(String(e))
        this.downSince ??= this.clock.monotonic()
        this.wake()
        if (this.closed) throw e
        await this.clock.sleep(this.backoff.next('load'), this.aborted.signal)
      }
    }
  }

  private async loadOnce(): Promise<Loaded> {
    const { prefix } = this.storage
    const { kvs, revision } = await this.kv.range({ key: prefix, end: prefixEnd(prefix) })
    const items: StoredJson[] = []
    const tick = yielder()
    for (const kv of kvs) {
      items.push(this.storage.stored(kv))
      if (items.length % STEP === 0) await tick()
    }
    if (this.closed) throw this.unavailable()
    const history = this.options.history
    const loaded: Loaded = {
      rows: SortedMap.fromSorted(items),
      revision,
      ring: new EventRing(revision, { minimum: history?.minimum ?? 1000, maximum: history?.maximum ?? 20_000, keepMs: history?.keepMs ?? 75_000 }),
      watch: undefined as never,
    }
    loaded.watch = this.kv.watch({
      key: prefix,
      end: prefixEnd(prefix),
      startRevision: revision + 1,
      onEvents: (batch) => this.apply(loaded, batch.revision, batch.events),
      onClose: ({ error }) => this.lost(loaded, error),
    })
    // In the same turn: a watch that ends at once has to find what it ends.
    this.backoff.reset('load')
    this.failure = undefined
    this.downSince = undefined
    this.loaded = loaded
    this.starting = undefined
    this.wake()
    return loaded
  }

  /** The store ended the watch: everything is read anew, and clients start again. */
  private lost(loaded: Loaded, error: Error | undefined): void {
    if (this.closed || this.loaded !== loaded) return
    this.downSince = this.clock.monotonic()
    this.drop()
    this.failure = error
    this.starting = this.clock.sleep(this.backoff.next('load'), this.aborted.signal).then(() => this.run())
    this.starting.catch(() => undefined)
  }

  private drop(error?: Error): void {
    const { loaded } = this
    this.loaded = undefined
    loaded?.watch.cancel()
    this.fanOut.clear()
    this.snapshots.clear()
    this.stopBookmarks()
    for (const watcher of [...this.watchers.values()]) watcher.close(error)
    this.wake()
  }

  private apply(loaded: Loaded, revision: number, events: readonly KVEvent[]): void {
    const time = this.clock.monotonic()
    for (const { type, kv } of events) {
      const key = kv.key.slice(this.storage.prefix.length)
      const previous = loaded.rows.get(key)
      const object = type === 'put' ? this.storage.stored(kv) : undefined
      if (!object && !previous) continue
      loaded.rows = object ? loaded.rows.set(object) : loaded.rows.delete(key)
      const event = new CacheEvent({ revision: kv.modRevision, key, object, previous, time })
      loaded.ring.push(event)
      if (this.watchers.size === 0) continue
      this.watchers.candidates(event, (group) => {
        const seen = group.view.see(event)
        if (seen) this.fanOut.add(group, seen)
      })
    }
    this.advance(loaded, revision)
    this.fanOut.flush()
  }

  private advance(loaded: Loaded, revision: number): void {
    if (revision <= loaded.revision) return
    loaded.revision = revision
    if (this.waiting.size > 0) this.wake()
  }

  /** Brings the cache to the newest revision of the store. */
  private async catchUp(): Promise<void> {
    const loaded = this.now()
    if (this.kv.remote) {
      const newest = await this.currentRevision()
      while (loaded.revision < newest) {
        if (this.loaded !== loaded) throw this.unavailable()
        this.advance(loaded, await loaded.watch.progress())
      }
      return
    }
    if (loaded.revision < this.kv.revision) this.advance(loaded, await loaded.watch.progress())
  }

  /** Waits until the cache has reached a revision; throws "Too large resource version" when that takes too long. */
  private async waitFor(revision: number): Promise<void> {
    const loaded = this.now()
    if (loaded.revision >= revision) return
    await this.catchUp()
    if (loaded.revision >= revision) return
    await new Promise<void>((resolve, reject) => {
      const check = () => {
        if (this.loaded !== loaded) reject(this.unavailable())
        else if (loaded.revision >= revision) resolve()
        else return
        end()
      }
      const timer = this.clock.deadline(() => {
        end()
        // Writes to other resources move the store on without an event here.
        this.catchUp().then(() => (loaded.revision >= revision ? resolve() : reject(newTooLargeResourceVersion(revision, loaded.revision, 1))), reject)
      }, FRESH_WAIT_MS)
      const end = () => {
        timer.cancel()
        this.waiting.delete(check)
      }
      this.waiting.add(check)
    })
  }

  /** All objects as of `revision`, when the cache can tell. */
  private rowsAt(revision: number): SortedMap<StoredJson> | undefined {
    const { rows, ring } = this.now()
    return revision >= ring.newest ? rows : this.snapshots.get(revision)
  }

  private async collect(rows: SortedMap<StoredJson>, revision: number, options: StorageListOptions): Promise<StorageList> {
    const { limit = 0, filter } = options
    const range = scope(options)
    const named = options.name !== undefined && !options.namespace ? options.name : undefined
    let at = options.continue && options.continue.key > range.start ? options.continue.key : range.start
    if (!filter && named === undefined) {
      const items = rows.slice(at, range.end, limit)
      return this.page(rows, revision, items, items.length === limit ? items[limit - 1]?.key : undefined, range.end, true)
    }
    const items: StoredObject[] = []
    const tick = yielder()
    for (;;) {
      let steps = 0
      let last: string | undefined
      rows.scan(at, range.end, (object) => {
        last = object.key
        if ((named === undefined || nameOfKey(object.key) === named) && (!filter || filter(object))) items.push(object)
        return ++steps < STEP && (limit === 0 || items.length < limit)
      })
      if (limit > 0 && items.length >= limit) return this.page(rows, revision, items, last, range.end, false)
      if (steps < STEP || last === undefined) return { items, resourceVersion: revision }
      at = `${last}\0`
      await tick()
    }
  }

  private page(rows: SortedMap<StoredJson>, revision: number, items: StoredObject[], last: string | undefined, end: string, exact: boolean): StorageList {
    const list: StorageList = { items, resourceVersion: revision }
    if (last === undefined) return list
    const key = `${last}\0`
    const remaining = rows.count(key, end)
    if (remaining === 0) return list
    this.snapshots.keep(revision, rows)
    list.next = { key, revision }
    if (exact) list.remaining = remaining
    return list
  }

  private async begin(watcher: Watcher, start: number, withState: boolean): Promise<void> {
    const { options } = watcher
    await this.load()
    if (options.resourceVersion === undefined) await this.catchUp()
    else if (withState && start > 0) await this.waitFor(start)
    if (watcher.done) return
    const { rows, revision, ring } = this.now()
    if (withState || start === 0) watcher.from = revision
    else if (start < ring.oldest) throw newExpired(`too old resource version: ${start} (${ring.oldest})`)
    this.watchers.add(watcher)
    if (options.bookmarks) this.armBookmarks()
    if (withState) {
      await this.sendState(watcher, rows)
      if (options.bookmarks && options.sendInitialEvents) await watcher.sendFirst([{ type: 'BOOKMARK', resourceVersion: revision, initialEventsEnd: true }])
    } else if (start > 0) {
      const events: StorageEvent[] = []
      for (const event of ring.after(start)) {
        const seen = watcher.view.see(event)
        if (seen) events.push(seen)
      }
      watcher.from = Math.max(start, revision)
      await watcher.sendFirst(events)
    }
    watcher.release()
  }

  private async sendState(watcher: Watcher, rows: SortedMap<StoredJson>): Promise<void> {
    const tick = yielder()
    const { view } = watcher
    let at = view.start
    for (;;) {
      let steps = 0
      let bytes = 0
      let more = false
      let last: string | undefined
      const events: StorageEvent[] = []
      rows.scan(at, view.end, (object) => {
        last = object.key
        if (view.covers(object.key) && view.accepts(object)) {
          events.push({ type: 'ADDED', object })
          bytes += object.bytes.length
        }
        more = ++steps >= INITIAL_BATCH || bytes >= INITIAL_BATCH_BYTES
        return !more
      })
      await watcher.sendFirst(events)
      if (!more || last === undefined || watcher.done) return
      at = `${last}\0`
      await tick()
    }
  }

  private armBookmarks(): void {
    if (this.bookmarkTimer) return
    this.bookmarkTimer = this.clock.setTimeout(() => {
      this.bookmarkTimer = undefined
      void this.bookmark([...this.watchers.values()].filter((w) => w.options.bookmarks)).then((sent) => {
        if (sent && !this.closed) this.armBookmarks()
      })
    }, BOOKMARK_MS)
  }

  private stopBookmarks(): void {
    this.bookmarkTimer?.cancel()
    this.bookmarkTimer = undefined
  }

  private async bookmark(watchers: Watcher[]): Promise<boolean> {
    if (watchers.length === 0 || !this.loaded) return false
    try {
      await this.catchUp()
      const { revision } = this.now()
      for (const watcher of watchers) if (revision >= watcher.from) this.fanOut.bookmark(watcher, this.watchers.groupOf(watcher))
    } catch {
      // The store is away: bookmarks wait until it is back.
    }
    return true
  }
}

export function createCacher(kv: KV, options: CacherOptions): Cacher {
  return new Cacher(kv, options)
}
