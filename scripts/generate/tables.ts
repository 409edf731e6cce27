import type { FieldTable, PackageTable, TypeTable } from '../../src/apimachinery/schema/schema.ts'

export interface FactField {
  name?: string
  type: string
  inline?: boolean
  omitempty?: boolean
  proto?: number
  wire?: string
  patchStrategy?: string
  patchMergeKey?: string
  markers?: string[]
}

export interface FactType {
  alias?: string
  values?: Record<string, string>
  fields?: FactField[]
  markers?: string[]
}

export interface Facts {
  importPath: string
  group: string
  version: string
  protoPackage: string
  types: Record<string, FactType>
}

/** Types whose JSON form is not their struct: each has a codec of its own. */
export const SPECIAL: Record<string, string> = {
  'k8s.io/apimachinery/pkg/apis/meta/v1.Time': 'time',
  'k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime': 'microtime',
  'k8s.io/apimachinery/pkg/apis/meta/v1.Duration': 'duration',
  'k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1': 'fieldsV1',
  'k8s.io/apimachinery/pkg/api/resource.Quantity': 'quantity',
  'k8s.io/apimachinery/pkg/util/intstr.IntOrString': 'intorstring',
  'k8s.io/apimachinery/pkg/runtime.RawExtension': 'raw',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON': 'json',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool': 'propsOrBool',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray': 'propsOrArray',
  'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray': 'propsOrStrings',
}

/** Struct fields tagged omitzero, which the facts do not tell from omitempty. */
const OMITZERO = new Set(['k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta.creationTimestamp'])

/** Go-only declarations: interfaces, serializer internals and option structs that never reach the wire. */
const UNWIRED = new Set([
  'k8s.io/apimachinery/pkg/apis/meta/v1.Common',
  'k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1Reader',
  'k8s.io/apimachinery/pkg/apis/meta/v1.InternalEvent',
  'k8s.io/apimachinery/pkg/apis/meta/v1.ListInterface',
  'k8s.io/apimachinery/pkg/apis/meta/v1.ListMetaAccessor',
  'k8s.io/apimachinery/pkg/apis/meta/v1.Object',
  'k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMetaAccessor',
  'k8s.io/apimachinery/pkg/apis/meta/v1.ShardedListInterface',
  'k8s.io/apimachinery/pkg/apis/meta/v1.Type',
  'k8s.io/apimachinery/pkg/apis/meta/v1.Timestamp',
])

/** True for declarations that have a wire form. */
export function wired(facts: Facts, name: string): boolean {
  const full = `${facts.importPath}.${name}`
  if (UNWIRED.has(full)) return false
  if (SPECIAL[full]) return true
  const type = facts.types[name] as FactType
  if (type.alias === 'any') return false
  if (facts.importPath === 'k8s.io/apimachinery/pkg/api/resource' || facts.importPath === 'k8s.io/apimachinery/pkg/util/intstr') return false
  return type.alias !== undefined || (type.fields ?? []).every((f) => f.inline || f.name !== undefined || f.type === 'k8s.io/apimachinery/pkg/runtime.TypeMeta')
}

export function packageTable(facts: Facts): PackageTable {
  const types: Record<string, TypeTable> = {}
  for (const [name, type] of Object.entries(facts.types)) if (wired(facts, name)) types[name] = typeTable(facts, name, type)
  return { importPath: facts.importPath, group: facts.group, version: facts.version, protoPackage: facts.protoPackage, types }
}

function typeTable(facts: Facts, name: string, type: FactType): TypeTable {
  const special = SPECIAL[`${facts.importPath}.${name}`]
  if (special) return { s: special }
  if (type.alias !== undefined) {
    const values = type.values ? [...new Set(Object.values(type.values))].sort() : undefined
    return { a: local(type.alias, facts), ...(values?.length && type.markers?.includes('enum') ? { e: values } : {}) }
  }
  const structType = marker(type.markers, 'structType')
  return {
    f: (type.fields ?? []).map((f) => fieldTable(f, name, facts)),
    ...(structType ? { st: structType as 'atomic' } : {}),
    ...(type.markers?.includes('union') ? { u: 1 as const } : {}),
  }
}

function fieldTable(f: FactField, type: string, facts: Facts): FieldTable {
  const out: FieldTable = { t: local(f.type, facts) }
  if (f.inline) out.i = 1
  else out.n = f.name
  if (f.omitempty) out.o = 1
  if (f.proto !== undefined) {
    out.p = f.proto
    if (f.wire && f.wire !== 'bytes') out.w = f.wire
  }
  const has = (m: string) => f.markers?.includes(m) ?? false
  if (has('required') || has('k8s:required')) out.r = 1
  else if (has('optional') || has('k8s:optional')) out.r = 0
  if (has('nullable')) out.nl = 1
  if (f.patchStrategy) out.ps = f.patchStrategy
  if (f.patchMergeKey) out.pk = f.patchMergeKey
  const listType = marker(f.markers, 'listType') ?? marker(f.markers, 'k8s:listType')
  if (listType) out.lt = listType as 'atomic'
  const keys = all(f.markers, 'listMapKey')
  const declarative = all(f.markers, 'k8s:listMapKey')
  if (keys.length || declarative.length) out.lk = keys.length ? keys : declarative
  const mapType = marker(f.markers, 'mapType')
  if (mapType) out.mt = mapType as 'atomic'
  const structType = marker(f.markers, 'structType')
  if (structType) out.st = structType as 'atomic'
  const def = marker(f.markers, 'default')
  if (def !== undefined) out.d = defaultValue(def, facts)
  const gate = marker(f.markers, 'featureGate')
  if (gate) out.g = gate
  if (has('unionDiscriminator')) out.ud = 1
  if (OMITZERO.has(`${facts.importPath}.${type}.${f.name}`)) out.z = 1
  return out
}

/** `default="x"`, `default=5`, or `default=ref(pkg.Constant)`, whose value is looked up among the enum constants. */
function defaultValue(text: string, facts: Facts): unknown {
  const ref = /^ref\((.*)\)$/.exec(text)?.[1]
  if (ref === undefined) {
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  }
  const constant = ref.split('.').at(-1) as string
  for (const type of Object.values(facts.types)) if (type.values && constant in type.values) return type.values[constant]
  throw new Error(`${facts.importPath}: default ref(${ref}) is not among its constants`)
}

/** Own types lose their import path; all others keep it. */
function local(type: string, facts: Facts): string {
  return type.split(`${facts.importPath}.`).join('')
}

function marker(markers: string[] | undefined, key: string): string | undefined {
  return all(markers, key)[0]
}

function all(markers: string[] | undefined, key: string): string[] {
  return (markers ?? []).filter((m) => m.startsWith(`${key}=`)).map((m) => m.slice(key.length + 1))
}
