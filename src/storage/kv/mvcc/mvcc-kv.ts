import type { Clock, Timer } from '../../../base/clock.ts'
import { yielder } from '../../../base/yielder.ts'
import { SortedMap } from '../../sorted-map.ts'
import {
  CompactedError,
  FutureRevisionError,
  type KeyValue,
  type KV,
  type KVWatch,
  type RangeRequest,
  type RangeResult,
  type RevisionMeta,
  StoreUnavailableError,
  type TxnRequest,
  type TxnResult,
  type WatchRequest,
} from '../kv.ts'
import type { Backing } from './backing.ts'
import { type EvaluateContext, type Evaluated, evaluate, rangeEnd, rangeRows } from './evaluate.ts'
import { Lessor } from './lessor.ts'
import type { Entry, Row, Rows } from './row.ts'
import { WatchHub } from './watch-hub.ts'

export interface MvccOptions {
  clock: Clock
  /**
   * History is dropped by itself: every `intervalMs` what is older than the interval, and at any time what exceeds `maxRevisions`.
   * @default { intervalMs: 300_000, maxRevisions: 10_000 }
   */
  autoCompaction?: { intervalMs?: number; maxRevisions?: number } | false
}

/** What a store starts from. */
export interface MvccState {
  revision: number
  compactedRevision: number
  rows: Rows
  /** Entries from the oldest kept one to `revision`, without gap. */
  entries: Entry[]
  leases: { id: bigint; ttlSeconds: number }[]
}

interface Pending {
  entry: Entry | undefined
  result: TxnResult
  resolve(result: TxnResult): void
  reject(error: unknown): void
}

/** Writes that wait for one commit at most; more go into the next. */
const COMMIT_BATCH = 1000
/** How many of the newest values stay in memory beside a backing. */
const RECENT_VALUES = 2000
/** Rows with values a range collects before it looks at the clock. */
const RANGE_STEP = 64

/**
 * etcd's semantics over persistent maps: every revision is an entry with all rows as they were after it, sharing nearly everything with
 * its neighbours. Transactions run against the newest state, durable or not, in the order they came; they become visible, in that
 * order, when the backing has them.
 */
export class MvccKV implements KV {
  protected readonly clock: Clock
  private readonly backing: Backing | undefined
  private readonly options: MvccOptions
  private readonly lessor: Lessor
  private readonly hub: WatchHub
  /** Contiguous, oldest first; the last one is the visible revision. */
  private entries: Entry[]
  private compacted: number
  private headRows: Rows
  private headRevision: number
  private queue: Pending[] = []
  private flushing: Promise<void> | undefined
  private flushScheduled = false
  private closed = false
  private readonly recent: Row[] = []
  private recentAt = 0
  private hydrating: Promise<void> | undefined
  private compacting: Promise<void> = Promise.resolve()
  private compactTimer: Timer | undefined
  private mark: number

  constructor(options: MvccOptions, backing?: Backing, state?: MvccState) {
    this.clock = options.clock
    this.options = options
    this.backing = backing
    this.lessor = new Lessor(options.clock, (id) => this.leaseRevoke(id))
    const rows = state?.rows ?? SortedMap.empty<Row>()
    this.headRows = rows
    this.headRevision = state?.revision ?? 1
    this.compacted = state?.compactedRevision ?? 0
    this.entries = state && state.entries.length > 0 ? state.entries : [{ revision: this.headRevision, writes: [], rows }]
    this.mark = this.headRevision
    for (const lease of state?.leases ?? []) this.lessor.grant(lease.ttlSeconds, lease.id)
    if (state && state.leases.length > 0) rows.scan('', '\0', (row) => void (row.lease !== 0n && this.lessor.attach(row.lease, row.key)))
    const self = this
    this.hub = new WatchHub({
      get revision() {
        return self.revision
      },
      get compactedRevision() {
        return self.compacted
      },
      entry: (revision) => this.entryAt(revision),
      hydrate: () => this.hydrate(),
      keyValue: (row) => this.keyValue(row),
    })
    this.armCompaction()
  }

  get revision(): number {
    return (this.entries[this.entries.length - 1] as Entry).revision
  }

  get compactedRevision(): number {
    return this.compacted
  }

  /** Keys that exist now. */
  get keyCount(): number {
    return this.rows().size
  }

  async get(key: string): Promise<KeyValue | undefined> {
    this.checkOpen()
    const row = this.rows().get(key)
    return row && this.keyValue(row)
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.checkOpen()
    const { revision } = this
    if (request.revision && request.revision !== revision && request.revision >= this.compacted) await this.hydrateTo(request.revision)
    const rows = request.revision ? this.rowsAt(request.revision) : this.rows()
    if (!this.backing || request.countOnly || request.keysOnly) return rangeRows(rows, request, revision, (row) => this.keyValue(row))
    const end = rangeEnd(request.key, request.end)
    const count = rows.count(request.key, end)
    const found = rows.slice(request.key, end, request.limit ?? 0)
    const kvs: KeyValue[] = []
    const tick = yielder()
    for (const row of found) {
      kvs.push(this.keyValue(row))
      if (kvs.length % RANGE_STEP === 0) await tick()
    }
    return { kvs, count, more: found.length < count, revision }
  }

