import type { FieldSchema, Schema, StructSchema } from '../schema/schema.ts'

/**
 * A schema as field ownership sees it: what is owned as one (leaf), and which lists and maps are owned item by item.
 * Compiled once per schema.
 */
export type TypedNode = LeafNode | StructNode | MapNode | KeyedNode | SetNode | DeducedNode

/** Scalars, atomic lists, maps and structs. */
export interface LeafNode {
  readonly kind: 'leaf'
}
export interface StructNode {
  readonly kind: 'struct'
  /** JSON names, sorted; the other arrays go with it. */
  readonly names: readonly string[]
  /** `f:` + name */
  readonly elements: readonly string[]
  readonly nodes: readonly TypedNode[]
  readonly index: ReadonlyMap<string, number>
  /** Unknown fields are kept, with deduced types. */
  readonly open: boolean
  /** Some name is one that every object inherits, so values must be looked up as own properties. */
  readonly careful: boolean
  /** Names that are no fields here, even when the struct is open. */
  readonly hidden?: ReadonlySet<string>
}
export interface MapNode {
  readonly kind: 'map'
  readonly elem: TypedNode
}
/** A list whose items are known by some of their fields. */
export interface KeyedNode {
  readonly kind: 'keyed'
  readonly keys: readonly { readonly name: string; readonly default: unknown }[]
  readonly elem: TypedNode
}
export interface SetNode {
  readonly kind: 'set'
}
/** No schema: objects are maps of deduced values, everything else is owned as one. */
export interface DeducedNode {
  readonly kind: 'deduced'
}

const LEAF_NODE: LeafNode = { kind: 'leaf' }
const SET_NODE: SetNode = { kind: 'set' }
export const DEDUCED_NODE: DeducedNode = { kind: 'deduced' }

const structs = new WeakMap<StructSchema, StructNode>()
const roots = new WeakMap<StructSchema, StructNode>()
const zeros = new WeakMap<StructSchema, unknown>()

/** Metadata that is the server's: never owned, so never compared. */
export const SYSTEM_METADATA = [
  'clusterName',
  'creationTimestamp',
  'generation',
  'managedFields',
  'name',
  'namespace',
  'resourceVersion',
  'selfLink',
  'uid',
] as const

/** The node of a whole object for tracking updates: without type and system metadata. */
export function trackedNode(schema: StructSchema): StructNode {
  const known = roots.get(schema)
  if (known) return known
  const node = without(typedNode(schema), ['apiVersion', 'kind'])
  const at = node.index.get('metadata')
  if (at !== undefined && node.nodes[at]?.kind === 'struct') (node.nodes as TypedNode[])[at] = without(node.nodes[at] as StructNode, SYSTEM_METADATA)
  roots.set(schema, node)
  return node
}

function without(node: StructNode, gone: readonly string[]): StructNode {
  const kept = node.names.map((_, i) => i).filter((i) => !gone.includes(node.names[i] as string))
  const names = kept.map((i) => node.names[i] as string)
  return {
    ...node,
    names,
    elements: kept.map((i) => node.elements[i] as string),
    nodes: kept.map((i) => node.nodes[i] as TypedNode),
    index: new Map(names.map((n, i) => [n, i])),
    hidden: new Set(gone),
  }
}

/** The node of a whole object. */
export function typedNode(schema: StructSchema): StructNode {
  const known = structs.get(schema)
  if (known) return known
  const fields = [...schema.fields].sort((a, b) => (a.name < b.name ? -1 : 1))
  const names = fields.map((f) => f.name)
  const nodes: TypedNode[] = []
  const node: StructNode = {
    kind: 'struct',
    names,
    elements: names.map((n) => `f:${n}`),
    nodes,
    index: new Map(names.map((n, i) => [n, i])),
    open: schema.preserveUnknown === true,
    careful: schema.preserveUnknown === true || names.some((n) => n in Object.prototype),
  }
  structs.set(schema, node)
  for (const field of fields) nodes.push(fieldNode(field))
  return node
}

function fieldNode(field: FieldSchema): TypedNode {
  const { schema } = field
  if (schema.kind === 'list') return listNode(schema.elem, field)
  if ((schema.kind === 'map' && field.mapType === 'atomic') || (schema.kind === 'struct' && (field.structType === 'atomic' || field.mapType === 'atomic')))
    return LEAF_NODE
  return schemaNode(schema)
}

export function schemaNode(schema: Schema): TypedNode {
  switch (schema.kind) {
    case 'scalar':
    case 'list':
      return LEAF_NODE
    case 'any':
      return schema.any === 'raw' || schema.any === 'fieldsV1' ? DEDUCED_NODE : LEAF_NODE
    case 'map':
      return { kind: 'map', elem: schemaNode(schema.elem) }
    case 'struct':
      return schema.atomic ? LEAF_NODE : typedNode(schema)
  }
}

/** A list says itself how it merges; failing that, its patch strategy does. */
function listNode(elem: Schema, field: FieldSchema): TypedNode {
  if (field.listType === 'set') return SET_NODE
  if (field.listType === 'map') return keyed(elem, field.listMapKeys ?? [])
  if (field.listType === undefined && field.patchStrategy?.includes('merge')) {
    return field.patchMergeKey ? keyed(elem, [field.patchMergeKey]) : SET_NODE
  }
  return LEAF_NODE
}

function keyed(elem: Schema, names: readonly string[]): KeyedNode {
  const keys = [...names].sort().map((name) => {
    const field = elem.kind === 'struct' ? elem.byName.get(name) : undefined
    return { name, default: field ? keyDefault(field) : undefined }
  })
  return { kind: 'keyed', keys, elem: schemaNode(elem) }
}

/** The default of a key field; fields that Go always prints default to their zero value. */
function keyDefault(field: FieldSchema): unknown {
  if (field.default !== undefined) return field.default
  if (field.pointer || field.omitempty || field.schema.kind !== 'scalar') return undefined
  const zero = zeroOf(field)
  return zero === null ? undefined : zero
}

/** The object of a kind with nothing in it, as Go prints it: what a new object is compared with. */
export function zeroObject(schema: StructSchema): Record<string, unknown> {
  const known = zeros.get(schema)
  if (known) return known as Record<string, unknown>
  const zero: Record<string, unknown> = {}
  zeros.set(schema, zero)
  for (const field of schema.fields) {
    const value = zeroOf(field)
    if (value !== undefined) Object.defineProperty(zero, field.name, { value, enumerable: true, configurable: true, writable: true })
  }
  return zero
}

/** undefined: not printed. */
function zeroOf(field: FieldSchema): unknown {
  const { schema } = field
  if (schema.kind === 'struct' && !field.pointer) return zeroObject(schema)
  if (field.omitempty) return undefined
  if (field.pointer || schema.kind !== 'scalar') return null
  switch (schema.scalar) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'float64':
    case 'intorstring':
      return 0
    case 'quantity':
      return '0'
    case 'duration':
      return '0s'
    default:
      return null
  }
}
