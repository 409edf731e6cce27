import { newExpired, newInternalError, newTooLargeResourceVersion } from '../apimachinery/errors.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import type { Clock } from '../base/clock.ts'
import {
  KeyExistsError,
  type ObjectStorage,
  type StorageEvent,
  type StorageList,
  type StorageListOptions,
  type StorageWatch,
  type StorageWatchOptions,
  type StoredObject,
  type WriteMeta,
} from './interface.ts'
import { CompactedError, FutureRevisionError, type KeyValue, type KV, type KVEvent, LeaseNotFoundError, type OpResult, prefixEnd, type TxnOp } from './kv/kv.ts'
import { LeasePool } from './lease-pool.ts'
import { encodeObject, rememberWritten, StoredJson } from './stored-json.ts'

export interface ObjectStorageOptions {
  /** `/registry/pods`: with or without the slash that ends it. */
  prefix: string
  clock: Clock
  /** Time to live of each write that names none; undefined: for ever. */
  ttlSeconds?: number
}

export const LIST_TOO_OLD = 'The resourceVersion for the provided list is too old.'
export const WATCH_TOO_OLD = 'The resourceVersion for the provided watch is too old.'

/** Objects one page of a filtered list reads at a time. */
const PAGE = 500

/** The start and end, below the resource's prefix, of what a request looks at. */
export function scope(options: { namespace?: string; name?: string }): { start: string; end: string } {
  const { namespace, name } = options
  const base = namespace ? `${namespace}/` : ''
  // Without a namespace a name may stand for a cluster-scoped object only: others are found by the filter.
  if (name && namespace) return { start: base + name, end: `${base}${name}\0` }
  return { start: base, end: base === '' ? '\0' : prefixEnd(base) }
}

/** Of a namespaced or cluster-scoped key, the name. */
export function nameOfKey(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}

function expiredOr(error: unknown): unknown {
  if (error instanceof CompactedError) return newExpired(LIST_TOO_OLD)
  if (error instanceof FutureRevisionError) return newTooLargeResourceVersion(0, error.current, 0)
  return error
}

/** Objects straight over the store, without a cache: what resources with a short life (events) use, and what the watch cache writes through. */
export class KVObjectStorage implements ObjectStorage {
  readonly prefix: string
  readonly kv: KV
  private readonly clock: Clock
  private readonly leases: LeasePool
  private readonly ttlSeconds: number | undefined

  constructor(kv: KV, options: ObjectStorageOptions) {
    this.kv = kv
    this.prefix = options.prefix.endsWith('/') ? options.prefix : `${options.prefix}/`
    this.clock = options.clock
    this.leases = new LeasePool(kv, options.clock)
    this.ttlSeconds = options.ttlSeconds
  }

  async create(key: string, object: KubeObject, options: WriteMeta = {}): Promise<StoredObject> {
    const bytes = encodeObject(object)
    rememberWritten(bytes, object)
    const full = this.fullKey(key)
    const result = await this.withLease(options, (lease) =>
      this.kv.txn({
        compare: [{ key: full, target: 'create', op: '=', value: 0 }],
        success: [this.put(full, bytes, lease, options)],
      }),
    )
    if (!result.succeeded) throw new KeyExistsError(key)
    return new StoredJson(key, bytes, result.revision)
  }

  async get(key: string, resourceVersion?: number): Promise<StoredObject | undefined> {
    if (resourceVersion && resourceVersion > this.kv.revision) throw newTooLargeResourceVersion(resourceVersion, this.kv.revision, 0)
    const kv = await this.kv.get(this.fullKey(key))
    return kv && this.stored(kv)
  }

  async list(options: StorageListOptions): Promise<StorageList> {
    const { limit = 0, filter } = options
    const wanted = options.resourceVersion ?? 0
    let revision = 0
    if (options.continue) revision = Math.max(0, options.continue.revision)
    else if (options.match === 'Exact' || (options.match === undefined && wanted > 0 && limit > 0)) revision = wanted
    else if (wanted > this.kv.revision) throw newTooLargeResourceVersion(wanted, this.kv.revision, 0)
    if (revision > this.kv.revision) throw newTooLargeResourceVersion(revision, this.kv.revision, 0)
    const range = scope(options)
    const end = range.end === '\0' ? prefixEnd(this.prefix) : this.prefix + range.end
    let at = this.prefix + (options.continue && options.continue.key > range.start ? options.continue.key : range.start)
    const named = options.name !== undefined && !options.namespace ? options.name : undefined
    const items: StoredObject[] = []
    try {
      for (;;) {
        // Pages of a filtered list are as small as what is still missing, but not tiny.
        const ask = limit === 0 ? 0 : filter || named ? Math.max(PAGE, limit - items.length) : limit - items.length
        const page = await this.kv.range({ key: at, end, limit: ask, revision })
        revision ||= page.revision
        let seen = 0
        for (const kv of page.kvs) {
          seen++
          const stored = this.stored(kv)
          if ((named === undefined || nameOfKey(stored.key) === named) && (!filter || filter(stored))) items.push(stored)
          if (limit > 0 && items.length >= limit) break
        }
        const last = page.kvs[seen - 1]
        const left = page.count - seen
        if (left <= 0 || !last) return { items, resourceVersion: revision }
        at = `${last.key}\0`
        if (limit > 0 && items.length >= limit) {
          const next = { key: at.slice(this.prefix.length), revision }
          return { items, resourceVersion: revision, next, ...(filter || named ? {} : { remaining: left }) }
        }
      }
    } catch (e) {
      throw expiredOr(e)
    }
  }

