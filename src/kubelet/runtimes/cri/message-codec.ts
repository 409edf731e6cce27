/**
 * Protobuf messages by table, for gRPC peers whose messages are not API objects. Decoded messages are plain objects with every field
 * present (proto3 zero values, empty lists and maps; absent messages are undefined). 64-bit integers are JavaScript numbers:
 * above 2^53 they lose their last digits, which for nanosecond timestamps is a quarter of a microsecond.
 */
export interface MessageTable {
  /** Field: name, number, type, then 1 for a list, or the value's type for a 'map' (string keys). */
  messages: Record<string, (readonly [string, number, string, (1 | string)?])[]>
  enums: Record<string, Record<string, number>>
}

export type Message = Record<string, unknown>

interface FieldCodec {
  name: string
  number: number
  type: string
  list: boolean
  mapOf: string | undefined
  wire: number
}

const LENGTH = 2

export class MessageCodec {
  private readonly table: MessageTable
  private readonly fields = new Map<string, FieldCodec[]>()
  private readonly byNumber = new Map<string, Map<number, FieldCodec>>()
  private readonly enumNames = new Map<string, Map<number, string>>()

  constructor(table: MessageTable) {
    this.table = table
    for (const [name, values] of Object.entries(table.enums)) this.enumNames.set(name, new Map(Object.entries(values).map(([n, v]) => [v, n])))
  }

  encode(type: string, message: Message): Uint8Array {
    const out = new Writer()
    this.write(type, message, out)
    return out.finish()
  }

  decode(type: string, bytes: Uint8Array): Message {
    return this.read(type, new Reader(bytes), bytes.length)
  }

  private codecs(type: string): FieldCodec[] {
    let list = this.fields.get(type)
    if (!list) {
      const table = this.table.messages[type]
      if (!table) throw new Error(`protobuf: no message ${type}`)
      list = table.map(([name, number, t, extra]) => {
        const mapOf = t === 'map' ? (extra as string) : undefined
        return { name, number, type: t, list: extra === 1, mapOf, wire: this.wireOf(t) }
      })
      this.fields.set(type, list)
      this.byNumber.set(type, new Map(list.map((f) => [f.number, f])))
    }
    return list
  }

  private wireOf(type: string): number {
    switch (type) {
      case 'string':
      case 'bytes':
      case 'map':
        return LENGTH
      case 'double':
        return 1
      case 'bool':
      case 'int32':
      case 'uint32':
      case 'int64':
      case 'uint64':
        return 0
      default:
        return this.table.enums[type] ? 0 : LENGTH
    }
  }

  private write(type: string, message: Message, out: Writer): void {
    for (const f of this.codecs(type)) {
      const value = message[f.name]
      if (value === undefined || value === null) continue
      if (f.mapOf !== undefined) {
        for (const [k, v] of Object.entries(value as Record<string, unknown>)) {
          const entry = new Writer()
          entry.tag(1, LENGTH)
          entry.bytes(encodeText(k))
          this.writeValue(2, f.mapOf, v, entry)
          out.tag(f.number, LENGTH)
          out.bytes(entry.finish())
        }
      } else if (f.list) {
        if (f.wire === LENGTH) for (const v of value as unknown[]) this.writeValue(f.number, f.type, v, out, true)
        else if ((value as unknown[]).length > 0) {
          const packed = new Writer()
          for (const v of value as unknown[]) packed.scalar(f.wire, this.number(f.type, v))
          out.tag(f.number, LENGTH)
          out.bytes(packed.finish())
        }
      } else this.writeValue(f.number, f.type, value, out)
    }
  }

  private writeValue(number: number, type: string, value: unknown, out: Writer, evenZero = false): void {
    const wire = this.wireOf(type)
    if (wire !== LENGTH) {
      const n = this.number(type, value)
      if (n === 0 && !evenZero) return
      out.tag(number, wire)
      out.scalar(wire, n)
      return
    }
    let bytes: Uint8Array
    if (type === 'string') bytes = encodeText(value as string)
    else if (type === 'bytes') bytes = typeof value === 'string' ? encodeText(value) : (value as Uint8Array)
    else {
      const inner = new Writer()
      this.write(type, value as Message, inner)
      bytes = inner.finish()
      evenZero = true
    }
    if (bytes.length === 0 && !evenZero) return
    out.tag(number, LENGTH)
    out.bytes(bytes)
  }

  private number(type: string, value: unknown): number {
    if (typeof value === 'boolean') return value ? 1 : 0
    if (typeof value === 'string') {
      const n = this.table.enums[type]?.[value]
      if (n === undefined) throw new Error(`protobuf: ${value} is no value of ${type}`)
      return n
    }
    return value as number
  }

