import { setOwn } from '../../base/deep-freeze.ts'
import type { AnySchema, FieldSchema, ScalarKind, Schema, StructSchema } from '../schema/schema.ts'
import { canonicalBase64, DecodeError, durationText, microTimeText, quantityText, timeText } from './scalars.ts'

/** Running count of the keys a decoder has understood. */
export interface Counter {
  keys: number
}

/** Canonical form of a parsed value that is not null. Throws BAIL or DecodeError when the value does not fit. */
export type Decoder = (value: unknown, counter: Counter) => unknown

/** Thrown by compiled decoders on anything but a plain fit; the walk over the tree then finds out what is wrong. */
export const BAIL: Error = new Error('json: value does not fit its type')

const structs = new WeakMap<StructSchema, Decoder>()
const zeros = new WeakMap<StructSchema, () => Record<string, unknown>>()

/** The decoder of a struct, compiled on first use. It makes new objects; values of any shape are passed on as they are. */
export function structDecoder(schema: StructSchema): Decoder {
  let decoder = structs.get(schema)
  if (!decoder) {
    decoder = compile(schema)
    structs.set(schema, decoder)
  }
  return decoder
}

/** A new object as Go prints the zero value of the struct. */
export function zeroStruct(schema: StructSchema): Record<string, unknown> {
  let make = zeros.get(schema)
  if (!make) {
    make = new Function(`return ${zeroLiteral(schema)}`) as () => Record<string, unknown>
    zeros.set(schema, make)
  }
  return make()
}

function zeroLiteral(schema: StructSchema): string {
  const parts: string[] = []
  for (const f of schema.fields) {
    const zero = absent(f)
    if (zero !== undefined) parts.push(`${JSON.stringify(f.name)}:${zero}`)
  }
  return `{${parts.join(',')}}`
}

/** Source of what stands for a field that is not set; undefined when it is left out. */
function absent(f: FieldSchema): string | undefined {
  if (f.omitzero) return undefined
  if (f.pointer) return f.omitempty ? undefined : 'null'
  const { schema } = f
  switch (schema.kind) {
    case 'struct':
      return zeroLiteral(schema)
    case 'list':
    case 'map':
      return f.omitempty ? undefined : 'null'
    case 'any':
      return schema.any === 'json' && f.omitempty ? undefined : 'null'
    case 'scalar':
      return alwaysPresent(schema.scalar) || !f.omitempty ? zeroScalar(schema.scalar) : undefined
  }
}

/** Scalars that are structs in Go: omitempty does not leave them out. */
function alwaysPresent(s: ScalarKind): boolean {
  return s === 'quantity' || s === 'time' || s === 'microtime' || s === 'duration' || s === 'intorstring'
}

function zeroScalar(s: ScalarKind): string {
  switch (s) {
    case 'string':
      return "''"
    case 'bool':
      return 'false'
    case 'int32':
    case 'int64':
    case 'float64':
    case 'intorstring':
      return '0'
    case 'quantity':
      return "'0'"
    case 'duration':
      return "'0s'"
    default:
      return 'null'
  }
}

function compile(schema: StructSchema): Decoder {
  const values: unknown[] = []
  const lines: string[] = ["if(typeof v!=='object'||Array.isArray(v))throw BAIL", 'const o={};let x,n=0']
  for (const f of schema.fields) lines.push(fieldSource(f, values))
  lines.push('c.keys+=n')
  if (schema.preserveUnknown) {
    const at = values.push((o: Record<string, unknown>, v: object, c: Counter) => keepUnknown(schema, o, v, c)) - 1
    lines.push(`d[${at}](o,v,c)`)
  }
  lines.push('return o')
  const make = new Function('d', 'BAIL', `return function(v,c){${lines.join('\n')}}`) as (d: unknown[], bail: Error) => Decoder
  return make(values, BAIL)
}

function fieldSource(f: FieldSchema, values: unknown[]): string {
  const name = JSON.stringify(f.name)
  const zero = absent(f)
  const otherwise = zero === undefined ? '' : `else o[${name}]=${zero}`
  const keepZero = f.pointer || !f.omitempty
  let body: string
  if (
    f.schema.kind === 'scalar' &&
    (f.schema.scalar === 'string' || f.schema.scalar === 'bool' || f.schema.scalar === 'int32' || f.schema.scalar === 'int64')
  ) {
    const { test, value, empty } = INLINE[f.schema.scalar]
    body = `if(${test})throw BAIL;${keepZero ? '' : `if(!(${empty}))`}o[${name}]=${value}`
  } else {
    const at = values.push(lazyDecoder(f.schema)) - 1
    const empty = dropsEmpty(f) ? emptyTest(f.schema, values) : undefined
    body = empty === undefined ? `o[${name}]=d[${at}](x,c)` : `const y=d[${at}](x,c);if(!(${empty}))o[${name}]=y`
    if (f.omitzero) body = `const y=d[${at}](x,c);if(y!==null)o[${name}]=y`
  }
  return `x=v[${name}];if(x!==undefined&&(n++,x!==null)){${body}}${otherwise}`
}

const INLINE = {
  string: { test: "typeof x!=='string'", value: 'x', empty: "x===''" },
  bool: { test: "typeof x!=='boolean'", value: 'x', empty: 'x===false' },
  int32: { test: "typeof x!=='number'||(x|0)!==x", value: 'x|0', empty: 'x===0' },
  int64: { test: "typeof x!=='number'||!Number.isInteger(x)||Math.abs(x)>9223372036854775808", value: 'x+0', empty: 'x===0' },
} as const

