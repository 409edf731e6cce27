import { yielder } from '../../../base/yielder.ts'
import { CompactedError } from '../kv.ts'
import type { Backing } from '../mvcc/backing.ts'
import type { Entry, Row, Rows, Write } from '../mvcc/row.ts'
import { durable, fileSize, freeBytes, type LmdbFile } from './lmdb-file.ts'
import { decodeHead, decodeValue, encodeIndex, encodeRecord, KeyScratch, type Pointer, parseRecordKey, type RecordHead, recordKey } from './record-codec.ts'

/**
 * Changes values on their way to the file and back; encryption at rest is one. Called for every value, so it must be fast and must not
 * wait.
 */
export interface ValueTransformer {
  /** Written into the file; a file is only opened with the transformer it was made with. */
  readonly id: string
  encode(key: string, value: Uint8Array): Uint8Array
  decode(key: string, stored: Uint8Array): Uint8Array
}

export const FACT = {
  format: Buffer.from('format'),
  /** The compacted revision that readers are held to. */
  compacted: Buffer.from('compacted'),
  /** Compaction has removed everything up to here. */
  swept: Buffer.from('swept'),
  /** The index is true for this revision or newer ones. */
  checkpoint: Buffer.from('checkpoint'),
}

/** Keys that may differ from the index before it is brought up to date: opening the store reads as many records. */
const MAX_DIRTY = 20_000
/** Writes of background work that go into one commit. */
const STEP = 500
/** Bytes above the reserve from which on the disk is not asked about each commit, and after how many commits it is. */
const AMPLE = 256 * 1024 * 1024
const ASK_EVERY = 64

/** The disk is (nearly) full: nothing new is taken; reading and deleting go on. */
export class SpaceExceededError extends Error {
  constructor() {
    super('etcdserver: mvcc: database space exceeded')
    this.name = 'SpaceExceededError'
  }
}

export class EmbeddedBacking implements Backing {
  private readonly file: LmdbFile
  private readonly transformer: ValueTransformer | undefined
  private readonly unlock: () => void
  private readonly reserveBytes: number
  private readonly openedAt: { revision: number; rows: Rows }
  private dirty: Map<string, Row | undefined>
  private lastRevision: number
  private swept: number
  private readonly scratch = new KeyScratch()
  /** Bytes that may still be written before the reserve is touched, as far as is known. */
  private spare = 0
  private commitsUntilAsked = 0
  private checkpointing: Promise<void> | undefined

  constructor(
    file: LmdbFile,
    state: { revision: number; rows: Rows; swept: number; dirty: Map<string, Row | undefined> },
    options: { transformer: ValueTransformer | undefined; reserveBytes: number; unlock: () => void },
  ) {
    this.file = file
    this.openedAt = { revision: state.revision, rows: state.rows }
    this.lastRevision = state.revision
    this.swept = state.swept
    this.dirty = state.dirty
    this.transformer = options.transformer
    this.unlock = options.unlock
    this.reserveBytes = options.reserveBytes
  }

  load(row: Row): Uint8Array {
    const bytes = this.file.records.getBinaryFast(this.scratch.of(row.modRevision, row.sub))
    if (!bytes) throw new CompactedError(this.lastRevision)
    const value = decodeValue(bytes)
    return this.transformer ? this.transformer.decode(row.key, value) : value
  }

  async commit(entries: readonly Entry[]): Promise<void> {
    const { records } = this.file
    // Encoding comes first: what throws must not leave half a transaction in the turn's batch.
    const encoded: [Buffer, Buffer][] = []
    for (const { revision, writes } of entries) {
      for (const write of writes) encoded.push([recordKey(revision, write.row.sub), encodeRecord(write, this.valueOf(write))])
    }
    if (this.reserveBytes > 0 && entries.some((e) => e.writes.some((w) => w.type === 'put'))) {
      // Deleting must stay possible, and LMDB must not meet the end of the disk in the middle of a commit.
      let wanted = 0
      for (const [, bytes] of encoded) wanted += bytes.length
      if (!this.hasSpaceFor(2 * wanted)) throw new SpaceExceededError()
    }
    const done: Promise<unknown>[] = []
    for (const [key, bytes] of encoded) done.push(records.put(key, bytes))
    await durable(done)
    for (const { revision, writes } of entries) {
      for (const { type, row } of writes) this.dirty.set(row.key, type === 'put' ? row : undefined)
      this.lastRevision = revision
    }
    if (this.dirty.size > MAX_DIRTY) void this.checkpoint().catch(() => undefined)
  }

  /** Asks the disk when it was full, nearly so, or not asked for some time; in between it is counted down. */
  private hasSpaceFor(bytes: number): boolean {
    this.commitsUntilAsked--
    this.spare -= bytes
    if (this.spare < AMPLE || this.commitsUntilAsked <= 0) {
      this.spare = freeBytes(this.file) - this.reserveBytes - bytes
      this.commitsUntilAsked = ASK_EVERY
    }
    return this.spare >= 0
  }

