import { canonicalize } from '../json/body.ts'
import type { StructSchema } from '../schema/schema.ts'
import { readMessage } from './decode.ts'
import { writeMessage } from './encode.ts'
import { ProtobufError, Reader, ReverseWriter } from './wire.ts'

const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00)

export const PROTOBUF_MEDIA_TYPE = 'application/vnd.kubernetes.protobuf'

/** The envelope around an object: what it is, and its bytes. */
export interface Unknown {
  apiVersion: string
  kind: string
  raw: Uint8Array
  contentEncoding: string
  contentType: string
}

/** Opens `k8s\0` + runtime.Unknown. Throws ProtobufError with upstream's messages. */
export function readEnvelope(data: Uint8Array): Unknown {
  if (data.length === 0) throw new ProtobufError('empty data')
  if (!MAGIC.every((b, i) => data[i] === b)) {
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]')
  }
  if (data.length === MAGIC.length) throw new ProtobufError('empty body')
  const out: Unknown = { apiVersion: '', kind: '', raw: new Uint8Array(), contentEncoding: '', contentType: '' }
  const r = new Reader(data.subarray(MAGIC.length))
  while (r.at < r.end) {
    const tag = r.varint()
    if (tag === 10) {
      const outer = r.enter()
      while (r.at < r.end) {
        const inner = r.varint()
        if (inner === 10) out.apiVersion = r.string()
        else if (inner === 18) out.kind = r.string()
        else r.skip(inner % 8)
      }
      r.leave(outer)
    } else if (tag === 18) out.raw = r.bytes()
    else if (tag === 26) out.contentEncoding = r.string()
    else if (tag === 34) out.contentType = r.string()
    else r.skip(tag % 8)
  }
  return out
}

function writeEnvelope(object: Readonly<Record<string, unknown>>, schema: StructSchema, w: ReverseWriter): void {
  w.string('')
  w.tag(4, 2)
  w.string('')
  w.tag(3, 2)
  const before = w.length
  writeMessage(object, schema, w)
  w.varint(w.length - before)
  w.tag(2, 2)
  const meta = w.length
  w.string(typeof object.kind === 'string' && schema.byName.has('kind') ? object.kind : '')
  w.tag(2, 2)
  w.string(typeof object.apiVersion === 'string' && schema.byName.has('apiVersion') ? object.apiVersion : '')
  w.tag(1, 2)
  w.varint(w.length - meta)
  w.tag(1, 2)
  w.bytes(MAGIC)
}

/** An object in its protobuf envelope. */
export function encodeProtobuf(object: Readonly<Record<string, unknown>>, schema: StructSchema): Uint8Array {
  const w = new ReverseWriter()
  writeEnvelope(object, schema, w)
  return w.finish()
}

/** Decodes an enveloped object into canonical form; the kind is the envelope's. Throws ProtobufError or DecodeError. */
export function decodeProtobuf(data: Uint8Array, schema: StructSchema): Record<string, unknown> {
  return decodeUnknown(readEnvelope(data), schema)
}

/** Decodes the content of an envelope that is already open. */
export function decodeUnknown(unknown: Unknown, schema: StructSchema): Record<string, unknown> {
  const value = readMessage(new Reader(unknown.raw), schema)
  if (schema.byName.has('kind')) {
    if (unknown.kind !== '') value.kind = unknown.kind
    if (unknown.apiVersion !== '') value.apiVersion = unknown.apiVersion
  }
  return canonicalize(value, schema).object
}

/** A bare message, without envelope, in canonical form. */
export function decodeMessage(data: Uint8Array, schema: StructSchema): Record<string, unknown> {
  return canonicalize(readMessage(new Reader(data), schema), schema).object
}

/** A watch event as a stream carries it: 4-byte big-endian length, then WatchEvent {type = 1, object = 2 {raw = 1}} with an enveloped object. */
export function encodeWatchFrame(type: string, object: Readonly<Record<string, unknown>>, schema: StructSchema): Uint8Array {
  const w = new ReverseWriter()
  writeEnvelope(object, schema, w)
  return frameEvent(type, w)
}

/** Like `encodeWatchFrame`, of an object whose enveloped bytes are at hand. */
export function encodeWatchFrameRaw(type: string, enveloped: Uint8Array): Uint8Array {
  const w = new ReverseWriter()
  w.bytes(enveloped)
  return frameEvent(type, w)
}

function frameEvent(type: string, w: ReverseWriter): Uint8Array {
  w.varint(w.length)
  w.tag(1, 2)
  w.varint(w.length)
  w.tag(2, 2)
  w.string(type)
  w.tag(1, 2)
  const n = w.length
  w.bytes(Uint8Array.of(n >>> 24, n >>> 16, n >>> 8, n))
  return w.finish()
}

export interface RawWatchEvent {
  type: string
  /** The enveloped object. */
  object: Uint8Array
}

/** The watch event of one frame, without the frame's length. */
export function decodeWatchEvent(message: Uint8Array): RawWatchEvent {
  const out: RawWatchEvent = { type: '', object: new Uint8Array() }
  const r = new Reader(message)
  while (r.at < r.end) {
    const tag = r.varint()
    if (tag === 10) out.type = r.string()
    else if (tag === 18) {
      const outer = r.enter()
      while (r.at < r.end) {
        const inner = r.varint()
        if (inner === 10) out.object = r.bytes()
        else r.skip(inner % 8)
      }
      r.leave(outer)
    } else r.skip(tag % 8)
  }
  return out
}

/** Cuts a byte stream into length-prefixed frames, whatever the chunks. Throws ProtobufError on a frame over the limit. */
export class FrameSplitter {
  private chunks: Uint8Array[] = []
  private total = 0
  /** Bytes without which nothing can be cut: chunks are joined once they are there, not each time one comes. */
  private need = 4
  private readonly limit: number

  /** @param limit largest frame in bytes */
  constructor(limit = 16 * 1024 * 1024) {
    this.limit = limit
  }

  push(chunk: Uint8Array): Uint8Array[] {
    this.chunks.push(chunk)
    this.total += chunk.length
    if (this.total < this.need) return []
    const data = this.joined()
    const out: Uint8Array[] = []
    let at = 0
    this.need = 4
    while (data.length - at >= 4) {
      const n = ((data[at] as number) << 24) | ((data[at + 1] as number) << 16) | ((data[at + 2] as number) << 8) | (data[at + 3] as number)
      if (n < 0 || n > this.limit) throw new ProtobufError(`proto: frame of ${n >>> 0} bytes exceeds ${this.limit}`)
      if (data.length - at - 4 < n) {
        this.need = 4 + n
        break
      }
      out.push(data.subarray(at + 4, at + 4 + n))
      at += 4 + n
    }
    this.chunks = at < data.length ? [data.subarray(at)] : []
    this.total = data.length - at
    return out
  }

  private joined(): Uint8Array {
    if (this.chunks.length === 1) return this.chunks[0] as Uint8Array
    const data = new Uint8Array(this.total)
    let at = 0
    for (const c of this.chunks) {
      data.set(c, at)
      at += c.length
    }
    return data
  }
}
