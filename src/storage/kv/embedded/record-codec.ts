import type { RevisionMeta } from '../kv.ts'
import { NO_LEASE, Row, tombstone, type Write } from '../mvcc/row.ts'

/**
 * The bytes of the file. A record is one write, under the key `revision (8) sub (4)`, big-endian:
 *
 *     0  type: 1 put, 2 delete     1  create revision (f64)   9  version (f64)   17 lease (u64)
 *     25 previous revision (f64, 0: none)   33 its sub (u32)   37 key length (u16)   39 meta length (u32)
 *     43 key (UTF-8), meta (JSON, when it has any), value
 *
 * An index entry, under the key itself, tells the newest record of a key:
 *
 *     0  mod revision (f64)   8  sub (u32)   12 create revision (f64)   20 version (f64)   28 lease (u64)
 */
const HEADER = 43
const INDEX = 36
const PUT = 1
const DELETE = 2

export const MAX_KEY_BYTES = 1900

export interface Pointer {
  readonly revision: number
  readonly sub: number
}

export interface RecordHead {
  readonly type: 'put' | 'delete'
  readonly row: Row
  readonly prev: Pointer | undefined
  readonly meta: RevisionMeta | undefined
}

export function recordKey(revision: number, sub: number): Buffer {
  return fillKey(Buffer.allocUnsafe(12), revision, sub)
}

function fillKey(key: Buffer, revision: number, sub: number): Buffer {
  key.writeUInt32BE(Math.floor(revision / 2 ** 32), 0)
  key.writeUInt32BE(revision % 2 ** 32, 4)
  key.writeUInt32BE(sub, 8)
  return key
}

/** Makes keys for reading in one buffer: each is good until the next. */
export class KeyScratch {
  private readonly key = Buffer.allocUnsafe(12)

  of(revision: number, sub: number): Buffer {
    return fillKey(this.key, revision, sub)
  }
}

export function parseRecordKey(key: Uint8Array): Pointer {
  const b = Buffer.from(key.buffer, key.byteOffset, key.byteLength)
  return { revision: Number(b.readBigUInt64BE(0)), sub: b.readUInt32BE(8) }
}

export function encodeRecord(write: Write, value: Uint8Array): Buffer {
  const { row, prev } = write
  const key = Buffer.from(row.key)
  if (key.length > MAX_KEY_BYTES) throw new Error('etcdserver: key is too long')
  const meta = write.meta ? Buffer.from(JSON.stringify(write.meta)) : undefined
  const body = write.type === 'put' ? value : new Uint8Array(0)
  const b = Buffer.allocUnsafe(HEADER + key.length + (meta?.length ?? 0) + body.length)
  b[0] = write.type === 'put' ? PUT : DELETE
  b.writeDoubleBE(row.createRevision, 1)
  b.writeDoubleBE(row.version, 9)
  b.writeBigUInt64BE(BigInt.asUintN(64, row.lease), 17)
  b.writeDoubleBE(prev?.modRevision ?? 0, 25)
  b.writeUInt32BE(prev?.sub ?? 0, 33)
  b.writeUInt16BE(key.length, 37)
  b.writeUInt32BE(meta?.length ?? 0, 39)
  b.set(key, HEADER)
  if (meta) b.set(meta, HEADER + key.length)
  b.set(body, HEADER + key.length + (meta?.length ?? 0))
  return b
}

function view(bytes: Uint8Array): Buffer {
  // LMDB hands out one large buffer with a `length` of its own; `byteLength` is that of the whole.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

export function decodeHead(pointer: Pointer, bytes: Uint8Array): RecordHead {
  const b = view(bytes)
  const keyEnd = HEADER + b.readUInt16BE(37)
  const key = b.toString('utf8', HEADER, keyEnd)
  const metaLength = b.readUInt32BE(39)
  const previous = b.readDoubleBE(25)
  const common = {
    prev: previous > 0 ? { revision: previous, sub: b.readUInt32BE(33) } : undefined,
    meta: metaLength > 0 ? (JSON.parse(b.toString('utf8', keyEnd, keyEnd + metaLength)) as RevisionMeta) : undefined,
  }
  if (b[0] === DELETE) return { type: 'delete', row: tombstone(key, pointer.revision, pointer.sub), ...common }
  if (b[0] !== PUT) throw new Error(`record ${pointer.revision}.${pointer.sub} is of unknown type ${b[0]}`)
  return {
    type: 'put',
    row: new Row(
      {
        key,
        value: undefined,
        createRevision: b.readDoubleBE(1),
        modRevision: pointer.revision,
        version: b.readDoubleBE(9),
        lease: BigInt.asIntN(64, b.readBigUInt64BE(17)),
      },
      pointer.sub,
    ),
    ...common,
  }
}

function byte(b: Uint8Array, at: number): number {
  return b[at] as number
}

/** A copy of the value: `bytes` may be the file's own memory. */
export function decodeValue(bytes: Uint8Array): Buffer {
  const start =
    HEADER + (byte(bytes, 37) << 8) + byte(bytes, 38) + ((byte(bytes, 39) << 24) | (byte(bytes, 40) << 16) | (byte(bytes, 41) << 8) | byte(bytes, 42))
  const out = Buffer.allocUnsafe(bytes.length - start)
  Buffer.prototype.copy.call(bytes, out, 0, start, bytes.length)
  return out
}

export function encodeIndex(row: Row): Buffer {
  const b = Buffer.allocUnsafe(INDEX)
  b.writeDoubleBE(row.modRevision, 0)
  b.writeUInt32BE(row.sub, 8)
  b.writeDoubleBE(row.createRevision, 12)
  b.writeDoubleBE(row.version, 20)
  b.writeBigUInt64BE(BigInt.asUintN(64, row.lease), 28)
  return b
}

/** @param bytes good until the next entry is read; of LMDB's own memory, so that only what it has at offsets can be asked for */
export function decodeIndex(key: string, bytes: Buffer): Row {
  const leased = bytes.readUInt32BE(28) !== 0 || bytes.readUInt32BE(32) !== 0
  return new Row(
    {
      key,
      value: undefined,
      modRevision: bytes.readDoubleBE(0),
      createRevision: bytes.readDoubleBE(12),
      version: bytes.readDoubleBE(20),
      lease: leased ? BigInt.asIntN(64, bytes.readBigUInt64BE(28)) : NO_LEASE,
    },
    bytes.readUInt32BE(8),
  )
}