  async update(
    key: string,
    update: (current: StoredObject | undefined) => Promise<KubeObject | 'keep'> | KubeObject | 'keep',
    options: WriteMeta & { current?: StoredObject } = {},
  ): Promise<StoredObject> {
    const full = this.fullKey(key)
    let current = options.current ?? (await this.get(key))
    let fresh = options.current === undefined
    // Ends with success or by what `update` throws: its caller has a deadline.
    for (;;) {
      const seen: StoredObject | undefined = current
      let next: KubeObject | 'keep'
      try {
        next = await update(seen)
      } catch (e) {
        if (fresh) throw e
        // What the cache had was perhaps too old for the caller's checks: once more with the newest.
        current = await this.get(key)
        fresh = true
        if (current?.resourceVersion === seen?.resourceVersion) throw e
        continue
      }
      const bytes = next === 'keep' ? undefined : encodeObject(next)
      const unchanged = !bytes || (seen !== undefined && bytes.equals(seen.bytes) && (options.ttlSeconds ?? this.ttlSeconds) === undefined)
      if (unchanged) {
        if (!fresh) {
          const newest = await this.get(key)
          fresh = true
          if (newest?.resourceVersion !== seen?.resourceVersion) {
            current = newest
            continue
          }
        }
        if (!seen) throw newInternalError(new Error(`update of ${JSON.stringify(key)} kept an object that does not exist`))
        return seen
      }
      rememberWritten(bytes, next as KubeObject)
      const result = await this.withLease(options, (lease) =>
        this.kv.txn({
          compare: [{ key: full, target: 'mod', op: '=', value: seen?.resourceVersion ?? 0 }],
          success: [this.put(full, bytes, lease, options)],
          failure: [{ op: 'range', request: { key: full } }],
        }),
      )
      if (result.succeeded) return new StoredJson(key, bytes, result.revision)
      current = this.fromRange(result.results[0])
      fresh = true
    }
  }

  async delete(key: string, check?: (current: StoredObject) => void, options: WriteMeta & { current?: StoredObject } = {}): Promise<StoredObject | undefined> {
    const full = this.fullKey(key)
    let current = options.current ?? (await this.get(key))
    let fresh = options.current === undefined
    for (;;) {
      const seen: StoredObject | undefined = current
      if (!seen) return undefined
      try {
        check?.(seen)
      } catch (e) {
        if (fresh) throw e
        current = await this.get(key)
        fresh = true
        if (current?.resourceVersion === seen.resourceVersion) throw e
        continue
      }
      const meta = this.meta(options)
      const result = await this.kv.txn({
        compare: [{ key: full, target: 'mod', op: '=', value: seen.resourceVersion }],
        success: [{ op: 'delete', key: full, ...(meta ? { meta } : {}) }],
        failure: [{ op: 'range', request: { key: full } }],
      })
      if (result.succeeded) return new StoredJson(key, seen.bytes, result.revision)
      current = this.fromRange(result.results[0])
      fresh = true
    }
  }

