import { isObject, setOwn } from '../../base/deep-freeze.ts'
import type { AnySchema, ScalarSchema, Schema, StructSchema } from '../schema/schema.ts'
import { canonicalBase64, DecodeError, durationText, microTimeText, quantityText, timeText } from './scalars.ts'
import { plainValue, type Tree } from './tree.ts'

/** Complaints of strict decoding that are kept at most. */
const MAX_STRICT_ERRORS = 100

export interface Walked {
  /** What the typed decoder understands: no unknown fields, duplicates merged as Go merges them. */
  value: unknown
  strictErrors: string[]
}

interface Context {
  strict: Set<string>
  /** JSON path for strict errors. */
  path: string[]
  /** Go's context for type errors: the innermost struct and the fields to it. */
  struct: string
  fields: string[]
  inStruct: boolean
}

/**
 * Decodes a tree in document order as Go would. Throws DecodeError for the first value that does not fit its type; unknown
 * and duplicate fields are complaints.
 */
export function walk(tree: Tree, schema: Schema): Walked {
  const context: Context = { strict: new Set(), path: [], struct: '', fields: [], inStruct: false }
  const value = decode(tree, schema, undefined, context)
  return { value, strictErrors: [...context.strict] }
}

function complain(c: Context, text: string): void {
  if (c.strict.size < MAX_STRICT_ERRORS) c.strict.add(text)
}

function mismatch(c: Context, what: string, goType: string): never {
  const target = c.inStruct ? `Go struct field ${c.struct}.${c.fields.join('.')} of type ${goType}` : `Go value of type ${goType}`
  throw new DecodeError(`json: cannot unmarshal ${what} into ${target}`)
}

/** @param previous the value of an earlier duplicate, which objects are merged into */
function decode(tree: Tree, schema: Schema, previous: unknown, c: Context): unknown {
  if (tree.kind === 'null') return null
  switch (schema.kind) {
    case 'struct':
      return decodeStruct(tree, schema, previous, c)
    case 'list': {
      if (tree.kind !== 'array') mismatch(c, tree.kind, goTypeOf(schema))
      return tree.items.map((item, i) => {
        c.path.push(`[${i}]`)
        const v = decode(item, schema.elem, undefined, c)
        c.path.pop()
        return v
      })
    }
    case 'map': {
      if (tree.kind !== 'object') mismatch(c, tree.kind, goTypeOf(schema))
      const out: Record<string, unknown> = isObject(previous) ? previous : {}
      const seen = new Set<string>()
      for (const [key, value] of tree.entries) {
        c.path.push(`.${key}`)
        if (seen.has(key)) complain(c, `duplicate field "${pathText(c)}"`)
        seen.add(key)
        setOwn(out, key, decode(value, schema.elem, undefined, c))
        c.path.pop()
      }
      return out
    }
    case 'any':
      return decodeAny(tree, schema, c)
    case 'scalar':
      return decodeScalar(tree, schema, c)
  }
}

function decodeStruct(tree: Tree, schema: StructSchema, previous: unknown, c: Context): unknown {
  if (tree.kind !== 'object') mismatch(c, tree.kind, goTypeOf(schema))
  const { struct, inStruct } = c
  const outer = c.fields
  const out: Record<string, unknown> = isObject(previous) ? previous : {}
  const seen = new Set<string>()
  const name = schema.name.slice(schema.name.lastIndexOf('.') + 1)
  for (const [key, value] of tree.entries) {
    const field = schema.byName.get(key)
    c.path.push(`.${key}`)
    if (!field) {
      if (schema.preserveUnknown) {
        if (seen.has(key)) complain(c, `duplicate field "${pathText(c)}"`)
        seen.add(key)
        findDuplicates(value, c)
        setOwn(out, key, plainValue(value))
      } else complain(c, `unknown field "${pathText(c)}"`)
    } else {
      if (seen.has(key)) complain(c, `duplicate field "${pathText(c)}"`)
      c.struct = name
      c.inStruct = true
      c.fields = field.embedded === undefined ? [...outer, key] : [...outer, ...field.embedded.split('.'), key]
      const decoded = decode(value, field.schema, out[key], c)
      // A null leaves what an earlier duplicate has set, except where there is a pointer, list or map to clear.
      if (decoded !== null || !seen.has(key) || field.pointer || field.schema.kind === 'list' || field.schema.kind === 'map') out[key] = decoded
      seen.add(key)
    }
    c.path.pop()
  }
  c.struct = struct
  c.inStruct = inStruct
  c.fields = outer
  return out
}

