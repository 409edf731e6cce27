import type { AnySchema, FieldSchema, ScalarSchema, Schema, StructSchema } from '../../apimachinery/schema/schema.ts'

export type JSONObject = Record<string, unknown>

/** Field descriptions by declared type name (`k8s.io/api/core/v1.Pod`); without a field that of the type. */
export type Descriptions = (typeName: string, field?: string) => string | undefined

/** OpenAPI 3 refers to `#/components/schemas/`, OpenAPI 2 to `#/definitions/`. */
export type Dialect = 'v3' | 'v2'

export interface GroupVersionKindExtension {
  group: string
  version: string
  kind: string
}

const META = 'k8s.io/apimachinery/pkg/apis/meta/v1'
const API_EXTENSIONS = 'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1'

/** `k8s.io/api/core/v1.Pod` as definitions are named: `io.k8s.api.core.v1.Pod`. */
export function definitionName(typeName: string): string {
  const slash = typeName.indexOf('/')
  const domain = typeName.slice(0, slash).split('.').reverse().join('.')
  return `${domain}.${typeName.slice(slash + 1).replaceAll('/', '.')}`
}

/** Special types are definitions of their own. */
const SPECIAL: Readonly<Record<string, { name: string; v3: JSONObject; v2: JSONObject }>> = {
  quantity: {
    name: 'k8s.io/apimachinery/pkg/api/resource.Quantity',
    v3: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    v2: { type: 'string' },
  },
  intorstring: {
    name: 'k8s.io/apimachinery/pkg/util/intstr.IntOrString',
    v3: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
    v2: { type: 'string', format: 'int-or-string' },
  },
  time: { name: `${META}.Time`, v3: { type: 'string', format: 'date-time' }, v2: { type: 'string', format: 'date-time' } },
  microtime: { name: `${META}.MicroTime`, v3: { type: 'string', format: 'date-time' }, v2: { type: 'string', format: 'date-time' } },
  duration: { name: `${META}.Duration`, v3: { type: 'string' }, v2: { type: 'string' } },
  raw: { name: 'k8s.io/apimachinery/pkg/runtime.RawExtension', v3: { type: 'object' }, v2: { type: 'object' } },
  fieldsV1: { name: `${META}.FieldsV1`, v3: { type: 'object' }, v2: { type: 'object' } },
  patch: { name: `${META}.Patch`, v3: { type: 'object' }, v2: { type: 'object' } },
  json: { name: `${API_EXTENSIONS}.JSON`, v3: {}, v2: {} },
  propsOrBool: { name: `${API_EXTENSIONS}.JSONSchemaPropsOrBool`, v3: {}, v2: {} },
  propsOrArray: { name: `${API_EXTENSIONS}.JSONSchemaPropsOrArray`, v3: {}, v2: {} },
  propsOrStrings: { name: `${API_EXTENSIONS}.JSONSchemaPropsOrStringArray`, v3: {}, v2: {} },
}

/** Collects the definitions that documents refer to, each made once. */
export class Definitions {
  readonly schemas = new Map<string, JSONObject>()
  private readonly dialect: Dialect
  private readonly descriptions: Descriptions | undefined
  private readonly enums: boolean
  private readonly deferred: boolean
  private readonly kindsOf: (typeName: string) => readonly GroupVersionKindExtension[]
  private readonly pending: StructSchema[] = []

  /**
   * @param kindsOf group, version and kind under which a type is an object of its own
   * @param options enums: values of enum types are listed, as servers do and published documents do not;
   *   deferred: referenced definitions wait for `settle`, which makes them in slices
   */
  constructor(
    dialect: Dialect,
    kindsOf: (typeName: string) => readonly GroupVersionKindExtension[],
    options: { descriptions?: Descriptions; enums?: boolean; deferred?: boolean } = {},
  ) {
    this.dialect = dialect
    this.kindsOf = kindsOf
    this.descriptions = options.descriptions
    this.enums = options.enums !== false
    this.deferred = options.deferred === true
  }

  /** A reference to the type's definition, which is made with all it needs. */
  reference(schema: StructSchema): JSONObject {
    const ref = this.structRef(schema)
    if (!this.deferred) while (this.makeNext());
    return ref
  }

  /** Makes what has been referenced. @param tick gives the event loop back now and then */
  async settle(tick: () => void | Promise<void>): Promise<void> {
    while (this.makeNext()) await tick()
  }

  referenceSpecial(kind: 'patch'): JSONObject {
    return this.specialRef(kind)
  }

