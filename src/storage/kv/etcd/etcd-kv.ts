import type { Clock, Timer } from '../../../base/clock.ts'
import type { Message } from '../etcdpb/codec.ts'
import { keyBytes, keyText, kvOf, rangeMessage, resultOf, txnMessage } from '../etcdpb/convert.ts'
import { type Method, methods } from '../etcdpb/messages.ts'
import {
  CompactedError,
  type KeyValue,
  type KV,
  type KVWatch,
  LeaseNotFoundError,
  type RangeRequest,
  type RangeResult,
  StoreUnavailableError,
  type TxnRequest,
  type TxnResult,
  type WatchRequest,
} from '../kv.ts'
import { DuplicateKeyError } from '../mvcc/evaluate.ts'
import { Channel, type EtcdConnection, fromGrpc } from './channel.ts'
import { RemoteWatch } from './remote-watches.ts'

export interface EtcdOptions extends EtcdConnection {
  clock: Clock
}

/** etcd's own limit of a request that waits for agreement: 5 s and two elections. */
const PROGRESS_LIMIT_MS = 7000
/** Progress requests of one watch without an answer; beyond it is only waited. */
const MAX_PROGRESS_REQUESTS = 100
/** How often a progress request is made again while a watch is still behind. */
const PROGRESS_RETRY_MS = 20
/**
 * Releases before 3.4.25 and 3.5.8 may answer a progress request before they have sent the events it covers. There a further answer,
 * asked for after the first, is waited for.
 */
const PROGRESS_ROUNDS_OLD = 2
/** Nor do they wait there for watches that began in the past; those are brought up to date every 100 ms. */
const SYNC_WAIT_OLD_MS = 250

function answersEarly(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return major === 3 && (minor < 4 || (minor === 4 && patch < 25) || (minor === 5 && patch < 8))
}

/** A real etcd cluster as the store: the same contract, over gRPC. Who made a revision is not kept there. */
export class EtcdKV implements KV {
  readonly remote = true
  private readonly channel: Channel
  private readonly clock: Clock
  private readonly watches = new Set<RemoteWatch>()
  private heard = 1
  private compacted = 0
  private closed = false
  private progressRounds = 1

  constructor(channel: Channel, clock: Clock) {
    this.channel = channel
    this.clock = clock
  }

  get revision(): number {
    return this.heard
  }

  get compactedRevision(): number {
    return this.compacted
  }

  /** Learns what kind of etcd this is. Rejects when it does not answer. */
  async greet(): Promise<void> {
    const status = await this.call(methods.Maintenance.Status, {})
    if (answersEarly(status['version'] as string)) this.progressRounds = PROGRESS_ROUNDS_OLD
    await this.linearizableRevision()
  }

  async linearizableRevision(): Promise<number> {
    await this.call(methods.KV.Range, { key: keyBytes('\0'), count_only: true })
    return this.heard
  }

  async get(key: string): Promise<KeyValue | undefined> {
    return (await this.range({ key })).kvs[0]
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    const m = await this.call(methods.KV.Range, rangeMessage(request))
    return { kvs: (m['kvs'] as Message[]).map(kvOf), count: m['count'] as number, more: m['more'] as boolean, revision: this.revisionOf(m) }
  }

  async txn(request: TxnRequest): Promise<TxnResult> {
    const m = await this.call(methods.KV.Txn, txnMessage(request))
    const revision = this.revisionOf(m)
    const succeeded = m['succeeded'] as boolean
    const ops = succeeded ? request.success : (request.failure ?? [])
    const results = (m['responses'] as Message[]).map((r, i) => {
      const op = ops[i]
      return resultOf(r, revision, op?.op === 'delete' && op.prevKv === true)
    })
    return { succeeded, revision, results }
  }

  watch(request: WatchRequest): KVWatch {
    if (this.closed) {
      queueMicrotask(() => request.onClose?.({ error: new StoreUnavailableError() }))
      return { cancel() {}, progress: () => Promise.reject(new StoreUnavailableError()) }
    }
    // "From now" is now: what is written before etcd has heard of the watch belongs to it.
    const startRevision = request.startRevision ? request.startRevision : this.heard + 1
    const watch = new RemoteWatch(
      this.channel.stream(methods.Watch.Watch),
      { ...request, startRevision },
      {
        onRevision: (revision) => this.hear(revision),
        onOver: (w) => this.watches.delete(w),
      },
    )
    this.watches.add(watch)
    return { cancel: () => watch.cancel(), progress: () => this.progress(watch) }
  }

  async leaseGrant(ttlSeconds: number, id?: bigint): Promise<{ id: bigint; ttlSeconds: number }> {
    const m = await this.call(methods.Lease.LeaseGrant, { TTL: Math.max(1, Math.ceil(ttlSeconds)), ID: id ?? 0n })
    return { id: m['ID'] as bigint, ttlSeconds: m['TTL'] as number }
  }