  watch(options: StorageWatchOptions): StorageWatch {
    const range = scope(options)
    const end = range.end === '\0' ? prefixEnd(this.prefix) : this.prefix + range.end
    const start = options.resourceVersion ?? 0
    const withState = options.sendInitialEvents ?? start === 0
    const named = options.name !== undefined && !options.namespace ? options.name : undefined
    const filter = (object: StoredObject) => (named === undefined || nameOfKey(object.key) === named) && (!options.filter || options.filter(object))
    let stopped = false
    let cancel = () => {}
    const close = (error?: Error) => {
      if (stopped) return
      stopped = true
      cancel()
      options.onClose(error)
    }
    const follow = (startRevision: number) => {
      const watch = this.kv.watch({
        key: this.prefix + range.start,
        end,
        startRevision,
        prevKv: true,
        onEvents: (batch) => {
          if (stopped) return
          const events = batch.events.flatMap((e) => this.transition(e, filter) ?? [])
          if (events.length > 0) options.onEvents(events)
        },
        onClose: ({ compactRevision, error }) => close(compactRevision === undefined ? error : newExpired(WATCH_TOO_OLD)),
      })
      let timer = options.bookmarks ? this.clock.setTimeout(() => void bookmark(), BOOKMARK_MS) : undefined
      const bookmark = async () => {
        try {
          const resourceVersion = await watch.progress()
          if (stopped) return
          options.onEvents([{ type: 'BOOKMARK', resourceVersion }])
        } catch {
          // The store is away: bookmarks wait until it is back, or the watch ends.
          if (stopped) return
        }
        timer = this.clock.setTimeout(() => void bookmark(), BOOKMARK_MS)
      }
      cancel = () => {
        timer?.cancel()
        watch.cancel()
      }
    }
    if (withState) {
      this.list({
        ...options,
        filter,
        limit: 0,
        ...(start > 0 ? { resourceVersion: start, match: 'NotOlderThan' } : { resourceVersion: undefined, match: undefined }),
      }).then(
        (list) => {
          if (stopped) return
          const events: StorageEvent[] = list.items.map((object) => ({ type: 'ADDED', object }))
          if (options.bookmarks && options.sendInitialEvents) events.push({ type: 'BOOKMARK', resourceVersion: list.resourceVersion, initialEventsEnd: true })
          if (events.length > 0) options.onEvents(events)
          follow(list.resourceVersion + 1)
        },
        (e) => close(e instanceof Error ? e : new Error(String(e))),
      )
    } else follow(start === 0 ? this.kv.revision + 1 : start + 1)
    return {
      stop: () => {
        stopped = true
        cancel()
      },
    }
  }

  async currentRevision(): Promise<number> {
    return this.kv.revision
  }

  async count(): Promise<number> {
    return (await this.kv.range({ key: this.prefix, end: prefixEnd(this.prefix), countOnly: true })).count
  }

  /** A key-value below the prefix as an object. */
  stored(kv: KeyValue): StoredJson {
    return new StoredJson(kv.key.slice(this.prefix.length), kv.value, kv.modRevision)
  }

  private transition(event: KVEvent, filter: (object: StoredObject) => boolean): StorageEvent | undefined {
    const revision = event.kv.modRevision
    const before = event.prev && this.stored(event.prev)
    const after = event.type === 'put' ? this.stored(event.kv) : undefined
    const had = before !== undefined && filter(before)
    const has = after !== undefined && filter(after)
    if (has) return { type: had ? 'MODIFIED' : 'ADDED', object: after }
    return had ? { type: 'DELETED', object: before.at(revision) } : undefined
  }

  private fullKey(key: string): string {
    // A name never holds a slash or is a dot path; that is checked far above. Here it would reach into another resource.
    if (BAD_KEY.test(key)) {
      throw newInternalError(new Error(`invalid key: ${JSON.stringify(key)}`))
    }
    return this.prefix + key
  }

  private put(key: string, value: Uint8Array, lease: bigint, options: WriteMeta): TxnOp {
    const meta = this.meta(options)
    return { op: 'put', key, value, ...(lease === 0n ? {} : { lease }), ...(meta ? { meta } : {}) }
  }

  private meta({ user, userAgent, verb, auditID }: WriteMeta) {
    if (user === undefined && userAgent === undefined && verb === undefined && auditID === undefined) return undefined
    return { user, userAgent, verb, auditID, time: this.clock.now() }
  }

  private fromRange(result: OpResult | undefined): StoredObject | undefined {
    const kv = result?.op === 'range' ? result.result.kvs[0] : undefined
    return kv && this.stored(kv)
  }

  private async withLease<T>(options: WriteMeta, write: (lease: bigint) => Promise<T>): Promise<T> {
    const ttl = options.ttlSeconds ?? this.ttlSeconds
    if (ttl === undefined || ttl <= 0) return write(0n)
    try {
      return await write(await this.leases.get(ttl))
    } catch (e) {
      if (!(e instanceof LeaseNotFoundError)) throw e
      this.leases.forget(ttl)
      return write(await this.leases.get(ttl))
    }
  }
}

const BOOKMARK_MS = 60_000
/** A part that is empty or a dot path. */
const BAD_KEY = /(?:^|\/)\.{0,2}(?:\/|$)/

export function createObjectStorage(kv: KV, options: ObjectStorageOptions): KVObjectStorage {
  return new KVObjectStorage(kv, options)
}
