import type { StoredObject } from '../interface.ts'
import type { CacheEvent } from './event-ring.ts'
import type { Watcher } from './watcher.ts'
import { WatcherGroup } from './watcher-group.ts'

export type Indexer = (object: StoredObject) => string | undefined

/** Groups by the name of their view; a watch whose view has none is a group of its own. */
type Bucket = Map<string | Watcher, WatcherGroup>

/** Finds the watches an event may concern without asking each: by exact key, by namespace, by an index's value, and the rest; those with the same view together. */
export class WatcherIndex {
  private readonly buckets = new Map<string, Bucket>()
  private readonly everything: Bucket = new Map()
  private readonly all = new Map<Watcher, WatcherGroup>()
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
    return this.all.keys()
  }

  groupOf(watcher: Watcher): WatcherGroup | undefined {
    return this.all.get(watcher)
  }

  add(watcher: Watcher): void {
    const key = this.bucketOf(watcher)
    let bucket = this.everything
    if (key !== undefined) {
      bucket = this.buckets.get(key) ?? new Map()
      this.buckets.set(key, bucket)
    }
    const name = watcher.view.name ?? watcher
    const group = bucket.get(name) ?? new WatcherGroup(watcher.view)
    bucket.set(name, group)
    group.add(watcher)
    this.all.set(watcher, group)
    this.countUse(watcher, 1)
  }

  remove(watcher: Watcher): void {
    const group = this.all.get(watcher)
    if (!group) return
    this.all.delete(watcher)
    group.remove(watcher)
    this.countUse(watcher, -1)
    if (group.size > 0) return
    const key = this.bucketOf(watcher)
    const bucket = key === undefined ? this.everything : this.buckets.get(key)
    bucket?.delete(watcher.view.name ?? watcher)
    if (key !== undefined && bucket?.size === 0) this.buckets.delete(key)
  }

  /** Calls `visit` once for each group that may be concerned. */
  candidates(event: CacheEvent, visit: (group: WatcherGroup) => void): void {
    for (const group of this.everything.values()) visit(group)
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

  private visitBucket(key: string, visit: (group: WatcherGroup) => void): void {
    const bucket = this.buckets.get(key)
    if (bucket) for (const group of bucket.values()) visit(group)
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
