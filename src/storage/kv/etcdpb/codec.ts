import { ProtobufError, Reader, ReverseWriter } from '../../../apimachinery/protobuf/wire.ts'

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

const VARINT = 0
const BYTES = 2

/** A table in the forms the codec reads. */
interface Plan {
  /** Last first, as fields are written. */
  readonly descending: readonly (readonly [string, Field])[]
  readonly byNumber: ReadonlyMap<number, readonly [string, Field]>
}

const plans = new WeakMap<MessageTable, Plan>()

function planOf(table: MessageTable): Plan {
  let plan = plans.get(table)
  if (!plan) {
    const fields = Object.entries(table)
    plan = { descending: [...fields].reverse(), byNumber: new Map(fields.map((entry) => [entry[1].n, entry])) }
    plans.set(table, plan)
  }
  return plan
}

export function encodeMessage(table: MessageTable, message: Message): Buffer {
  const w = new ReverseWriter()
  writeMessage(w, table, message)
  const bytes = w.finish()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function writeMessage(w: ReverseWriter, table: MessageTable, message: Message): void {
  for (const [name, { n, type, repeated }] of planOf(table).descending) {
    const value = message[name]
    if (!repeated) {
      if (!isZero(type, value)) writeField(w, n, type, value)
      continue
    }
    const items = value as unknown[] | undefined
    if (items) for (let i = items.length - 1; i >= 0; i--) writeField(w, n, type, items[i])
  }
}

function writeField(w: ReverseWriter, n: number, type: Field['type'], value: unknown): void {
  switch (type) {
    case 'int':
      w.int64(Math.trunc(value as number))
      break
    case 'big':
      w.int64(BigInt.asIntN(64, value as bigint))
      break
    case 'bool':
      w.varint(value ? 1 : 0)
      break
    case 'string':
      w.string(value as string)
      w.tag(n, BYTES)
      return
    case 'bytes':
      w.bytes(value as Uint8Array)
      w.varint((value as Uint8Array).length)
      w.tag(n, BYTES)
      return
    default: {
      const end = w.length
      writeMessage(w, type(), value as Message)
      w.varint(w.length - end)
      w.tag(n, BYTES)
      return
    }
  }
  w.tag(n, VARINT)
}

function isZero(type: Field['type'], value: unknown): boolean {
  if (value === undefined) return true
  if (type === 'int') return value === 0
  if (type === 'big') return value === 0n
  if (type === 'bool') return value === false
  if (type === 'string' || type === 'bytes') return (value as Uint8Array | string).length === 0
  return false
}

const NOTHING = new Uint8Array(0)

function zero(type: Field['type']): unknown {
  if (type === 'int') return 0
  if (type === 'big') return 0n
  if (type === 'bool') return false
  if (type === 'string') return ''
  return type === 'bytes' ? NOTHING : undefined
}

const isVarint = (type: Field['type']) => type === 'int' || type === 'big' || type === 'bool'

export function decodeMessage(table: MessageTable, bytes: Uint8Array): Message {
  return readMessage(new Reader(bytes), table)
}

function readMessage(r: Reader, table: MessageTable): Message {
  const { descending, byNumber } = planOf(table)
  const out: Message = {}
  for (let i = descending.length - 1; i >= 0; i--) {
    const [name, { type, repeated }] = descending[i] as readonly [string, Field]
    out[name] = repeated ? [] : zero(type)
  }
  while (r.at < r.end) {
    const tag = r.varint()
    const wire = tag % 8
    const found = byNumber.get(Math.floor(tag / 8))
    if (!found) {
      r.skip(wire)
      continue
    }
    const [name, { type, repeated }] = found
    if (!repeated) out[name] = readField(r, type, wire)
    else if (wire === BYTES && isVarint(type)) {
      const outer = r.enter()
      while (r.at < r.end) (out[name] as unknown[]).push(readField(r, type, VARINT))
      r.leave(outer)
    } else (out[name] as unknown[]).push(readField(r, type, wire))
  }
  return out
}

function readField(r: Reader, type: Field['type'], wire: number): unknown {
  const expected = isVarint(type) ? VARINT : BYTES
  if (wire !== expected) throw new ProtobufError(`proto: wrong wireType = ${wire}`)
  switch (type) {
    case 'int':
      return r.int64()
    case 'big':
      return r.bigint64()
    case 'bool':
      return r.varint() !== 0
    case 'string':
      return r.string()
    case 'bytes':
      // A view would keep the whole message, and what is stored lives long.
      return Buffer.from(r.bytes())
    default: {
      const outer = r.enter()
      const message = readMessage(r, type())
      r.leave(outer)
      return message
    }
  }
}
