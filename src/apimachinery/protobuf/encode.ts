import { decodeBase64 } from '../base64.ts'
import { parseDuration } from '../duration.ts'
import type { FieldSchema, ProtoEntry, ScalarKind, Schema, StructSchema } from '../schema/schema.ts'
import { parseMicroTime, parseTime } from '../time.ts'
import { ReverseWriter } from './wire.ts'

type Obj = Readonly<Record<string, unknown>>
/** Writes the fields of a message, last first. */
type MessageWriter = (o: Obj, w: ReverseWriter) => void
/** Writes a value with its field's tag. */
type FieldWriter = (value: unknown, w: ReverseWriter) => void

const writers = new WeakMap<StructSchema, MessageWriter>()
const utf8 = new TextEncoder()
const EMPTY: Obj = Object.freeze({})

/** The protobuf message of a canonical object, without envelope. */
export function encodeMessage(object: Obj, schema: StructSchema): Uint8Array {
  const w = new ReverseWriter()
  writeMessage(object, schema, w)
  return w.finish()
}

/** Writes the message into a writer, last byte first. */
export function writeMessage(object: Obj, schema: StructSchema, w: ReverseWriter): void {
  messageWriter(schema)(object, w)
}

function messageWriter(schema: StructSchema): MessageWriter {
  let writer = writers.get(schema)
  if (!writer) {
    const entries = [...schema.proto].sort((a, b) => b.number - a.number).map(entryWriter)
    writer = (o, w) => {
      for (const write of entries) write(o, w)
    }
    writers.set(schema, writer)
  }
  return writer
}

function entryWriter(entry: ProtoEntry): MessageWriter {
  if ('inline' in entry) {
    const { inline, number } = entry
    let inner: MessageWriter | undefined
    return (o, w) => {
      const before = w.length
      ;(inner ??= messageWriter(inline))(o, w)
      w.varint(w.length - before)
      w.tag(number, 2)
    }
  }
  const { field, number } = entry
  const { name, schema } = field
  const write = fieldWriter(schema, number)
  if (skipsAbsent(field)) {
    return (o, w) => {
      const v = o[name]
      if (v !== undefined && v !== null) write(v, w)
    }
  }
  const zero = zeroOf(schema)
  return (o, w) => write(o[name] ?? zero, w)
}

/** Pointers, lists, maps and bytes leave nothing on the wire when absent; everything else is always written. */
function skipsAbsent(f: FieldSchema): boolean {
  return f.pointer || f.schema.kind === 'list' || f.schema.kind === 'map' || (f.schema.kind === 'scalar' && f.schema.scalar === 'bytes')
}

function zeroOf(schema: Schema): unknown {
  if (schema.kind === 'struct') return EMPTY
  return schema.kind === 'scalar' ? ZERO[schema.scalar] : null
}

const ZERO: Readonly<Record<ScalarKind, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  float64: 0,
  bytes: '',
  quantity: '0',
  time: null,
  microtime: null,
  duration: '0s',
  intorstring: 0,
}

/** A named []string is a message of its own, {items = 1}. */
export function isWrapped(schema: Schema): boolean {
  return schema.kind === 'list' && schema.goType !== undefined && schema.elem.kind === 'scalar'
}

function fieldWriter(schema: Schema, number: number): FieldWriter {
  if (schema.kind === 'list' && !isWrapped(schema)) {
    const write = valueWriter(schema.elem, number)
    const zero = zeroOf(schema.elem)
    return (v, w) => {
      const list = v as unknown[]
      for (let i = list.length - 1; i >= 0; i--) write(list[i] ?? zero, w)
    }
  }
  if (schema.kind === 'map') {
    const write = valueWriter(schema.elem, 2)
    const zero = zeroOf(schema.elem)
    const skipNull = schema.elem.kind === 'list' || (schema.elem.kind === 'scalar' && schema.elem.scalar === 'bytes')
    return (v, w) => {
      const map = v as Obj
      const keys = Object.keys(map).sort()
      for (let i = keys.length - 1; i >= 0; i--) {
        const key = keys[i] as string
        const before = w.length
        const value = map[key] ?? zero
        if (value !== null || !skipNull) write(value, w)
        w.string(key)
        w.tag(1, 2)
        w.varint(w.length - before)
        w.tag(number, 2)
      }
    }
  }
  return valueWriter(schema, number)
}