  async history(): Promise<Entry[]> {
    const { revision: last } = this.openedAt
    const first = this.number(FACT.compacted, 0)
    const writes = new Map<number, Write[]>()
    const tick = yielder()
    for (const { key, value } of this.file.records.getRange({ start: recordKey(Math.max(1, first), 0), end: recordKey(last + 1, 0) })) {
      const pointer = parseRecordKey(key)
      const { type, row, prev, meta } = decodeHead(pointer, value)
      const before = prev && this.head(prev)
      const list = writes.get(pointer.revision)
      const write: Write = { type, row, prev: before?.row, meta }
      if (list) list.push(write)
      else writes.set(pointer.revision, [write])
      await tick()
    }
    const entries: Entry[] = []
    let rows = this.openedAt.rows
    for (let revision = last; revision >= Math.max(1, first); revision--) {
      const list = writes.get(revision) ?? []
      entries.push({ revision, writes: list, rows })
      if (revision > first) for (const { row, prev } of [...list].reverse()) rows = prev ? rows.set(prev) : rows.delete(row.key)
      await tick()
    }
    return entries.reverse()
  }

  async compact(revision: number): Promise<void> {
    const { records, facts } = this.file
    await durable([facts.put(FACT.compacted, numberBytes(revision))])
    // The index must not point at what goes now.
    await this.checkpoint()
    const start = recordKey(this.swept + 1, 0)
    const tick = yielder()
    let doomed: Buffer[] = []
    const sweep = async () => {
      const batch = doomed
      doomed = []
      await durable(batch.map((key) => records.remove(key)))
    }
    for (const { key, value } of records.getRange({ start, end: recordKey(revision + 1, 0) })) {
      const pointer = parseRecordKey(key)
      const { type, prev } = decodeHead(pointer, value)
      if (prev) doomed.push(recordKey(prev.revision, prev.sub))
      // A deletion at the compacted revision itself can still be watched from there.
      if (type === 'delete' && pointer.revision < revision) doomed.push(Buffer.from(key))
      if (doomed.length >= STEP) await sweep()
      await tick()
    }
    await sweep()
    // The revision itself is looked at again next time, for its deletions.
    this.swept = revision - 1
    await durable([facts.put(FACT.swept, numberBytes(this.swept))])
  }

  async saveLease(id: bigint, ttlSeconds: number): Promise<void> {
    await durable([this.file.leases.put(leaseKey(id), numberBytes(ttlSeconds))])
  }

  async dropLease(id: bigint): Promise<void> {
    await durable([this.file.leases.remove(leaseKey(id))])
  }

  async size(): Promise<{ totalBytes: number; usedBytes: number }> {
    return fileSize(this.file)
  }

  async close(): Promise<void> {
    try {
      await this.checkpoint().catch(() => undefined)
      await this.file.root.close()
    } finally {
      this.unlock()
    }
  }

  /** Brings the index up to the last commit. */
  private checkpoint(): Promise<void> {
    this.checkpointing ??= this.writeIndex().finally(() => {
      this.checkpointing = undefined
    })
    return this.checkpointing
  }

  private async writeIndex(): Promise<void> {
    const { index, facts } = this.file
    const { dirty, lastRevision } = this
    if (dirty.size === 0) return
    this.dirty = new Map()
    try {
      let done: Promise<unknown>[] = []
      for (const [key, row] of dirty) {
        const bytes = Buffer.from(key)
        done.push(row ? index.put(bytes, encodeIndex(row)) : index.remove(bytes))
        if (done.length >= STEP) {
          await durable(done)
          done = []
        }
      }
      await durable([...done, facts.put(FACT.checkpoint, numberBytes(lastRevision))])
    } catch (e) {
      for (const [key, row] of this.dirty) dirty.set(key, row)
      this.dirty = dirty
      throw e
    }
  }

  private valueOf({ type, row }: Write): Uint8Array {
    const value = row.value as Uint8Array
    return type === 'put' && this.transformer ? this.transformer.encode(row.key, value) : value
  }

  private head(pointer: Pointer): RecordHead | undefined {
    const bytes = this.file.records.getBinaryFast(recordKey(pointer.revision, pointer.sub))
    return bytes && decodeHead(pointer, bytes)
  }

  private number(fact: Buffer, otherwise: number): number {
    return readNumber(this.file.facts.get(fact), otherwise)
  }
}

export function numberBytes(n: number): Buffer {
  const b = Buffer.allocUnsafe(8)
  b.writeDoubleBE(n, 0)
  return b
}

export function readNumber(bytes: Uint8Array | undefined, otherwise: number): number {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readDoubleBE(0) : otherwise
}

function leaseKey(id: bigint): Buffer {
  const b = Buffer.allocUnsafe(8)
  b.writeBigUInt64BE(BigInt.asUintN(64, id), 0)
  return b
}

export function readLeaseKey(key: Uint8Array): bigint {
  return BigInt.asIntN(64, Buffer.from(key.buffer, key.byteOffset, key.byteLength).readBigUInt64BE(0))
}