  private read(type: string, reader: Reader, end: number): Message {
    const message: Message = {}
    for (const f of this.codecs(type)) message[f.name] = f.mapOf !== undefined ? {} : f.list ? [] : this.zero(f.type)
    const byNumber = this.byNumber.get(type) as Map<number, FieldCodec>
    while (reader.at < end) {
      const tag = reader.varint()
      const wire = tag & 7
      const f = byNumber.get(Math.floor(tag / 8))
      if (!f) {
        reader.skip(wire)
        continue
      }
      if (f.mapOf !== undefined) {
        const stop = reader.varint() + reader.at
        let key = ''
        let value: unknown = this.zero(f.mapOf)
        while (reader.at < stop) {
          const t = reader.varint()
          if (Math.floor(t / 8) === 1) key = this.readValue('string', reader) as string
          else if (Math.floor(t / 8) === 2) value = this.readValue(f.mapOf, reader)
          else reader.skip(t & 7)
        }
        Object.defineProperty(message[f.name], key, { value, enumerable: true, configurable: true, writable: true })
      } else if (f.list) {
        const list = message[f.name] as unknown[]
        if (wire === LENGTH && f.wire !== LENGTH) {
          const stop = reader.varint() + reader.at
          while (reader.at < stop) list.push(this.readValue(f.type, reader))
        } else list.push(this.readValue(f.type, reader))
      } else message[f.name] = this.readValue(f.type, reader)
    }
    return message
  }

  private zero(type: string): unknown {
    switch (type) {
      case 'string':
        return ''
      case 'bytes':
        return EMPTY
      case 'bool':
        return false
      case 'double':
      case 'int32':
      case 'uint32':
      case 'int64':
      case 'uint64':
        return 0
      default:
        return this.enumNames.get(type)?.get(0)
    }
  }

  private readValue(type: string, reader: Reader): unknown {
    switch (type) {
      case 'string':
        return decodeText(reader.take(reader.varint()))
      case 'bytes':
        return reader.take(reader.varint())
      case 'bool':
        return reader.varint() !== 0
      case 'double':
        return reader.double()
      case 'int32':
      case 'int64':
        return reader.signed()
      case 'uint32':
      case 'uint64':
        return reader.varint()
      default: {
        const names = this.enumNames.get(type)
        if (names) {
          const n = reader.varint()
          return names.get(n) ?? n
        }
        const length = reader.varint()
        return this.read(type, reader, reader.at + length)
      }
    }
  }
}

const EMPTY = new Uint8Array(0)
const encodeText = (s: string) => new TextEncoder().encode(s)
const decodeText = (b: Uint8Array) => new TextDecoder().decode(b)

class Writer {
  private buffer = new Uint8Array(128)
  private at = 0

  private room(n: number): void {
    if (this.at + n <= this.buffer.length) return
    const bigger = new Uint8Array(Math.max(this.buffer.length * 2, this.at + n))
    bigger.set(this.buffer.subarray(0, this.at))
    this.buffer = bigger
  }

  varint(value: number): void {
    this.room(10)
    if (value < 0) {
      // Two's complement in 64 bits.
      let big = BigInt.asUintN(64, BigInt(Math.trunc(value)))
      while (big >= 0x80n) {
        this.buffer[this.at++] = Number(big & 0x7fn) | 0x80
        big >>= 7n
      }
      this.buffer[this.at++] = Number(big)
      return
    }
    while (value >= 0x80) {
      this.buffer[this.at++] = (value % 0x80) | 0x80
      value = Math.floor(value / 0x80)
    }
    this.buffer[this.at++] = value
  }

  tag(number: number, wire: number): void {
    this.varint(number * 8 + wire)
  }

  scalar(wire: number, value: number): void {
    if (wire === 0) return this.varint(value)
    this.room(8)
    new DataView(this.buffer.buffer, this.buffer.byteOffset).setFloat64(this.at, value, true)
    this.at += 8
  }

  bytes(b: Uint8Array): void {
    this.varint(b.length)
    this.room(b.length)
    this.buffer.set(b, this.at)
    this.at += b.length
  }

  finish(): Uint8Array {
    return this.buffer.subarray(0, this.at)
  }
}

class Reader {
  at = 0
  private readonly b: Uint8Array

  constructor(bytes: Uint8Array) {
    this.b = bytes
  }

  private byte(): number {
    const x = this.b[this.at++]
    if (x === undefined) throw new Error('protobuf: message ends too early')
    return x
  }

  varint(): number {
    let value = 0
    let factor = 1
    for (let i = 0; i < 10; i++) {
      const x = this.byte()
      value += (x & 0x7f) * factor
      if (x < 0x80) return value
      factor *= 0x80
    }
    throw new Error('protobuf: varint of more than 10 bytes')
  }

  signed(): number {
    const start = this.at
    const value = this.varint()
    if (this.at - start < 10) return value
    let big = 0n
    for (let i = start, shift = 0n; i < this.at; i++, shift += 7n) big |= BigInt((this.b[i] as number) & 0x7f) << shift
    return Number(BigInt.asIntN(64, big))
  }

  double(): number {
    const at = this.at
    this.at += 8
    return new DataView(this.b.buffer, this.b.byteOffset + at, 8).getFloat64(0, true)
  }

  take(length: number): Uint8Array {
    if (this.at + length > this.b.length) throw new Error('protobuf: message ends too early')
    const out = this.b.subarray(this.at, this.at + length)
    this.at += length
    return out
  }

  skip(wire: number): void {
    if (wire === 0) this.varint()
    else if (wire === 1) this.take(8)
    else if (wire === 5) this.take(4)
    else if (wire === LENGTH) this.take(this.varint())
    else throw new Error(`protobuf: wire type ${wire}`)
  }
}