function valueWriter(schema: Schema, number: number): FieldWriter {
  switch (schema.kind) {
    case 'struct': {
      let inner: MessageWriter | undefined
      return (v, w) => {
        const before = w.length
        ;(inner ??= messageWriter(schema))(v as Obj, w)
        w.varint(w.length - before)
        w.tag(number, 2)
      }
    }
    case 'list':
      return nested(number, (v, w) => {
        const list = (v ?? []) as string[]
        for (let i = list.length - 1; i >= 0; i--) {
          w.string(list[i] as string)
          w.tag(1, 2)
        }
      })
    case 'map':
      throw new Error('protobuf: no form of a map inside a map or list')
    case 'any':
      return anyWriter(schema, number)
    case 'scalar':
      return scalarWriter(schema.scalar, number)
  }
}

function nested(number: number, body: FieldWriter): FieldWriter {
  return (v, w) => {
    const before = w.length
    body(v, w)
    w.varint(w.length - before)
    w.tag(number, 2)
  }
}

function anyWriter(schema: Schema & { kind: 'any' }, number: number): FieldWriter {
  const props = (v: unknown, field: number, w: ReverseWriter) => {
    const before = w.length
    writeMessage(v as Obj, (schema.props as () => StructSchema)(), w)
    w.varint(w.length - before)
    w.tag(field, 2)
  }
  switch (schema.any) {
    case 'propsOrBool':
      return nested(number, (v, w) => {
        const isSchema = typeof v === 'object' && v !== null
        if (isSchema) props(v, 2, w)
        w.varint(isSchema || v === true ? 1 : 0)
        w.tag(1, 0)
      })
    case 'propsOrArray':
      return nested(number, (v, w) => {
        if (Array.isArray(v)) for (let i = v.length - 1; i >= 0; i--) props(v[i], 2, w)
        else if (v !== null) props(v, 1, w)
      })
    case 'propsOrStrings':
      return nested(number, (v, w) => {
        if (Array.isArray(v)) {
          for (let i = v.length - 1; i >= 0; i--) {
            w.string(v[i] as string)
            w.tag(2, 2)
          }
        } else if (v !== null) props(v, 1, w)
      })
    default:
      // {raw = 1}: the value's JSON text.
      return nested(number, (v, w) => {
        if (v === null) return
        const json = utf8.encode(JSON.stringify(v))
        w.bytes(json)
        w.varint(json.length)
        w.tag(1, 2)
      })
  }
}

function scalarWriter(scalar: ScalarKind, number: number): FieldWriter {
  switch (scalar) {
    case 'string':
      return (v, w) => {
        w.string(v as string)
        w.tag(number, 2)
      }
    case 'bool':
      return (v, w) => {
        w.varint(v === true ? 1 : 0)
        w.tag(number, 0)
      }
    case 'int32':
    case 'int64':
      return (v, w) => {
        w.int64(v as number)
        w.tag(number, 0)
      }
    case 'float64':
      return (v, w) => {
        w.double(v as number)
        w.tag(number, 1)
      }
    case 'bytes':
      return (v, w) => {
        const bytes = decodeBase64(v as string)
        w.bytes(bytes)
        w.varint(bytes.length)
        w.tag(number, 2)
      }
    case 'quantity':
      return nested(number, (v, w) => {
        w.string(v as string)
        w.tag(1, 2)
      })
    case 'time':
      return nested(number, (v, w) => {
        if (v !== null) instant(parseTime(v as string).seconds, 0, w)
      })
    case 'microtime':
      return nested(number, (v, w) => {
        if (v === null) return
        const t = parseMicroTime(v as string)
        instant(t.seconds, t.nanos, w)
      })
    case 'duration':
      return nested(number, (v, w) => {
        w.int64(parseDuration(v as string))
        w.tag(1, 0)
      })
    case 'intorstring':
      return nested(number, (v, w) => {
        const text = typeof v === 'string'
        w.string(text ? v : '')
        w.tag(3, 2)
        w.int64(text ? 0 : (v as number))
        w.tag(2, 0)
        w.varint(text ? 1 : 0)
        w.tag(1, 0)
      })
  }
}

function instant(seconds: number, nanos: number, w: ReverseWriter): void {
  w.varint(nanos)
  w.tag(2, 0)
  w.int64(seconds)
  w.tag(1, 0)
}
