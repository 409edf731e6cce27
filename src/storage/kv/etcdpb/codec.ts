/**
 * Protobuf for a handful of messages told as tables. Integers are numbers (`int`) where they are counts and revisions, bigints (`big`)
 * where they are ids. Missing scalars decode to their zero, missing messages to undefined.
 */
export type Scalar = 'int' | 'big' | 'bool' | 'bytes' | 'string'

export interface Field {
  readonly n: number
  readonly type: Scalar | (() => MessageTable)
  readonly repeated?: boolean
}

export type MessageTable = Readonly<Record<string, Field>>

/** The JavaScript form of a message. */
export type Message = Record<string, unknown>

export class ProtobufError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ProtobufError'
  }
}

class Writer {
  private readonly parts: Uint8Array[] = []
  private chunk = Buffer.allocUnsafe(256)
  private at = 0
  private size = 0

  private room(n: number): void {
    if (this.chunk.length - this.at >= n) return
    this.parts.push(this.chunk.subarray(0, this.at))
    this.size += this.at
    this.chunk = Buffer.allocUnsafe(Math.max(256, n))
    this.at = 0
  }

  varint(value: number): void {
    if (value < 0 || !Number.isSafeInteger(value)) {
      this.big(BigInt(Math.trunc(value)))
      return
    }
    this.room(10)
    let v = value
    while (v > 0x7f) {
      this.chunk[this.at++] = (v % 128) | 0x80
      v = Math.floor(v / 128)
    }
    this.chunk[this.at++] = v
  }

  big(value: bigint): void {
    this.room(10)
    let v = BigInt.asUintN(64, value)
    while (v > 0x7fn) {
      this.chunk[this.at++] = Number(v & 0x7fn) | 0x80
      v >>= 7n
    }
    this.chunk[this.at++] = Number(v)
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length)
    if (value.length <= 4096) {
      this.room(value.length)
      this.chunk.set(value, this.at)
      this.at += value.length
      return
    }
    // Long values are not copied twice.
    this.parts.push(this.chunk.subarray(0, this.at), value)
    this.size += this.at + value.length
    this.chunk = Buffer.allocUnsafe(256)
    this.at = 0
  }

  finish(): Buffer {
    this.parts.push(this.chunk.subarray(0, this.at))
    this.size += this.at
    return this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts, this.size)
  }
}

const VARINT = 0
const BYTES = 2

function encodeOne(w: Writer, n: number, type: Field['type'], value: unknown): void {
  switch (type) {
    case 'int':
      w.varint(n * 8 + VARINT)
      w.varint(value as number)
      break
    case 'big':
      w.varint(n * 8 + VARINT)
      w.big(value as bigint)
      break
    case 'bool':
      w.varint(n * 8 + VARINT)
      w.varint(value ? 1 : 0)
      break
    case 'string':
      w.varint(n * 8 + BYTES)
      w.bytes(Buffer.from(value as string))
      break
    case 'bytes':
      w.varint(n * 8 + BYTES)
      w.bytes(value as Uint8Array)
      break
    default:
      w.varint(n * 8 + BYTES)
      w.bytes(encodeMessage(type(), value as Message))
  }
}

function isZero(type: Field['type'], value: unknown): boolean {
  if (value === undefined) return true
  if (type === 'int') return value === 0
  if (type === 'big') return value === 0n
  if (type === 'bool') return value === false
  if (type === 'string' || type === 'bytes') return (value as Uint8Array | string).length === 0
  return false
}

export function encodeMessage(table: MessageTable, message: Message): Buffer {
  const w = new Writer()
  for (const [name, { n, type, repeated }] of Object.entries(table)) {
    const value = message[name]
    if (repeated) for (const item of (value as unknown[] | undefined) ?? []) encodeOne(w, n, type, item)
    else if (!isZero(type, value)) encodeOne(w, n, type, value)
  }
  return w.finish()
}

const MAX_DEPTH = 100

class Reader {
  readonly bytes: Buffer
  at = 0
  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  varint(): number {
    let value = 0
    let factor = 1
    const start = this.at
    for (let i = 0; i < 7; i++) {
      const b = this.byte()
      value += (b & 0x7f) * factor
      if (b < 0x80) return value
      factor *= 128
    }
    this.at = start
    return Number(BigInt.asIntN(64, this.big()))
  }

  big(): bigint {
    let value = 0n
    for (let i = 0n; i < 10n; i++) {
      const b = this.byte()
      value |= BigInt(b & 0x7f) << (7n * i)
      if (b < 0x80) return BigInt.asIntN(64, value)
    }
    throw new ProtobufError('varint is too long')
  }

  chunk(): Buffer {
    const length = this.varint()
    if (length < 0 || this.at + length > this.bytes.length) throw new ProtobufError('message is cut short')
    const out = this.bytes.subarray(this.at, this.at + length)
    this.at += length
    return out
  }

  skip(wire: number): void {
    if (wire === VARINT) this.big()
    else if (wire === BYTES) this.chunk()
    else if (wire === 1 || wire === 5) {
      this.at += wire === 1 ? 8 : 4
      if (this.at > this.bytes.length) throw new ProtobufError('message is cut short')
    } else throw new ProtobufError(`unknown wire type ${wire}`)
  }

  private byte(): number {
    const b = this.bytes[this.at++]
    if (b === undefined) throw new ProtobufError('message is cut short')
    return b
  }
}

const NOTHING = new Uint8Array(0)

function zero(type: Field['type']): unknown {
  if (type === 'int') return 0
  if (type === 'big') return 0n
  if (type === 'bool') return false
  if (type === 'string') return ''
  return type === 'bytes' ? NOTHING : undefined
}

function decodeOne(r: Reader, type: Field['type'], wire: number, depth: number): unknown {
  const expected = type === 'int' || type === 'big' || type === 'bool' ? VARINT : BYTES
  if (wire !== expected) throw new ProtobufError(`wire type ${wire} where ${expected} belongs`)
  if (type === 'int') return r.varint()
  if (type === 'big') return r.big()
  if (type === 'bool') return r.varint() !== 0
  if (type === 'string') return r.chunk().toString('utf8')
  // A view would keep the whole message, and what is stored lives long.
  if (type === 'bytes') return Buffer.from(r.chunk())
  return decodeMessage(type(), r.chunk(), depth + 1)
}

const byNumber = new WeakMap<MessageTable, Map<number, [string, Field]>>()

export function decodeMessage(table: MessageTable, bytes: Uint8Array, depth = 0): Message {
  if (depth > MAX_DEPTH) throw new ProtobufError('message is nested too deep')
  let fields = byNumber.get(table)
  if (!fields) {
    fields = new Map(Object.entries(table).map(([name, field]) => [field.n, [name, field]]))
    byNumber.set(table, fields)
  }
  const out: Message = {}
  for (const [name, { type, repeated }] of Object.entries(table)) out[name] = repeated ? [] : zero(type)
  const r = new Reader(bytes)
  while (r.at < r.bytes.length) {
    const tag = r.varint()
    const wire = tag % 8
    const found = fields.get(Math.floor(tag / 8))
    if (!found) {
      r.skip(wire)
      continue
    }
    const [name, { type, repeated }] = found
    if (!repeated) out[name] = decodeOne(r, type, wire, depth)
    else if (wire === BYTES && (type === 'int' || type === 'big' || type === 'bool')) {
      const packed = new Reader(r.chunk())
      while (packed.at < packed.bytes.length) (out[name] as unknown[]).push(decodeOne(packed, type, VARINT, depth))
    } else (out[name] as unknown[]).push(decodeOne(r, type, wire, depth))
  }
  return out
}
