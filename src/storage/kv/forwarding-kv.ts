import {
  connectionRefused,
  type KeyValue,
  type KV,
  type KVWatch,
  type RangeRequest,
  type RangeResult,
  type RevisionMeta,
  type TxnRequest,
  type TxnResult,
  type WatchRequest,
} from './kv.ts'

/**
 * A store found anew at each call, for whoever outlives it: while `find` has none, calls reject with "connection refused"; when it
 * stops, its watches end with an error; when it is back, everything works again. Closing this one leaves the store alone.
 */
export class ForwardingKV implements KV {
  private readonly find: () => KV | undefined
  private readonly address: string
  private lastRevision = 1
  private lastCompacted = 0

  constructor(find: () => KV | undefined, address: string) {
    this.find = find
    this.address = address
  }

  get revision(): number {
    const kv = this.find()
    if (kv) this.lastRevision = kv.revision
    return this.lastRevision
  }

  get compactedRevision(): number {
    const kv = this.find()
    if (kv) this.lastCompacted = kv.compactedRevision
    return this.lastCompacted
  }

  get remote(): boolean {
    return this.find()?.remote ?? false
  }

  async linearizableRevision(): Promise<number> {
    const kv = this.store()
    return kv.linearizableRevision ? kv.linearizableRevision() : kv.revision
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    return this.store().range(request)
  }

  async get(key: string): Promise<KeyValue | undefined> {
    return this.store().get(key)
  }

  async txn(request: TxnRequest): Promise<TxnResult> {
    return this.store().txn(request)
  }

  watch(request: WatchRequest): KVWatch {
    const kv = this.find()
    if (kv) return kv.watch(request)
    const error = connectionRefused(this.address)
    queueMicrotask(() => request.onClose?.({ error }))
    return { cancel() {}, progress: () => Promise.reject(error) }
  }

  async leaseGrant(ttlSeconds: number, id?: bigint): Promise<{ id: bigint; ttlSeconds: number }> {
    return this.store().leaseGrant(ttlSeconds, id)
  }

  async leaseRevoke(id: bigint): Promise<void> {
    return this.store().leaseRevoke(id)
  }

  async leaseKeepAlive(id: bigint): Promise<{ id: bigint; ttlSeconds: number }> {
    return this.store().leaseKeepAlive(id)
  }

  async leaseTimeToLive(id: bigint): Promise<{ id: bigint; ttlSeconds: number; grantedSeconds: number; keys: string[] }> {
    return this.store().leaseTimeToLive(id)
  }

  async leases(): Promise<bigint[]> {
    return this.store().leases()
  }

  async revisionMeta(revision: number): Promise<RevisionMeta | undefined> {
    return this.store().revisionMeta?.(revision)
  }

  async compact(revision: number): Promise<void> {
    return this.store().compact(revision)
  }

  async size(): Promise<{ totalBytes: number; usedBytes: number }> {
    return this.store().size()
  }

  async close(): Promise<void> {}

  private store(): KV {
    const kv = this.find()
    if (!kv) throw connectionRefused(this.address)
    return kv
  }
}

/** @param address `host:port` where the store would listen: callers are told as if they had dialled it */
export function forwardingKV(find: () => KV | undefined, address: string): ForwardingKV {
  return new ForwardingKV(find, address)
}