  txn(request: TxnRequest): Promise<TxnResult> {
    return new Promise((resolve, reject) => {
      this.checkOpen()
      const { rows, writes, result } = this.evaluate(request)
      let entry: Entry | undefined
      if (writes.length > 0) {
        entry = { revision: this.headRevision + 1, writes, rows }
        this.headRevision = entry.revision
        this.headRows = rows
      }
      if (!this.backing) {
        if (entry) this.publish(entry)
        resolve(result)
        return
      }
      if (!entry && this.headRevision === this.revision) {
        resolve(result)
        return
      }
      this.queue.push({ entry, result, resolve, reject })
      this.scheduleFlush()
    })
  }

  watch(request: WatchRequest): KVWatch {
    if (this.closed) {
      queueMicrotask(() => request.onClose?.({ error: new StoreUnavailableError() }))
      return { cancel() {}, progress: () => Promise.reject(new StoreUnavailableError()) }
    }
    return this.hub.watch(request)
  }

  async leaseGrant(ttlSeconds: number, id?: bigint): Promise<{ id: bigint; ttlSeconds: number }> {
    this.checkOpen()
    const lease = this.lessor.grant(ttlSeconds, id)
    if (this.backing) {
      try {
        await this.backing.saveLease(lease.id, lease.ttlSeconds)
      } catch (e) {
        this.lessor.forget(lease.id)
        throw e
      }
    }
    return lease
  }

  async leaseRevoke(id: bigint): Promise<void> {
    this.checkOpen()
    this.lessor.beginEnd(id)
    await this.settled()
    const keys = this.lessor.keysOf(id)
    if (keys.length > 0) {
      const success = keys.filter((key) => this.headRows.get(key)?.lease === id).map((key) => ({ op: 'delete' as const, key }))
      if (success.length > 0) await this.txn({ success })
    }
    await this.backing?.dropLease(id)
    this.lessor.forget(id)
  }

  async leaseKeepAlive(id: bigint): Promise<{ id: bigint; ttlSeconds: number }> {
    this.checkOpen()
    return this.lessor.keepAlive(id)
  }

  async leaseTimeToLive(id: bigint): Promise<{ id: bigint; ttlSeconds: number; grantedSeconds: number; keys: string[] }> {
    this.checkOpen()
    return this.lessor.timeToLive(id)
  }

  async leases(): Promise<bigint[]> {
    this.checkOpen()
    return this.lessor.ids()
  }

  async revisionMeta(revision: number): Promise<RevisionMeta | undefined> {
    this.checkOpen()
    if (revision < this.compacted) throw new CompactedError(this.compacted)
    if (revision > this.revision) throw new FutureRevisionError(this.revision)
    await this.hydrateTo(revision)
    return this.entryAt(revision)?.writes.find((w) => w.meta)?.meta
  }

  async compact(revision: number): Promise<void> {
    this.checkOpen()
    if (revision > this.revision) throw new FutureRevisionError(this.revision)
    if (revision <= this.compacted) throw new CompactedError(this.compacted)
    this.compacted = revision
    const drop = revision - (this.entries[0] as Entry).revision
    if (drop > 0) this.entries = this.entries.slice(drop)
    if (!this.backing) return
    const { backing } = this
    const work = this.compacting.then(() => backing.compact(revision))
    this.compacting = work.catch(() => undefined)
    await work
  }

  async size(): Promise<{ totalBytes: number; usedBytes: number }> {
    this.checkOpen()
    if (this.backing) return this.backing.size()
    let bytes = 0
    this.rows().scan('', '\0', (row) => {
      bytes += row.key.length + (row.value?.length ?? 0)
      return true
    })
    return { totalBytes: bytes, usedBytes: bytes }
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.compactTimer?.cancel()
    this.lessor.close()
    await this.flushing
    while (this.queue.length > 0) await this.flush()
    await this.compacting
    this.hub.close(new StoreUnavailableError())
    await this.backing?.close()
  }

  /** What a fork starts from; shares everything with this store. */
  protected snapshot(): MvccState {
    return { revision: this.revision, compactedRevision: this.compacted, rows: this.rows(), entries: this.entries.slice(), leases: [] }
  }

  protected copyLeasesTo(other: MvccKV): void {
    this.lessor.copyTo(other.lessor)
  }

  private rows(): Rows {
    return (this.entries[this.entries.length - 1] as Entry).rows
  }

  private entryAt(revision: number): Entry | undefined {
    return this.entries[revision - (this.entries[0] as Entry).revision]
  }

  private rowsAt(revision: number): Rows {
    if (revision > this.revision) throw new FutureRevisionError(this.revision)
    const entry = revision < this.compacted ? undefined : this.entryAt(revision)
    if (!entry) throw new CompactedError(this.compacted)
    return entry.rows
  }