  /** The definitions sorted by name. */
  sorted(): JSONObject {
    return Object.fromEntries([...this.schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  private refTo(name: string): JSONObject {
    return { $ref: `${this.dialect === 'v3' ? '#/components/schemas/' : '#/definitions/'}${name}` }
  }

  private structRef(schema: StructSchema): JSONObject {
    const name = definitionName(schema.name)
    if (!this.schemas.has(name)) {
      this.schemas.set(name, {})
      this.pending.push(schema)
    }
    return this.refTo(name)
  }

  private specialRef(kind: string): JSONObject {
    const special = SPECIAL[kind] as (typeof SPECIAL)[string]
    const name = definitionName(special.name)
    if (!this.schemas.has(name)) {
      const description = this.descriptions?.(special.name)
      this.schemas.set(name, { ...(description === undefined ? {} : { description }), ...special[this.dialect] })
    }
    return this.refTo(name)
  }

  /** Makes one definition that is due; false when none is. */
  private makeNext(): boolean {
    const next = this.pending.pop()
    if (!next) return false
    Object.assign(this.schemas.get(definitionName(next.name)) as JSONObject, this.struct(next))
    return true
  }

  private struct(schema: StructSchema): JSONObject {
    const out: JSONObject = {}
    const description = this.descriptions?.(schema.name)
    if (description !== undefined) out.description = description
    out.type = 'object'
    const required = schema.fields.filter((f) => f.required === true || (!f.omitempty && f.required !== false)).map((f) => f.name)
    if (required.length) out.required = required
    if (schema.fields.length) {
      const properties: JSONObject = {}
      for (const f of [...schema.fields].sort((a, b) => (a.name < b.name ? -1 : 1))) properties[f.name] = this.property(f, schema)
      out.properties = properties
    }
    const kinds = this.kindsOf(schema.name)
    if (kinds.length) out['x-kubernetes-group-version-kind'] = kinds
    if (schema.atomic) out['x-kubernetes-map-type'] = 'atomic'
    if (schema.union) {
      const { discriminator, members } = schema.union
      const by = Object.fromEntries(members.map((m) => [m, m[0]?.toUpperCase() + m.slice(1)]))
      out['x-kubernetes-unions'] = [{ ...(discriminator === undefined ? {} : { discriminator }), 'fields-to-discriminateBy': by }]
    }
    return out
  }

  private property(f: FieldSchema, owner: StructSchema): JSONObject {
    const out: JSONObject = {}
    const description = this.descriptions?.(owner.name, f.name)
    if (description !== undefined) out.description = description
    // OpenAPI 2 documents leave defaults out.
    const fallback = this.dialect === 'v3' ? defaultOf(f) : undefined
    const value = this.value(f.schema)
    const { $ref, ...rest } = value
    Object.assign(out, rest)
    if (fallback !== undefined) out.default = fallback
    if (f.listMapKeys) out['x-kubernetes-list-map-keys'] = f.listMapKeys
    if (f.listType) out['x-kubernetes-list-type'] = f.listType
    if (f.mapType) out['x-kubernetes-map-type'] = f.mapType
    if (f.structType) out['x-kubernetes-map-type'] = f.structType
    if (f.patchMergeKey) out['x-kubernetes-patch-merge-key'] = f.patchMergeKey
    if (f.patchStrategy) out['x-kubernetes-patch-strategy'] = f.patchStrategy.join(',')
    if ($ref === undefined) return out
    // OpenAPI 3.0 ignores what stands beside a reference.
    if (this.dialect === 'v2') return { ...out, $ref }
    return Object.keys(out).length === 0 && this.descriptions ? { $ref } : { ...out, allOf: [{ $ref }] }
  }

  private value(schema: Schema): JSONObject {
    switch (schema.kind) {
      case 'struct':
        return this.structRef(schema)
      case 'list':
        return { type: 'array', items: this.value(schema.elem) }
      case 'map':
        return { type: 'object', additionalProperties: this.value(schema.elem) }
      case 'any':
        return this.any(schema)
      case 'scalar':
        return this.scalar(schema)
    }
  }

  private any(schema: AnySchema): JSONObject {
    return schema.any === 'json' ? this.specialRef('json') : this.specialRef(schema.any)
  }

  private scalar(schema: ScalarSchema): JSONObject {
    switch (schema.scalar) {
      case 'string':
        return { type: 'string', ...(schema.enum && this.enums ? { enum: schema.enum } : {}) }
      case 'bool':
        return { type: 'boolean' }
      case 'int32':
        return { type: 'integer', format: 'int32' }
      case 'int64':
        return { type: 'integer', format: 'int64' }
      case 'float64':
        return { type: 'number', format: 'double' }
      case 'bytes':
        return { type: 'string', format: 'byte' }
      default:
        return this.specialRef(schema.scalar)
    }
  }
}

function defaultOf(f: FieldSchema): unknown {
  if (f.default !== undefined) return f.default
  if (f.pointer) return undefined
  if (f.schema.kind === 'struct') return {}
  if (f.schema.kind !== 'scalar' || f.omitempty) return undefined
  switch (f.schema.scalar) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'float64':
      return 0
    default:
      return undefined
  }
}