  async leaseRevoke(id: bigint): Promise<void> {
    await this.call(methods.Lease.LeaseRevoke, { ID: id })
  }

  leaseKeepAlive(id: bigint): Promise<{ id: bigint; ttlSeconds: number }> {
    if (this.closed) return Promise.reject(new StoreUnavailableError())
    return new Promise((resolve, reject) => {
      const stream = this.channel.stream(methods.Lease.LeaseKeepAlive)
      stream.on('data', (m: Message) => {
        stream.cancel()
        const ttlSeconds = m['TTL'] as number
        if (ttlSeconds > 0) resolve({ id, ttlSeconds })
        else reject(new LeaseNotFoundError())
      })
      stream.on('error', (e) => reject(fromGrpc(e)))
      stream.on('end', () => reject(new StoreUnavailableError()))
      stream.write({ ID: id })
    })
  }

  async leaseTimeToLive(id: bigint): Promise<{ id: bigint; ttlSeconds: number; grantedSeconds: number; keys: string[] }> {
    const m = await this.call(methods.Lease.LeaseTimeToLive, { ID: id, keys: true })
    const ttlSeconds = m['TTL'] as number
    if (ttlSeconds < 0) throw new LeaseNotFoundError()
    return { id, ttlSeconds, grantedSeconds: m['grantedTTL'] as number, keys: (m['keys'] as Uint8Array[]).map(keyText).sort() }
  }

  async leases(): Promise<bigint[]> {
    return ((await this.call(methods.Lease.LeaseLeases, {}))['leases'] as Message[]).map((l) => l['ID'] as bigint)
  }

  async compact(revision: number): Promise<void> {
    await this.call(methods.KV.Compact, { revision, physical: true })
    this.compacted = Math.max(this.compacted, revision)
  }

  async size(): Promise<{ totalBytes: number; usedBytes: number }> {
    const m = await this.call(methods.Maintenance.Status, {})
    return { totalBytes: m['dbSize'] as number, usedBytes: m['dbSizeInUse'] as number }
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    for (const watch of [...this.watches]) watch.end({ error: new StoreUnavailableError() })
    this.channel.close()
  }

  /** Ends with etcd's own error when the watch does not catch up in time. */
  private progress(watch: RemoteWatch): Promise<number> {
    return new Promise((resolve, reject) => {
      let over = false
      const limit = this.clock.deadline(() => {
        over = true
        reject(new StoreUnavailableError('etcdserver: request timed out'))
      }, PROGRESS_LIMIT_MS)
      this.caughtUp(watch, () => over)
        .then(resolve, reject)
        .finally(() => limit.cancel())
    })
  }

  /** etcd answers a progress request only when the watch has caught up, and old releases not always: asked again until it has. */
  private async caughtUp(watch: RemoteWatch, isOver: () => boolean): Promise<number> {
    const wanted = await this.linearizableRevision()
    if (this.progressRounds > 1 && (await watch.startedBehind())) await this.clock.sleep(SYNC_WAIT_OLD_MS)
    for (let rounds = 0; !this.closed && !isOver(); ) {
      let timer: Timer | undefined
      const retry = new Promise<number>((resolve) => {
        timer = this.clock.setTimeout(() => resolve(-1), PROGRESS_RETRY_MS)
      })
      const revision = await (watch.asked < MAX_PROGRESS_REQUESTS ? Promise.race([watch.progress(), retry]) : retry).finally(() => timer?.cancel())
      if (revision >= wanted && ++rounds >= this.progressRounds) return revision
    }
    throw new StoreUnavailableError()
  }

  private async call(method: Method, request: Message): Promise<Message> {
    if (this.closed) throw new StoreUnavailableError()
    try {
      const m = await this.channel.call(method, request)
      this.hear(this.revisionOf(m))
      return m
    } catch (e) {
      const error = fromGrpc(e, this.heard)
      if (error instanceof CompactedError || error instanceof DuplicateKeyError) throw error
      throw this.closed ? new StoreUnavailableError() : error
    }
  }

  private revisionOf(m: Message): number {
    return ((m['header'] as Message | undefined)?.['revision'] as number | undefined) ?? this.heard
  }

  private hear(revision: number): void {
    if (revision > this.heard) this.heard = revision
  }
}

/** Connects to etcd; rejects when no endpoint answers. */
export async function openEtcdKV(options: EtcdOptions): Promise<EtcdKV> {
  const channel = await Channel.open(options)
  const kv = new EtcdKV(channel, options.clock)
  try {
    await kv.greet()
  } catch (e) {
    await kv.close()
    throw e
  }
  return kv
}
