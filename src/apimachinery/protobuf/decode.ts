import { setOwn } from '../../base/deep-freeze.ts'
import { encodeBase64 } from '../base64.ts'
import { formatDuration } from '../duration.ts'
import type { ProtoEntry, ScalarKind, Schema, StructSchema } from '../schema/schema.ts'
import { formatInstantMicro, formatSeconds } from '../time.ts'
import { isWrapped } from './encode.ts'
import { ProtobufError, type Reader } from './wire.ts'

type Obj = Record<string, unknown>
/** Reads one occurrence of a field into the object. */
type FieldReader = (r: Reader, wire: number, o: Obj) => void
/** Reads one value. */
type ValueReader = (r: Reader, wire: number) => unknown

const readers = new WeakMap<StructSchema, ReadonlyMap<number, FieldReader>>()
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The fields of a message under their JSON names, not yet in canonical form. Throws ProtobufError. */
export function readMessage(r: Reader, schema: StructSchema, into: Obj = {}): Obj {
  let fields = readers.get(schema)
  if (!fields) {
    fields = new Map(schema.proto.map((e) => [e.number, entryReader(e)]))
    readers.set(schema, fields)
  }
  while (r.at < r.end) {
    const tag = r.varint()
    const number = Math.floor(tag / 8)
    const wire = tag % 8
    if (number === 0) throw new ProtobufError(`proto: ${schema.name.slice(schema.name.lastIndexOf('.') + 1)}: illegal tag 0 (wire type ${wire})`)
    const read = fields.get(number)
    if (read) read(r, wire, into)
    else r.skip(wire)
  }
  return into
}

function expectWire(wire: number, want: number, what: string): void {
  if (wire !== want) throw new ProtobufError(`proto: wrong wireType = ${wire} for field ${what}`)
}

function entryReader(entry: ProtoEntry): FieldReader {
  if ('inline' in entry) {
    return (r, wire, o) => {
      expectWire(wire, 2, entry.inline.name.slice(entry.inline.name.lastIndexOf('.') + 1))
      const outer = r.enter()
      readMessage(r, entry.inline, o)
      r.leave(outer)
    }
  }
  const { name, schema } = entry.field
  if (schema.kind === 'list' && !isWrapped(schema)) {
    const read = valueReader(schema.elem, name)
    const packable = schema.elem.kind === 'scalar' && (schema.elem.scalar === 'int32' || schema.elem.scalar === 'int64' || schema.elem.scalar === 'bool')
    return (r, wire, o) => {
      const list = (o[name] ??= []) as unknown[]
      if (wire === 2 && packable) {
        const outer = r.enter()
        while (r.at < r.end) list.push(read(r, 0))
        r.leave(outer)
      } else list.push(read(r, wire))
    }
  }
  if (schema.kind === 'map') return mapReader(name, schema.elem)
  const read = valueReader(schema, name)
  return (r, wire, o) => {
    o[name] = read(r, wire)
  }
}

function mapReader(name: string, elem: Schema): FieldReader {
  const read = valueReader(elem, name)
  return (r, wire, o) => {
    expectWire(wire, 2, name)
    const outer = r.enter()
    let key = ''
    let value: unknown = null
    while (r.at < r.end) {
      const tag = r.varint()
      if (tag === 10) key = r.string()
      else if (Math.floor(tag / 8) === 2) value = read(r, tag % 8)
      else r.skip(tag % 8)
    }
    r.leave(outer)
    setOwn((o[name] ??= {}) as Obj, key, value)
  }
}

function valueReader(schema: Schema, name: string): ValueReader {
  switch (schema.kind) {
    case 'struct':
      return message(name, (r) => readMessage(r, schema))
    case 'list':
      return message(name, (r) => {
        const items: string[] = []
        eachField(r, (number, wire) => {
          if (number === 1) items.push(r.string())
          else r.skip(wire)
        })
        return items
      })
    case 'map':
      throw new Error('protobuf: no form of a map inside a map or list')
    case 'any':
      return anyReader(schema, name)
    case 'scalar':
      return scalarReader(schema.scalar, name)
  }
}

