/**
 * The bottom of the cluster: etcd's model, whoever implements it. Keys are byte strings that k8ts only ever fills with
 * printable ASCII, so they are JavaScript strings here, ordered by code unit (= byte) value.
 *
 * Contract:
 * - Each successful `txn` that writes gets one revision, higher than all before; all its writes carry it. Revisions
 *   start at 1 (an empty store); the first write is 2, as in etcd.
 * - `txn` resolves when its writes are durable (engine `embedded`: fdatasync returned; `memory`: at once). Revisions
 *   become visible to `range` and `watch` only then, in order, without gaps.
 * - `range` at revision r sees exactly the writes up to r. Below the compacted revision it throws CompactedError, above
 *   the current one FutureRevisionError.
 * - `watch` yields every event of its range from `startRevision` on, in order, once, grouped by revision: events of
 *   one revision are never split over two batches.
 * - Values are never mutated by either side after they were handed over.
 */
export interface KV {
  /** The revision of the last durable write. */
  readonly revision: number
  readonly compactedRevision: number
  /** Set when the store is another process's: `revision` is then what was last heard of, and asking costs a round trip. */
  readonly remote?: boolean
  /** The revision of a linearizable read; only where `remote`. */
  linearizableRevision?(): Promise<number>
  range(request: RangeRequest): Promise<RangeResult>
  /** The one key-value at the current revision; the hot path of GET. */
  get(key: string): Promise<KeyValue | undefined>
  txn(request: TxnRequest): Promise<TxnResult>
  watch(request: WatchRequest): KVWatch
  /** @param ttlSeconds at least 1 @returns the lease's id */
  leaseGrant(ttlSeconds: number, id?: bigint): Promise<{ id: bigint; ttlSeconds: number }>
  leaseRevoke(id: bigint): Promise<void>
  leaseKeepAlive(id: bigint): Promise<{ id: bigint; ttlSeconds: number }>
  leaseTimeToLive(id: bigint): Promise<{ id: bigint; ttlSeconds: number; grantedSeconds: number; keys: string[] }>
  leases(): Promise<bigint[]>
  /** Who made a revision that is still kept; engines that do not keep it have no such method. */
  revisionMeta?(revision: number): Promise<RevisionMeta | undefined>
  /** Drops history below `revision` (values still current at it stay). */
  compact(revision: number): Promise<void>
  /** Bytes of the file, and of what is in use in it. */
  size(): Promise<{ totalBytes: number; usedBytes: number }>
  /** Waits for what is in flight, then closes. Everything after it rejects. */
  close(): Promise<void>
}

export interface KeyValue {
  readonly key: string
  readonly value: Uint8Array
  readonly createRevision: number
  readonly modRevision: number
  /** Number of writes since creation, from 1. */
  readonly version: number
  readonly lease: bigint
}

export interface RangeRequest {
  key: string
  /** Exclusive end; undefined: the single key; `'\0'`: all keys from `key` on. See `prefixEnd`. */
  end?: string
  /** Current revision when 0 or undefined. */
  revision?: number
  /** No limit when 0 or undefined. */
  limit?: number
  countOnly?: boolean
  keysOnly?: boolean
}

export interface RangeResult {
  kvs: KeyValue[]
  /** How many keys are in the range, whatever the limit. */
  count: number
  more: boolean
  /** The store's revision when the range was read. */
  revision: number
}

/** Holds for the key, or with `end` for every key of the range. */
export type Compare =
  | { key: string; end?: string; target: 'mod' | 'create' | 'version'; op: '=' | '!=' | '<' | '>'; value: number }
  | { key: string; end?: string; target: 'value'; op: '=' | '!=' | '<' | '>'; value: Uint8Array }
  | { key: string; end?: string; target: 'lease'; op: '=' | '!=' | '<' | '>'; value: bigint }

