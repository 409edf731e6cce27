import type { StructSchema } from '../schema/schema.ts'
import { BAIL, countKeys, structDecoder, zeroStruct } from './compiled.ts'
import { DecodeError } from './scalars.ts'
import { repairSurrogates, type ScanResult, scanJSON } from './scan.ts'
import { JSONSyntaxError, MAX_DEPTH, parseTree, treeOf } from './tree.ts'
import { walk } from './walk.ts'

export interface DecodeOptions {
  /** Also report unknown and duplicate fields. */
  strict?: boolean
}

export interface Decoded {
  /** The object in canonical form (see schema/schema.ts). New, except for values of any shape, which belong to the input. */
  object: Record<string, unknown>
  /** `unknown field "spec.x"`, `duplicate field "data.a"` in order of appearance; empty unless strict. */
  strictErrors: string[]
}

export interface TypeMeta {
  apiVersion: string
  kind: string
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

const TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** A JSON request body: parsed once, then asked for its kind and decoded by that kind's schema. */
export class JSONBody {
  readonly text: string
  /** What JSON.parse gave. */
  readonly value: unknown
  private readonly scanned: ScanResult

  private constructor(text: string, value: unknown, scanned: ScanResult) {
    this.text = text
    this.value = value
    this.scanned = scanned
  }

  /** Invalid UTF-8 becomes U+FFFD. Throws JSONSyntaxError with Go's message. */
  static parse(body: Uint8Array | string): JSONBody {
    let text = typeof body === 'string' ? body : utf8.decode(body)
    const scanned = scanJSON(text)
    if (scanned.depth > MAX_DEPTH) parseTree(text)
    if (scanned.surrogates) text = repairSurrogates(text)
    try {
      return new JSONBody(text, JSON.parse(text), scanned)
    } catch (e) {
      parseTree(text)
      throw e instanceof SyntaxError ? new JSONSyntaxError(e.message) : e
    }
  }

  /** apiVersion and kind, empty where absent. Throws DecodeError with Go's message when they are no strings or the body no object. */
  typeMeta(): TypeMeta {
    return typeMetaOf(this.value)
  }

  /** Throws DecodeError with Go's message for the first value that does not fit. */
  decode(schema: StructSchema, options: DecodeOptions = {}): Decoded {
    const { value, scanned } = this
    if (value === null) return { object: zeroStruct(schema), strictErrors: [] }
    if (!scanned.exact) {
      const fast = attempt(value, schema, scanned.keys)
      if (fast) return { object: fast, strictErrors: [] }
    }
    return finish(walk(parseTree(this.text), schema), schema, options)
  }
}

/** Decodes JSON text; see JSONBody, which also tells the kind without parsing twice. */
export function decodeJSON(body: Uint8Array | string, schema: StructSchema, options: DecodeOptions = {}): Decoded {
  return JSONBody.parse(body).decode(schema, options)
}

/**
 * Brings a parsed value (YAML, the result of a patch) into canonical form. The input is not changed, but values of any
 * shape are shared with the result.
 */
export function canonicalize(value: unknown, schema: StructSchema, options: DecodeOptions = {}): Decoded {
  if (value === null || value === undefined) return { object: zeroStruct(schema), strictErrors: [] }
  const fast = attempt(value, schema, options.strict ? countKeys(value) : undefined)
  if (fast) return { object: fast, strictErrors: [] }
  return finish(walk(treeOf(value), schema), schema, options)
}

function finish(walked: { value: unknown; strictErrors: string[] }, schema: StructSchema, options: DecodeOptions): Decoded {
  const object = structDecoder(schema)(walked.value, { keys: 0 }) as Record<string, unknown>
  return { object, strictErrors: options.strict ? walked.strictErrors : [] }
}

/** The compiled decoder's result when it understood every key; undefined when the long way must tell. */
function attempt(value: unknown, schema: StructSchema, keys: number | undefined): Record<string, unknown> | undefined {
  const counter = { keys: 0 }
  try {
    const object = structDecoder(schema)(value, counter) as Record<string, unknown>
    return keys === undefined || counter.keys === keys ? object : undefined
  } catch (e) {
    if (e === BAIL || e instanceof DecodeError) return undefined
    throw e
  }
}

/** apiVersion and kind of a parsed value; see JSONBody.typeMeta. */
export function typeMetaOf(value: unknown): TypeMeta {
  if (value === null || value === undefined) return { apiVersion: '', kind: '' }
  if (typeof value !== 'object' || Array.isArray(value)) throw new DecodeError(`json: cannot unmarshal ${kindOf(value)} into Go value of type ${TYPE_META}`)
  const read = (field: 'apiVersion' | 'kind') => {
    const v = (value as Record<string, unknown>)[field]
    if (v === undefined || v === null) return ''
    if (typeof v !== 'string') throw new DecodeError(`json: cannot unmarshal ${kindOf(v)} into Go struct field .${field} of type string`)
    return v
  }
  return { apiVersion: read('apiVersion'), kind: read('kind') }
}

function kindOf(v: unknown): string {
  if (Array.isArray(v)) return 'array'
  switch (typeof v) {
    case 'boolean':
      return 'bool'
    case 'number':
      return 'number'
    case 'string':
      return 'string'
    default:
      return 'object'
  }
}
