import type { JSONSchemaProps } from '../api/apiextensions/v1/types.generated.ts'
import type { FieldSchema, Schema, StructSchema } from '../apimachinery/schema/schema.ts'

export type Props = JSONSchemaProps

export function preserves(props: Props): boolean {
  return props['x-kubernetes-preserve-unknown-fields'] === true
}

export function isIntOrString(props: Props): boolean {
  return props['x-kubernetes-int-or-string'] === true
}

export function isEmbedded(props: Props): boolean {
  return props['x-kubernetes-embedded-resource'] === true
}

/** The schema of list items. */
export function itemsOf(props: Props): Props | undefined {
  return props.items && !Array.isArray(props.items) ? props.items : undefined
}

/** The schema of map values, when one is declared. */
export function valuesOf(props: Props): Props | undefined {
  return props.additionalProperties !== null && typeof props.additionalProperties === 'object' ? props.additionalProperties : undefined
}

/** An own property's schema; names such as `constructor` are names like any other. */
export function propertyOf(props: Props, name: string): Props | undefined {
  return props.properties && Object.hasOwn(props.properties, name) ? props.properties[name] : undefined
}

/**
 * The shape of a custom resource, for field ownership, server-side apply and discovery of its fields.
 * @param objectMeta the schema of metadata, which custom resources share with all kinds
 */
export function customSchema(props: Props | undefined, name: string, objectMeta: StructSchema): StructSchema {
  return resource(props ?? {}, name, objectMeta, props === undefined || preserves(props), 'root')
}

/** What bodies are decoded by: values keep whatever type they have, since the schema judges them later. */
export function bodySchema(name: string, objectMeta: StructSchema): StructSchema {
  return resource({}, name, objectMeta, true, 'root')
}

const STRING: Schema = { kind: 'scalar', scalar: 'string' }

function resource(props: Props, name: string, objectMeta: StructSchema, open: boolean, role: 'root' | 'embedded'): StructSchema {
  const own = Object.entries(props.properties ?? {}).filter(([n]) => n !== 'metadata' && n !== 'apiVersion' && n !== 'kind')
  const fields: FieldSchema[] = [
    { name: 'apiVersion', schema: STRING, pointer: false, omitempty: true },
    { name: 'kind', schema: STRING, pointer: false, omitempty: true },
    { name: 'metadata', schema: objectMeta, pointer: role === 'embedded', omitempty: role === 'embedded' },
    ...own.map(([n, p]) => field(n, p, name, objectMeta)),
  ]
  return struct(name, fields, open)
}

function struct(name: string, fields: readonly FieldSchema[], open: boolean, atomic = false): StructSchema {
  return {
    kind: 'struct',
    name,
    fields,
    byName: new Map(fields.map((f) => [f.name, f])),
    proto: [],
    ...(open ? { preserveUnknown: true } : {}),
    ...(atomic ? { atomic: true } : {}),
  }
}

function field(name: string, props: Props, owner: string, objectMeta: StructSchema): FieldSchema {
  const listType = props['x-kubernetes-list-type']
  const keys = props['x-kubernetes-list-map-keys']
  const mapType = props['x-kubernetes-map-type']
  return {
    name,
    schema: schemaOf(props, `${owner}.${name}`, objectMeta),
    pointer: true,
    omitempty: true,
    ...(props.nullable ? { nullable: true } : {}),
    ...(listType === 'set' || listType === 'map' || listType === 'atomic' ? { listType } : {}),
    ...(keys ? { listMapKeys: keys } : {}),
    ...(mapType === 'atomic' ? { mapType: 'atomic' as const } : {}),
    ...(props.default === undefined ? {} : { default: props.default }),
  }
}

function schemaOf(props: Props, name: string, objectMeta: StructSchema): Schema {
  if (isIntOrString(props)) return { kind: 'scalar', scalar: 'intorstring' }
  if (isEmbedded(props)) return resource(props, name, objectMeta, preserves(props), 'embedded')
  switch (props.type) {
    case 'string':
      return STRING
    case 'integer':
      return { kind: 'scalar', scalar: 'int64' }
    case 'number':
      return { kind: 'scalar', scalar: 'float64' }
    case 'boolean':
      return { kind: 'scalar', scalar: 'bool' }
    case 'array': {
      const items = itemsOf(props)
      return { kind: 'list', elem: items ? schemaOf(items, name, objectMeta) : { kind: 'any', any: 'raw' }, elemPointer: true }
    }
    default: {
      const values = valuesOf(props)
      if (values) return { kind: 'map', elem: schemaOf(values, name, objectMeta) }
      if (!props.properties && (preserves(props) || props.additionalProperties === true)) return { kind: 'any', any: 'raw' }
      const fields = Object.entries(props.properties ?? {}).map(([n, p]) => field(n, p, name, objectMeta))
      return struct(name, fields, preserves(props), props['x-kubernetes-map-type'] === 'atomic')
    }
  }
}