export type TxnOp =
  | { op: 'put'; key: string; value: Uint8Array; lease?: bigint; prevKv?: boolean; meta?: RevisionMeta }
  | { op: 'delete'; key: string; end?: string; prevKv?: boolean; meta?: RevisionMeta }
  | { op: 'range'; request: RangeRequest }
  | { op: 'txn'; request: TxnRequest }

/** Who made a revision, kept beside it: history is told from these records. */
export interface RevisionMeta {
  user?: string
  userAgent?: string
  verb?: string
  auditID?: string
  /** Wall clock, ms since the epoch. */
  time?: number
}

export interface TxnRequest {
  compare?: Compare[]
  success: TxnOp[]
  failure?: TxnOp[]
}

export type OpResult =
  | { op: 'put'; prev?: KeyValue }
  | { op: 'delete'; deleted: number; prevs?: KeyValue[] }
  | { op: 'range'; result: RangeResult }
  | { op: 'txn'; result: TxnResult }

export interface TxnResult {
  succeeded: boolean
  /** The store's revision after the transaction. */
  revision: number
  results: OpResult[]
}

export interface WatchRequest {
  key: string
  /** As in RangeRequest. */
  end?: string
  /** First revision to see; 0 or undefined: the next one. */
  startRevision?: number
  prevKv?: boolean
  /**
   * Called with each batch, in order, from a microtask of the commit. Must not throw. A promise it returns holds the watch: nothing
   * more is called, read or kept for it until the promise is fulfilled; it must not be rejected. What is compacted meanwhile ends the watch.
   */
  onEvents(batch: WatchBatch): unknown
  /** Called once when the watch ended by the store: compacted start, or close. */
  onClose?(reason: { compactRevision?: number; error?: Error }): void
}

export interface WatchBatch {
  /** The revision the store has reached with this batch. */
  revision: number
  events: KVEvent[]
}

export interface KVEvent {
  type: 'put' | 'delete'
  /** For a delete: key and modRevision only, value empty. */
  kv: KeyValue
  prev?: KeyValue
}

export interface KVWatch {
  cancel(): void
  /** Resolves with a revision such that all events up to it have been delivered. */
  progress(): Promise<number>
}

export class CompactedError extends Error {
  readonly compactRevision: number
  constructor(compactRevision: number) {
    super('etcdserver: mvcc: required revision has been compacted')
    this.name = 'CompactedError'
    this.compactRevision = compactRevision
  }
}

export class FutureRevisionError extends Error {
  readonly current: number
  constructor(current: number) {
    super('etcdserver: mvcc: required revision is a future revision')
    this.name = 'FutureRevisionError'
    this.current = current
  }
}

/** More than etcd's limit of 1.5 MiB in one transaction. */
export class RequestTooLargeError extends Error {
  constructor() {
    super('etcdserver: request is too large')
    this.name = 'RequestTooLargeError'
  }
}

export class LeaseExistsError extends Error {
  constructor() {
    super('etcdserver: lease already exists')
    this.name = 'LeaseExistsError'
  }
}

export class LeaseNotFoundError extends Error {
  constructor() {
    super('etcdserver: requested lease not found')
    this.name = 'LeaseNotFoundError'
  }
}

/** The store was stopped (or never reached): callers answer ServerTimeout or try again. */
export class StoreUnavailableError extends Error {
  constructor(message = 'etcdserver: server stopped') {
    super(message)
    this.name = 'StoreUnavailableError'
  }
}

/** What a Go client of etcd says when nobody listens at `host:port`. */
export const connectionRefused = (address: string): StoreUnavailableError =>
  new StoreUnavailableError(
    `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp ${address}: connect: connection refused"`,
  )

/** The end of the range of all keys that start with `prefix`. */
export function prefixEnd(prefix: string): string {
  for (let i = prefix.length - 1; i >= 0; i--) {
    const c = prefix.charCodeAt(i)
    if (c < 0xff) return prefix.slice(0, i) + String.fromCharCode(c + 1)
  }
  return '\0'
}