function dropsEmpty(f: FieldSchema): boolean {
  if (!f.omitempty || f.pointer) return false
  const { schema } = f
  if (schema.kind === 'scalar') return schema.scalar === 'bytes' || schema.scalar === 'float64'
  return schema.kind === 'list' || schema.kind === 'map'
}

function emptyTest(schema: Schema, values: unknown[]): string {
  if (schema.kind === 'list' || (schema.kind === 'scalar' && schema.scalar === 'bytes')) return 'y.length===0'
  if (schema.kind !== 'map') return 'y===0'
  return `d[${values.push(hasNoKeys) - 1}](y)`
}

function hasNoKeys(o: object): boolean {
  for (const _ in o) return false
  return true
}

/** A decoder that compiles when first called, so that recursive types end. */
function lazyDecoder(schema: Schema): Decoder {
  if (schema.kind !== 'struct') return decoderOf(schema)
  let real: Decoder | undefined
  return (v, c) => (real ??= structDecoder(schema))(v, c)
}

/** The decoder of any schema, for values that are not null. */
export function decoderOf(schema: Schema): Decoder {
  switch (schema.kind) {
    case 'struct':
      return lazyDecoder(schema)
    case 'scalar':
      return SCALAR[schema.scalar]
    case 'list': {
      const elem = decoderOf(schema.elem)
      const zero = schema.elemPointer ? () => null : zeroOf(schema.elem)
      return (v, c) => {
        if (!Array.isArray(v)) throw BAIL
        const out: unknown[] = []
        for (let i = 0; i < v.length; i++) out.push(v[i] === null ? zero() : elem(v[i], c))
        return out
      }
    }
    case 'map': {
      const elem = decoderOf(schema.elem)
      const zero = zeroOf(schema.elem)
      return (v, c) => {
        if (typeof v !== 'object' || Array.isArray(v)) throw BAIL
        const keys = Object.keys(v as object)
        sortKeys(keys)
        const out: Record<string, unknown> = {}
        c.keys += keys.length
        for (let i = 0; i < keys.length; i++) {
          const k = keys[i] as string
          const e = (v as Record<string, unknown>)[k]
          setOwn(out, k, e === null ? zero() : elem(e, c))
        }
        return out
      }
    }
    case 'any':
      return anyDecoder(schema)
  }
}

/** What a null element of a list or map becomes. */
function zeroOf(schema: Schema): () => unknown {
  switch (schema.kind) {
    case 'struct':
      return () => zeroStruct(schema)
    case 'scalar': {
      const zero = new Function(`return ${zeroScalar(schema.scalar)}`)() as unknown
      return () => zero
    }
    default:
      return () => null
  }
}

function sortKeys(keys: string[]): void {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i] as string) < (keys[i - 1] as string)) {
      keys.sort()
      return
    }
  }
}

function keepUnknown(schema: StructSchema, o: Record<string, unknown>, v: object, c: Counter): void {
  for (const [k, x] of Object.entries(v)) {
    if (schema.byName.has(k)) continue
    c.keys += 1 + countKeys(x)
    setOwn(o, k, x)
  }
}

/** Keys of all objects in a parsed value. */
export function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let n = 0
  const stack: unknown[] = [value]
  while (stack.length > 0) {
    const v = stack.pop()
    if (Array.isArray(v)) {
      for (const e of v) if (typeof e === 'object' && e !== null) stack.push(e)
    } else {
      for (const k of Object.keys(v as object)) {
        n++
        const e = (v as Record<string, unknown>)[k]
        if (typeof e === 'object' && e !== null) stack.push(e)
      }
    }
  }
  return n
}

const text = (convert: (s: string) => unknown): Decoder => {
  return (v) => {
    if (typeof v !== 'string') throw BAIL
    return convert(v)
  }
}

const integer = (v: unknown): number => {
  if (typeof v !== 'number' || !Number.isInteger(v) || Math.abs(v) > 2 ** 63) throw BAIL
  return v + 0
}

const int32 = (v: unknown): number => {
  if (typeof v !== 'number' || (v | 0) !== v) throw BAIL
  return v | 0
}

const SCALAR: Readonly<Record<ScalarKind, Decoder>> = {
  string: text((s) => s),
  bool: (v) => {
    if (typeof v !== 'boolean') throw BAIL
    return v
  },
  int32,
  int64: integer,
  float64: (v) => {
    if (typeof v !== 'number') throw BAIL
    return v
  },
  bytes: text(canonicalBase64),
  quantity: (v) => {
    if (typeof v === 'string') return quantityText(v)
    if (typeof v === 'number') return quantityText(String(v))
    throw BAIL
  },
  time: text(timeText),
  microtime: text(microTimeText),
  duration: text(durationText),
  intorstring: (v) => (typeof v === 'string' ? v : int32(v)),
}

const anything: Decoder = (v, c) => {
  c.keys += countKeys(v)
  return v
}

/** Schemas nested in unions are decoded leniently: what is unknown in them is dropped without a word. */
function anyDecoder(schema: AnySchema): Decoder {
  const { props } = schema
  if (!props) return anything
  const nested = (v: unknown): unknown => (v === null ? zeroStruct(props()) : structDecoder(props())(v, { keys: 0 }))
  const plain = (v: unknown) => typeof v === 'object' && v !== null && !Array.isArray(v)
  return (v, c) => {
    c.keys += countKeys(v)
    if (plain(v)) return nested(v)
    if (schema.any === 'propsOrBool') {
      if (typeof v !== 'boolean') throw new DecodeError('boolean or JSON schema expected')
      return v
    }
    if (!Array.isArray(v)) return null
    if (schema.any === 'propsOrArray') return v.map(nested)
    if (!v.every((e) => typeof e === 'string')) throw BAIL
    return v
  }
}