  private keyValue(row: Row): KeyValue {
    if (!this.backing) return row as KeyValue
    const { value } = row
    if (value === undefined && row.modRevision < this.compacted && this.rows().get(row.key) !== row) {
      // Superseded before the compacted revision: it may be gone at any moment.
      const kept = this.entryAt(this.compacted)?.rows.get(row.key)
      if (kept !== row) throw new CompactedError(this.compacted)
    }
    return {
      key: row.key,
      value: value ?? this.backing.load(row),
      createRevision: row.createRevision,
      modRevision: row.modRevision,
      version: row.version,
      lease: row.lease,
    }
  }

  private evaluate(request: TxnRequest): Evaluated {
    const context: EvaluateContext = {
      nextRevision: this.headRevision + 1,
      keyValue: (row) => this.keyValue(row),
      checkLease: (id) => this.lessor.check(id),
      rowsAt: (revision) => (revision === this.headRevision ? this.headRows : this.rowsAt(revision)),
    }
    return evaluate(request, this.headRows, context)
  }

  private publish(entry: Entry): void {
    this.entries.push(entry)
    for (const write of entry.writes) this.lessor.apply(write)
    this.hub.notify()
    const max = this.maxRevisions()
    if (this.entries.length > 2 * max) this.autoCompact(entry.revision - max)
  }

  private scheduleFlush(): void {
    if (this.flushing || this.flushScheduled) return
    this.flushScheduled = true
    // One turn of the loop collects what all writers have to say.
    setImmediate(() => {
      this.flushScheduled = false
      this.flushing ??= this.clock.track(this.flush()).finally(() => {
        this.flushing = undefined
        // Whoever came between the last look at the queue and now.
        if (this.queue.length > 0) this.scheduleFlush()
      })
    })
  }

  private async flush(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.queue.length > COMMIT_BATCH ? this.queue.splice(0, COMMIT_BATCH) : this.queue
      if (batch === this.queue) this.queue = []
      const entries = batch.flatMap((p) => p.entry ?? [])
      try {
        if (entries.length > 0) await (this.backing as Backing).commit(entries)
      } catch (e) {
        this.rollBack(batch, e)
        continue
      }
      for (const { entry, result, resolve } of batch) {
        if (entry) {
          this.publish(entry)
          for (const write of entry.writes) this.remember(write.row)
        }
        resolve(result)
      }
    }
  }

  /** Nothing of the batch was stored; what was evaluated after it rests on it, so that goes too. */
  private rollBack(batch: Pending[], error: unknown): void {
    const failed = [...batch, ...this.queue]
    this.queue = []
    this.headRows = this.rows()
    this.headRevision = this.revision
    const reason = error instanceof Error ? error : new Error(String(error))
    for (const { reject } of failed) reject(reason)
  }

  /** Puts the value of an older row away when the newest ones fill their share. */
  private remember(row: Row): void {
    const old = this.recent[this.recentAt]
    if (old) old.value = undefined
    this.recent[this.recentAt] = row
    this.recentAt = (this.recentAt + 1) % RECENT_VALUES
  }

  /** Waits until all transactions so far are durable or have failed. */
  private async settled(): Promise<void> {
    if (!this.backing || (this.queue.length === 0 && !this.flushing)) return
    await new Promise<void>((resolve) => {
      const done = () => resolve()
      this.queue.push({ entry: undefined, result: { succeeded: true, revision: 0, results: [] }, resolve: done, reject: done })
      this.scheduleFlush()
    })
  }

  private async hydrateTo(revision: number): Promise<void> {
    if (this.backing && revision >= this.compacted && revision < (this.entries[0] as Entry).revision) await this.hydrate()
  }

  private hydrate(): Promise<void> {
    if (!this.backing) throw new CompactedError(this.compacted)
    const { backing } = this
    this.hydrating ??= backing.history().then((older) => {
      const first = (this.entries[0] as Entry).revision
      const kept = older.filter((e) => e.revision >= this.compacted && e.revision < first)
      // The oldest entry in memory was made without its writes when the store was opened.
      const opened = older.find((e) => e.revision === first)
      const rest = opened && (this.entries[0] as Entry).writes.length === 0 ? [opened, ...this.entries.slice(1)] : this.entries
      this.entries = [...kept, ...rest]
    })
    return this.hydrating
  }

  private checkOpen(): void {
    if (this.closed) throw new StoreUnavailableError()
  }

  private maxRevisions(): number {
    const auto = this.options.autoCompaction
    return auto === false ? Number.POSITIVE_INFINITY : (auto?.maxRevisions ?? 10_000)
  }

  private armCompaction(): void {
    const auto = this.options.autoCompaction
    if (auto === false) return
    this.compactTimer = this.clock.setTimeout(() => {
      this.autoCompact(this.mark)
      this.mark = this.revision
      this.armCompaction()
    }, auto?.intervalMs ?? 300_000)
  }

  private autoCompact(revision: number): void {
    if (revision > this.compacted && revision <= this.revision) void this.compact(revision).catch(() => undefined)
  }
}
