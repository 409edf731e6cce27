/**
 * The shape of API objects as data. Built-in kinds are resolved from generated package tables (`SchemaRegistry`),
 * custom resources from their OpenAPI schema; every codec, patch, default and printer that can be driven by shape is
 * driven by these types and knows no kind.
 *
 * A decoded object is a plain JavaScript value in the exact form that Go's encoding of the same type would print:
 * non-pointer structs are present (`{}`), zero values of `omitempty` fields are absent, zero values of other fields are
 * present. Quantities, times and IntOrStrings stay in their JSON form (strings; number or string).
 */
export type Schema = ScalarSchema | StructSchema | ListSchema | MapSchema | AnySchema

/** Scalars by their wire behaviour. `quantity`, `time`, `microtime`, `duration`, `intorstring` are JSON strings (or numbers). */
export type ScalarKind = 'string' | 'bool' | 'int32' | 'int64' | 'float64' | 'bytes' | 'quantity' | 'time' | 'microtime' | 'duration' | 'intorstring'

export interface ScalarSchema {
  readonly kind: 'scalar'
  readonly scalar: ScalarKind
  /** The declared name of a named string type, such as `RestartPolicy`. */
  readonly typeName?: string
  /** Wire values of an enum type, sorted. */
  readonly enum?: readonly string[]
  /** Go's name of a declared type, such as `v1.RestartPolicy`; messages show it. */
  readonly goType?: string
}

/**
 * A value of any shape: `raw` is runtime.RawExtension (a whole object), `fieldsV1` the field set of managedFields, `json`
 * apiextensions' JSON; `propsOrBool`, `propsOrArray` and `propsOrStrings` are its JSONSchemaPropsOr… unions.
 */
export interface AnySchema {
  readonly kind: 'any'
  readonly any: 'raw' | 'fieldsV1' | 'json' | 'propsOrBool' | 'propsOrArray' | 'propsOrStrings'
  /** Of the unions: JSONSchemaProps. */
  readonly props?: () => StructSchema
}

export interface ListSchema {
  readonly kind: 'list'
  readonly elem: Schema
  /** The element is declared as a pointer, so null elements survive decoding. */
  readonly elemPointer?: boolean
  readonly goType?: string
}

export interface MapSchema {
  readonly kind: 'map'
  readonly elem: Schema
  readonly goType?: string
}

export interface StructSchema {
  readonly kind: 'struct'
  /** Declared name with import path, such as `k8s.io/api/apps/v1.DeploymentSpec`; for custom resources their GVK. */
  readonly name: string
  /** Fields of the JSON object in declared order, inlined structs flattened. */
  readonly fields: readonly FieldSchema[]
  readonly byName: ReadonlyMap<string, FieldSchema>
  /** Messages on the protobuf wire: own fields, and inlined structs as nested messages under their own number. */
  readonly proto: readonly ProtoEntry[]
  /** Unknown fields are kept (x-kubernetes-preserve-unknown-fields); built-in kinds never do. */
  readonly preserveUnknown?: boolean
  /** At most one of the members is set; the discriminator, if there is one, names it. */
  readonly union?: { readonly discriminator?: string; readonly members: readonly string[] }
  /** `structType=atomic` on the type or `x-kubernetes-map-type: atomic`. */
  readonly atomic?: boolean
}

export type ProtoEntry =
  | { readonly field: FieldSchema; readonly number: number; readonly wire: string }
  | { readonly inline: StructSchema; readonly number: number }

export interface FieldSchema {
  /** JSON name. */
  readonly name: string
  readonly schema: Schema
  readonly pointer: boolean
  readonly omitempty: boolean
  /** Marked required or optional in the declaration; undefined when it says neither. */
  readonly required?: boolean
  readonly nullable?: boolean
  readonly patchStrategy?: readonly string[]
  readonly patchMergeKey?: string
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'atomic' | 'granular'
  readonly structType?: 'atomic' | 'granular'
  /** Default of the declaration (server-side apply and OpenAPI use it); JSON value. */
  readonly default?: unknown
  readonly featureGate?: string
  /** Left out when it is the zero value also where its type is a struct (a zero time would else be null). */
  readonly omitzero?: boolean
  /** For a field of an inlined struct: Go's names of the embedded structs, outermost first, joined by dots. */
  readonly embedded?: string
}

/** One package of the generated tables; keys are short because the text is shipped. See scripts/generate. */
export interface PackageTable {
  importPath: string
  group: string
  version: string
  protoPackage: string
  types: Record<string, TypeTable>
}

export interface TypeTable {
  /** Special form with a codec of its own. */
  s?: string
  /** Alias of another type expression. */
  a?: string
  /** Enum values of an alias. */
  e?: string[]
  /** Fields of a struct. */
  f?: FieldTable[]
  /** A union: 1. */
  u?: 1
  /** structType of the type. */
  st?: 'atomic' | 'granular'
}

export interface FieldTable {
  n?: string
  t: string
  /** Inlined: 1. */
  i?: 1
  o?: 1
  p?: number
  w?: string
  /** 1 required, 0 optional. */
  r?: 0 | 1
  nl?: 1
  ps?: string
  pk?: string
  lt?: 'atomic' | 'set' | 'map'
  lk?: string[]
  mt?: 'atomic' | 'granular'
  st?: 'atomic' | 'granular'
  d?: unknown
  g?: string
  /** Discriminator of the union: 1. */
  ud?: 1
  /** omitzero: 1. */
  z?: 1
}