function message(name: string, body: (r: Reader) => unknown): ValueReader {
  return (r, wire) => {
    expectWire(wire, 2, name)
    const outer = r.enter()
    const value = body(r)
    r.leave(outer)
    return value
  }
}

function eachField(r: Reader, body: (number: number, wire: number) => void): void {
  while (r.at < r.end) {
    const tag = r.varint()
    body(Math.floor(tag / 8), tag % 8)
  }
}

function anyReader(schema: Schema & { kind: 'any' }, name: string): ValueReader {
  const props = (r: Reader) => {
    const outer = r.enter()
    const value = readMessage(r, (schema.props as () => StructSchema)())
    r.leave(outer)
    return value
  }
  switch (schema.any) {
    case 'propsOrBool':
      return message(name, (r) => {
        let allows = false
        let nested: unknown
        eachField(r, (number, wire) => {
          if (number === 1) allows = r.varint() !== 0
          else if (number === 2) nested = props(r)
          else r.skip(wire)
        })
        return nested ?? allows
      })
    case 'propsOrArray':
      return message(name, (r) => {
        let one: unknown = null
        let many: unknown[] | undefined
        eachField(r, (number, wire) => {
          if (number === 1) one = props(r)
          else if (number === 2) (many ??= []).push(props(r))
          else r.skip(wire)
        })
        return many ?? one
      })
    case 'propsOrStrings':
      return message(name, (r) => {
        let one: unknown = null
        let many: string[] | undefined
        eachField(r, (number, wire) => {
          if (number === 1) one = props(r)
          else if (number === 2) (many ??= []).push(r.string())
          else r.skip(wire)
        })
        return many ?? one
      })
    default:
      return message(name, (r) => {
        let value: unknown = null
        eachField(r, (number, wire) => {
          if (number === 1) value = rawValue(r.bytes())
          else r.skip(wire)
        })
        return value
      })
  }
}

function rawValue(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return null
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch {
    throw new ProtobufError('proto: a raw extension is not JSON')
  }
}

function scalarReader(scalar: ScalarKind, name: string): ValueReader {
  switch (scalar) {
    case 'string':
      return (r, wire) => {
        expectWire(wire, 2, name)
        return r.string()
      }
    case 'bool':
      return (r, wire) => {
        expectWire(wire, 0, name)
        return r.varint() !== 0
      }
    case 'int32':
      return (r, wire) => {
        expectWire(wire, 0, name)
        return r.int32()
      }
    case 'int64':
      return (r, wire) => {
        expectWire(wire, 0, name)
        return r.int64()
      }
    case 'float64':
      return (r, wire) => {
        expectWire(wire, 1, name)
        return r.double()
      }
    case 'bytes':
      return (r, wire) => {
        expectWire(wire, 2, name)
        return encodeBase64(r.bytes())
      }
    case 'quantity':
      return message(name, (r) => {
        let text = '0'
        eachField(r, (number, wire) => {
          if (number === 1) text = r.string() || '0'
          else r.skip(wire)
        })
        return text
      })
    case 'time':
    case 'microtime':
      return message(name, (r) => {
        let seconds: number | undefined
        let nanos = 0
        eachField(r, (number, wire) => {
          if (number === 1) seconds = r.int64()
          else if (number === 2) nanos = r.int32()
          else r.skip(wire)
        })
        if (seconds === undefined) return null
        if (Math.abs(seconds) > 253402300799) throw new ProtobufError(`proto: time out of range: ${seconds}`)
        return scalar === 'time' ? formatSeconds(seconds) : formatInstantMicro({ seconds, nanos })
      })
    case 'duration':
      return message(name, (r) => {
        let nanoseconds = 0
        eachField(r, (number, wire) => {
          if (number === 1) nanoseconds = r.int64()
          else r.skip(wire)
        })
        return formatDuration(BigInt(nanoseconds))
      })
    case 'intorstring':
      return message(name, (r) => {
        let isText = false
        let number = 0
        let text = ''
        eachField(r, (field, wire) => {
          if (field === 1) isText = r.varint() === 1
          else if (field === 2) number = r.int32()
          else if (field === 3) text = r.string()
          else r.skip(wire)
        })
        return isText ? text : number
      })
  }
}
