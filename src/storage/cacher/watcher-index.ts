import type { StoredObject } from '../interface.ts'
import type { CacheEvent } from './event-ring.ts'
import type { Watcher } from './watcher.ts'

export type Indexer = (object: StoredObject) => string | undefined

/** Finds the watches an event may concern without asking each: by exact key, by namespace, by an index's value, and the rest. */
export class WatcherIndex {
  private readonly buckets = new Map<string, Set<Watcher>>()
  private readonly everything = new Set<Watcher>()
  private readonly all = new Set<Watcher>()
  private readonly indexers: ReadonlyMap<string, Indexer>
  /** How many watches use each index: an index nobody uses is not computed. */
  private readonly used = new Map<string, number>()

  constructor(indexers: ReadonlyMap<string, Indexer>) {
    this.indexers = indexers
  }

  get size(): number {
    return this.all.size
  }

  values(): Iterable<Watcher> {
    return this.all
  }

  add(watcher: Watcher): void {
    this.all.add(watcher)
    const key = this.bucketOf(watcher)
    if (key === undefined) {
      this.everything.add(watcher)
      return
    }
    const bucket = this.buckets.get(key)
    if (bucket) bucket.add(watcher)
    else this.buckets.set(key, new Set([watcher]))
    this.countUse(watcher, 1)
  }

  remove(watcher: Watcher): void {
    if (!this.all.delete(watcher)) return
    const key = this.bucketOf(watcher)
    if (key === undefined) {
      this.everything.delete(watcher)
      return
    }
    const bucket = this.buckets.get(key)
    bucket?.delete(watcher)
    if (bucket?.size === 0) this.buckets.delete(key)
    this.countUse(watcher, -1)
  }

  /** Calls `visit` once for each watch that may be concerned. */
  candidates(event: CacheEvent, visit: (watcher: Watcher) => void): void {
    for (const watcher of this.everything) visit(watcher)
    if (this.buckets.size === 0) return
    const { key, object, previous } = event
    this.visitBucket(`k${key}`, visit)
    const slash = key.indexOf('/')
    if (slash > 0) this.visitBucket(`n${key.slice(0, slash)}`, visit)
    for (const [name, users] of this.used) {
      if (users === 0) continue
      const indexer = this.indexers.get(name) as Indexer
      const before = previous && indexer(previous)
      const after = object && indexer(object)
      if (before !== undefined) this.visitBucket(`i${name}=${before}`, visit)
      if (after !== undefined && after !== before) this.visitBucket(`i${name}=${after}`, visit)
    }
  }

  private visitBucket(key: string, visit: (watcher: Watcher) => void): void {
    const bucket = this.buckets.get(key)
    if (bucket) for (const watcher of bucket) visit(watcher)
  }

  private countUse({ options }: Watcher, by: number): void {
    const name = options.index?.name
    if (name !== undefined && this.indexers.has(name)) this.used.set(name, (this.used.get(name) ?? 0) + by)
  }

  private bucketOf({ options }: Watcher): string | undefined {
    if (options.index && this.indexers.has(options.index.name)) return `i${options.index.name}=${options.index.value}`
    if (options.namespace && options.name) return `k${options.namespace}/${options.name}`
    if (options.namespace) return `n${options.namespace}`
    return undefined
  }
}
