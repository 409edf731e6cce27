import type { KubeObject } from '../apimachinery/object.ts'

/**
 * Objects over the kv store, one instance per resource: what the generic registry store works with. Keys are below the
 * resource's prefix (`/registry/pods/`), namespaced ones `namespace/name`.
 */
export interface ObjectStorage {
  /** Stores under a key that must be free; throws KeyExistsError. */
  create(key: string, object: KubeObject, options?: WriteMeta): Promise<StoredObject>
  /** @param resourceVersion undefined: the current state from the store; 0: whatever the cache has; n: at least as new as n */
  get(key: string, resourceVersion?: number): Promise<StoredObject | undefined>
  list(options: StorageListOptions): Promise<StorageList>
  /**
   * Compare-and-swap: `update` gets the current state (undefined when the key is free) and returns what to store, or `'keep'` to leave
   * things as they are. It is called again when somebody else was faster. It may throw.
   */
  update(
    key: string,
    update: (current: StoredObject | undefined) => Promise<KubeObject | 'keep'> | KubeObject | 'keep',
    options?: WriteMeta,
  ): Promise<StoredObject>
  /** Deletes; `check` may refuse by throwing, and is called again on a race. Undefined when there is no such key. */
  delete(key: string, check?: (current: StoredObject) => void, options?: WriteMeta): Promise<StoredObject | undefined>
  watch(options: StorageWatchOptions): StorageWatch
  /** The newest revision the store is known to have. */
  currentRevision(): Promise<number>
  /** How many objects there are, cheaply: for flow control's estimates and metrics. */
  count?(): Promise<number>
  /** Ends the watches and forgets the cache. */
  close?(): void
}

export interface WriteMeta {
  ttlSeconds?: number
  user?: string
  userAgent?: string
  verb?: string
  auditID?: string
}

/** One copy of everything: the stored bytes once, the parsed object on first need, both shared and never changed. */
export interface StoredObject {
  readonly key: string
  /** JSON without resourceVersion, as stored. */
  readonly bytes: Uint8Array
  /** Parsed and frozen, with metadata.resourceVersion set. */
  readonly object: KubeObject
  readonly resourceVersion: number
  /** `metadata.labels`, without parsing the rest. */
  readonly labels: Readonly<Record<string, string>>
  /** JSON with the resourceVersion spliced in: what a JSON client is sent. */
  encoded(): Uint8Array
  /** The same with a line's end, as one object is sent. */
  line?(): Uint8Array
  /** How many bytes `encoded()` has. */
  readonly size: number
  /** Writes `encoded()`, from its byte `skip` on, at `at`. @returns the index after it */
  writeTo(out: Uint8Array, at: number, skip?: number): number
  /** How many bytes `metadata` has in `encoded()`. */
  readonly metadataSize: number
  /** Writes these. @returns the index after them */
  writeMetadataTo(out: Uint8Array, at: number): number
}

export interface StorageListOptions {
  /** Namespace or undefined for all. */
  namespace?: string
  /** Only this name. */
  name?: string
  resourceVersion?: number
  /** Undefined with a limit and a resourceVersion above 0 means Exact, as upstream does. */
  match?: 'Exact' | 'NotOlderThan'
  /** 0: all. */
  limit?: number
  /** Where an earlier page ended; revision -1: go on at the newest state. When its revision is gone, `list` throws Expired. */
  continue?: { key: string; revision: number }
  filter?(object: StoredObject): boolean
}

export interface StorageList {
  items: StoredObject[]
  resourceVersion: number
  /** Where the next page starts. */
  next?: { key: string; revision: number }
  /** How many come after this page; undefined when a filter makes it unknown. */
  remaining?: number
}

export interface StorageWatchOptions {
  namespace?: string
  name?: string
  /** undefined: from now, with the present state first as ADDED; 0: any start with the cache's state; n: everything after n. */
  resourceVersion?: number
  /**
   * true: start with the present state (at least as new as resourceVersion), then, with `bookmarks`, a bookmark that ends it.
   * false: no state first, also when resourceVersion is undefined or 0.
   */
  sendInitialEvents?: boolean
  bookmarks?: boolean
  filter?(object: StoredObject): boolean
  /** Filters of the same name, over the same resource, say the same of every object: their watches are served together. */
  filterName?: string
  /** Only objects whose index of this name has this value: narrows what `filter` is asked about; `filter` must say the same. */
  index?: { name: string; value: string }
  /** When the caller will end the watch, ms from now: a bookmark comes shortly before. */
  timeoutMs?: number
  /**
   * Called in order; an event that goes in or out of the filter comes as ADDED or DELETED. One event of the store is one StorageEvent,
   * shared by all watches that see it the same way. A promise as the answer holds back what follows until it resolves; who holds back
   * too much is closed.
   */
  onEvents(events: readonly StorageEvent[]): unknown
  /** Called once when the watch ended by itself; without error: start again from the last resourceVersion seen. */
  onClose(error?: Error): void
}

export type StorageEvent =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: StoredObject }
  | { type: 'BOOKMARK'; resourceVersion: number; initialEventsEnd?: boolean }

export interface StorageWatch {
  stop(): void
}

export class KeyExistsError extends Error {
  constructor(key: string) {
    super(`key exists: ${key}`)
    this.name = 'KeyExistsError'
  }
}
