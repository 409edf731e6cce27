import { Reader, ReverseWriter } from '../../../apimachinery/protobuf/wire.ts'
import { setOwn } from '../../../base/deep-freeze.ts'

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
    const out = new ReverseWriter()
    this.write(type, message, out)
    return out.finish()
  }

  decode(type: string, bytes: Uint8Array): Message {
    return this.read(type, new Reader(bytes))
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

  /** Fields and the items of lists go last first, as the writer wants them. */
  private write(type: string, message: Message, out: ReverseWriter): void {
    const fields = this.codecs(type)
    for (let i = fields.length - 1; i >= 0; i--) {
      const f = fields[i] as FieldCodec
      const value = message[f.name]
      if (value === undefined || value === null) continue
      if (f.mapOf !== undefined) {
        for (const [k, v] of Object.entries(value as Record<string, unknown>).reverse()) {
          const end = out.length
          this.writeValue(2, f.mapOf, v, out)
          out.string(k)
          out.tag(1, LENGTH)
          out.varint(out.length - end)
          out.tag(f.number, LENGTH)
        }
      } else if (f.list) {
        const items = value as unknown[]
        if (f.wire === LENGTH) for (let at = items.length - 1; at >= 0; at--) this.writeValue(f.number, f.type, items[at], out, true)
        else if (items.length > 0) {
          const end = out.length
          for (let at = items.length - 1; at >= 0; at--) this.writeScalar(f.wire, this.number(f.type, items[at]), out)
          out.varint(out.length - end)
          out.tag(f.number, LENGTH)
        }
      } else this.writeValue(f.number, f.type, value, out)
    }
  }

  private writeScalar(wire: number, value: number, out: ReverseWriter): void {
    if (wire === 1) out.double(value)
    else if (value < 0) out.int64(Math.trunc(value))
    else out.varint(Math.trunc(value))
  }

  private writeValue(number: number, type: string, value: unknown, out: ReverseWriter, evenZero = false): void {
    const wire = this.wireOf(type)
    if (wire !== LENGTH) {
      const n = this.number(type, value)
      if (n === 0 && !evenZero) return
      this.writeScalar(wire, n, out)
    } else if (type === 'string' || type === 'bytes') {
      if ((value as string | Uint8Array).length === 0 && !evenZero) return
      if (typeof value === 'string') out.string(value)
      else {
        out.bytes(value as Uint8Array)
        out.varint((value as Uint8Array).length)
      }
    } else {
      const end = out.length
      this.write(type, value as Message, out)
      out.varint(out.length - end)
    }
    out.tag(number, wire)
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

  private read(type: string, reader: Reader): Message {
    const message: Message = {}
    for (const f of this.codecs(type)) message[f.name] = f.mapOf !== undefined ? {} : f.list ? [] : this.zero(f.type)
    const byNumber = this.byNumber.get(type) as Map<number, FieldCodec>
    while (reader.at < reader.end) {
      const tag = reader.varint()
      const wire = tag % 8
      const f = byNumber.get(Math.floor(tag / 8))
      if (!f) {
        reader.skip(wire)
        continue
      }
      if (f.mapOf !== undefined) {
        const outer = reader.enter()
        let key = ''
        let value: unknown = this.zero(f.mapOf)
        while (reader.at < reader.end) {
          const t = reader.varint()
          if (Math.floor(t / 8) === 1) key = reader.string()
          else if (Math.floor(t / 8) === 2) value = this.readValue(f.mapOf, reader)
          else reader.skip(t % 8)
        }
        reader.leave(outer)
        setOwn(message[f.name] as Record<string, unknown>, key, value)
      } else if (f.list) {
        const list = message[f.name] as unknown[]
        if (wire === LENGTH && f.wire !== LENGTH) {
          const outer = reader.enter()
          while (reader.at < reader.end) list.push(this.readValue(f.type, reader))
          reader.leave(outer)
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
        return reader.string()
      case 'bytes':
        return reader.bytes()
      case 'bool':
        return reader.varint() !== 0
      case 'double':
        return reader.double()
      case 'int32':
      case 'int64':
        return reader.int64()
      case 'uint32':
      case 'uint64':
        return reader.varint()
      default: {
        const names = this.enumNames.get(type)
        if (names) {
          const n = reader.varint()
          return names.get(n) ?? n
        }
        const outer = reader.enter()
        const message = this.read(type, reader)
        reader.leave(outer)
        return message
      }
    }
  }
}

const EMPTY = new Uint8Array(0)
