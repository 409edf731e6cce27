import type { FieldSchema, FieldTable, PackageTable, ProtoEntry, ScalarKind, Schema, StructSchema, TypeTable } from './schema.ts'

const SCALARS: Record<string, ScalarKind> = {
  string: 'string',
  bool: 'bool',
  int: 'int64',
  int32: 'int32',
  int64: 'int64',
  uint32: 'int64',
  uint64: 'int64',
  float64: 'float64',
  'k8s.io/apimachinery/pkg/types.UID': 'string',
  'k8s.io/apimachinery/pkg/types.NodeName': 'string',
}

interface Parsed {
  schema: Schema
  pointer: boolean
}

/**
 * Resolves the generated package tables into linked schemas, each type on first use. Recursive types (JSONSchemaProps)
 * are linked through the one struct object, which is registered before its fields are read.
 */
export class SchemaRegistry {
  private readonly sources: ReadonlyMap<string, () => PackageTable>
  private readonly packages = new Map<string, PackageTable>()
  private readonly types = new Map<string, Schema>()

  /** @param sources import path to the function that yields its table; called once, when first needed */
  constructor(sources: ReadonlyMap<string, () => PackageTable>) {
    this.sources = sources
  }

  package(importPath: string): PackageTable {
    let table = this.packages.get(importPath)
    if (!table) {
      const load = this.sources.get(importPath)
      if (!load) throw new Error(`schema: no package ${importPath}`)
      table = load()
      this.packages.set(importPath, table)
    }
    return table
  }

  has(name: string): boolean {
    const dot = name.lastIndexOf('.')
    const path = name.slice(0, dot)
    return this.sources.has(path) && Object.hasOwn(this.package(path).types, name.slice(dot + 1))
  }

  /** The schema of a declared type, e.g. `k8s.io/api/core/v1.Pod`. Throws when there is none. */
  type(name: string): Schema {
    const known = this.types.get(name)
    if (known) return known
    const dot = name.lastIndexOf('.')
    const path = name.slice(0, dot)
    const short = name.slice(dot + 1)
    const table = this.package(path).types[short]
    if (!table) throw new Error(`schema: no type ${name}`)
    if (table.s) {
      const special = specialSchema(table.s, () => this.structType(`${path}.JSONSchemaProps`))
      this.types.set(name, special)
      return special
    }
    if (table.a !== undefined) {
      const target = this.expression(table.a, path).schema
      const goType = `${path.slice(path.lastIndexOf('/') + 1)}.${short}`
      const named: Schema =
        target.kind === 'scalar' && target.scalar === 'string'
          ? { kind: 'scalar', scalar: 'string', typeName: short, goType, ...(table.e ? { enum: table.e } : {}) }
          : target.kind === 'struct' || target.kind === 'any'
            ? target
            : { ...target, goType }
      this.types.set(name, named)
      return named
    }
    return this.struct(name, path, table)
  }

  /** Like `type`, for names that are known to be structs. */
  structType(name: string): StructSchema {
    const schema = this.type(name)
    if (schema.kind !== 'struct') throw new Error(`schema: ${name} is no struct`)
    return schema
  }

  private struct(name: string, path: string, table: TypeTable): StructSchema {
    const tables: FieldTable[] = table.f ?? []
    const fields: FieldSchema[] = []
    const byName = new Map<string, FieldSchema>()
    const proto: ProtoEntry[] = []
    const schema: StructSchema = {
      kind: 'struct',
      name,
      fields,
      byName,
      proto,
      ...(table.st === 'atomic' ? { atomic: true } : {}),
      ...(table.u ? { union: unionOf(tables) } : {}),
    }
    this.types.set(name, schema)
    for (const t of tables) {
      const { schema: type, pointer } = this.expression(t.t, path)
      if (t.i) {
        if (type.kind !== 'struct') throw new Error(`schema: ${name} inlines ${t.t}, which is no struct`)
        const embedded = t.t.slice(t.t.lastIndexOf('.') + 1)
        for (const f of type.fields) add({ ...f, embedded: f.embedded === undefined ? embedded : `${embedded}.${f.embedded}` })
        if (t.p !== undefined) proto.push({ inline: type, number: t.p })
        continue
      }
      if (t.n === undefined) throw new Error(`schema: ${name} has a field without a name`)
      const field: FieldSchema = {
        name: t.n,
        schema: type,
        pointer,
        omitempty: t.o === 1,
        ...(t.r === undefined ? {} : { required: t.r === 1 }),
        ...(t.nl ? { nullable: true } : {}),
        ...(t.ps ? { patchStrategy: t.ps.split(',') } : {}),
        ...(t.pk ? { patchMergeKey: t.pk } : {}),
        ...(t.lt ? { listType: t.lt } : {}),
        ...(t.lk ? { listMapKeys: t.lk } : {}),
        ...(t.mt ? { mapType: t.mt } : {}),
        ...(t.st ? { structType: t.st } : {}),
        ...(t.d === undefined ? {} : { default: t.d }),
        ...(t.g ? { featureGate: t.g } : {}),
        ...(t.z ? { omitzero: true } : {}),
      }
      add(field)
      if (t.p !== undefined) proto.push({ field, number: t.p, wire: t.w ?? 'bytes' })
    }
    return schema

    function add(field: FieldSchema) {
      fields.push(field)
      byName.set(field.name, field)
    }
  }

  private expression(text: string, path: string): Parsed {
    if (text.startsWith('*')) return { schema: this.expression(text.slice(1), path).schema, pointer: true }
    if (text === '[]byte') return { schema: { kind: 'scalar', scalar: 'bytes' }, pointer: false }
    if (text.startsWith('[]')) {
      const elem = this.expression(text.slice(2), path)
      return { schema: { kind: 'list', elem: elem.schema, ...(elem.pointer ? { elemPointer: true } : {}) }, pointer: false }
    }
    if (text.startsWith('map[')) {
      const elem = this.expression(text.slice(text.indexOf(']') + 1), path)
      return { schema: { kind: 'map', elem: elem.schema }, pointer: false }
    }
    if (text === 'any') return { schema: { kind: 'any', any: 'json' }, pointer: false }
    const scalar = SCALARS[text]
    if (scalar) return { schema: { kind: 'scalar', scalar, ...(text.includes('.') ? { goType: text.slice(text.lastIndexOf('/') + 1) } : {}) }, pointer: false }
    return { schema: this.type(text.includes('.') ? text : `${path}.${text}`), pointer: false }
  }
}

function unionOf(fields: readonly FieldTable[]): { discriminator?: string; members: string[] } {
  const discriminator = fields.find((f) => f.ud)?.n
  const members = fields.flatMap((f) => (f.n === undefined || f.ud ? [] : [f.n]))
  return { ...(discriminator === undefined ? {} : { discriminator }), members }
}

function specialSchema(kind: string, props: () => StructSchema): Schema {
  switch (kind) {
    case 'raw':
    case 'fieldsV1':
    case 'json':
      return { kind: 'any', any: kind }
    case 'propsOrBool':
    case 'propsOrArray':
    case 'propsOrStrings':
      return { kind: 'any', any: kind, props }
    case 'quantity':
    case 'time':
    case 'microtime':
    case 'duration':
    case 'intorstring':
      return { kind: 'scalar', scalar: kind }
    default:
      throw new Error(`schema: no special form ${kind}`)
  }
}