/** Duplicates inside of what has no schema. */
function findDuplicates(tree: Tree, c: Context): void {
  if (tree.kind === 'array') {
    for (const [i, item] of tree.items.entries()) {
      c.path.push(`[${i}]`)
      findDuplicates(item, c)
      c.path.pop()
    }
  }
  if (tree.kind !== 'object') return
  const seen = new Set<string>()
  for (const [key, value] of tree.entries) {
    c.path.push(`.${key}`)
    if (seen.has(key)) complain(c, `duplicate field "${pathText(c)}"`)
    seen.add(key)
    findDuplicates(value, c)
    c.path.pop()
  }
}

function decodeAny(tree: Tree, schema: AnySchema, c: Context): unknown {
  if (!schema.props) return plainValue(tree)
  if (tree.kind === 'object') return walk(tree, schema.props()).value
  if (schema.any === 'propsOrBool') {
    if (tree.kind !== 'bool') throw new DecodeError('boolean or JSON schema expected')
    return tree.value
  }
  if (tree.kind !== 'array') return null
  if (schema.any === 'propsOrArray') return tree.items.map((item) => walk(item, (schema.props as () => StructSchema)()).value)
  return tree.items.map((item) => {
    if (item.kind !== 'string') return mismatch({ ...c, inStruct: false }, item.kind, 'string')
    return item.value
  })
}

const MAX_INT64 = (1n << 63n) - 1n

function decodeScalar(tree: Tree, schema: ScalarSchema, c: Context): unknown {
  switch (schema.scalar) {
    case 'string':
      if (tree.kind !== 'string') mismatch(c, tree.kind, schema.goType ?? 'string')
      return tree.value
    case 'bool':
      if (tree.kind !== 'bool') mismatch(c, tree.kind, schema.goType ?? 'bool')
      return tree.value
    case 'int32':
      return integer(tree, 2147483647n, schema.goType ?? 'int32', c)
    case 'int64':
      return integer(tree, MAX_INT64, schema.goType ?? 'int64', c)
    case 'float64': {
      if (tree.kind !== 'number') mismatch(c, tree.kind, schema.goType ?? 'float64')
      const n = Number(tree.text)
      if (!Number.isFinite(n)) mismatch(c, `number ${tree.text}`, schema.goType ?? 'float64')
      return n
    }
    case 'bytes':
      if (tree.kind !== 'string') mismatch(c, tree.kind, '[]uint8')
      return canonicalBase64(tree.value)
    case 'quantity':
      if (tree.kind === 'string') return quantityText(tree.value)
      return quantityText(tree.kind === 'number' ? tree.text : tree.kind === 'bool' ? String(tree.value) : '{}')
    case 'time':
      return timeText(string(tree, c))
    case 'microtime':
      return microTimeText(string(tree, c))
    case 'duration':
      return durationText(string(tree, c))
    case 'intorstring':
      return tree.kind === 'string' ? tree.value : integer(tree, 2147483647n, 'int32', c)
  }
}

function string(tree: Tree, c: Context): string {
  if (tree.kind !== 'string') mismatch(c, tree.kind, 'string')
  return tree.value
}

/** Integers are read from their text: `2.0` and `1e2` are none. */
function integer(tree: Tree, max: bigint, goType: string, c: Context): number {
  if (tree.kind !== 'number') mismatch(c, tree.kind, goType)
  if (!/^-?\d{1,20}$/.test(tree.text)) mismatch(c, `number ${tree.text}`, goType)
  const n = BigInt(tree.text)
  if (n > max || n < -max - 1n) mismatch(c, `number ${tree.text}`, goType)
  return Number(n)
}

function pathText(c: Context): string {
  const text = c.path.join('')
  return text.startsWith('.') ? text.slice(1) : text
}

/** Go's text of a type, as messages show it. */
export function goTypeOf(schema: Schema): string {
  switch (schema.kind) {
    case 'struct':
      return schema.name.slice(schema.name.lastIndexOf('/') + 1)
    case 'list':
      return schema.goType ?? `[]${schema.elemPointer ? '*' : ''}${goTypeOf(schema.elem)}`
    case 'map':
      return schema.goType ?? `map[string]${goTypeOf(schema.elem)}`
    case 'any':
      return ANY_TYPES[schema.any]
    case 'scalar':
      return schema.goType ?? SCALAR_TYPES[schema.scalar]
  }
}

const ANY_TYPES = {
  raw: 'runtime.RawExtension',
  fieldsV1: 'v1.FieldsV1',
  json: 'interface {}',
  propsOrBool: 'v1.JSONSchemaPropsOrBool',
  propsOrArray: 'v1.JSONSchemaPropsOrArray',
  propsOrStrings: 'v1.JSONSchemaPropsOrStringArray',
} as const

const SCALAR_TYPES = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  float64: 'float64',
  bytes: '[]uint8',
  quantity: 'resource.Quantity',
  time: 'v1.Time',
  microtime: 'v1.MicroTime',
  duration: 'v1.Duration',
  intorstring: 'intstr.IntOrString',
} as const
