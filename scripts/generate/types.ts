import { type FactField, type Facts, SPECIAL, wired } from './tables.ts'

const TS: Record<string, string> = {
  string: 'string',
  bool: 'boolean',
  int: 'number',
  int32: 'number',
  int64: 'number',
  uint32: 'number',
  uint64: 'number',
  float64: 'number',
  '[]byte': 'string',
  any: 'unknown',
  'k8s.io/apimachinery/pkg/types.UID': 'string',
  'k8s.io/apimachinery/pkg/types.NodeName': 'string',
}

const SPECIAL_TS: Record<string, string> = {
  time: 'string',
  microtime: 'string',
  duration: 'string',
  quantity: 'string',
  intorstring: 'number | string',
  fieldsV1: 'Record<string, unknown>',
  raw: 'Record<string, unknown>',
  json: 'unknown',
}

/** One interface or alias per declared type. JSON forms: bytes are base64 text, times RFC 3339, quantities text. */
export function typesModule(facts: Facts, home: ReadonlyMap<string, string>, to: (path: string) => string): string | undefined {
  const imports = new Map<string, Set<string>>()
  const blocks: string[] = []
  const expression = (text: string): string => {
    const known = TS[text]
    if (known) return known
    if (text.startsWith('*')) return expression(text.slice(1))
    if (text.startsWith('[]')) {
      const elem = expression(text.slice(2))
      return elem.includes(' ') ? `(${elem})[]` : `${elem}[]`
    }
    if (text.startsWith('map[')) return `Record<string, ${expression(text.slice(text.indexOf(']') + 1))}>`
    const special = SPECIAL[text]
    if (special && SPECIAL_TS[special]) return SPECIAL_TS[special]
    const dot = text.lastIndexOf('.')
    const path = text.slice(0, dot)
    const name = text.slice(dot + 1)
    if (path === facts.importPath) return special ? specialUnion(special) : name
    const dir = home.get(path)
    if (!dir) throw new Error(`${facts.importPath}: no package for ${text}`)
    const local = `${dir.split('/').slice(-2).map(pascal).join('')}${name}`
    let names = imports.get(dir)
    if (!names) imports.set(dir, (names = new Set()))
    names.add(`${name} as ${local}`)
    return local
  }
  for (const [name, type] of Object.entries(facts.types)) {
    if (!wired(facts, name) || SPECIAL[`${facts.importPath}.${name}`]) continue
    if (type.alias !== undefined) {
      const values = type.markers?.includes('enum') && type.values ? [...new Set(Object.values(type.values))].sort() : []
      const text = values.length ? `${values.map((v) => JSON.stringify(v)).join(' | ')} | (string & {})` : expression(type.alias)
      blocks.push(`export type ${name} = ${text}\n`)
      continue
    }
    const kind = type.fields?.some((f) => f.inline && f.type.endsWith('.TypeMeta')) ?? false
    const parents = (type.fields ?? []).filter((f) => f.inline).map((f) => expression(f.type))
    const own = (type.fields ?? [])
      .filter((f) => !f.inline)
      .map(
        (f) =>
          `  ${JSON.stringify(f.name)
            .slice(1, -1)
            .replace(/^(.*[^\w].*)$/, "'$1'")}${present(f, facts, kind) ? '' : '?'}: ${expression(f.type)}\n`,
      )
    blocks.push(
      own.length === 0 && parents.length === 1
        ? `export type ${name} = ${parents[0]}\n`
        : `export interface ${name}${parents.length ? ` extends ${parents.join(', ')}` : ''} {\n${own.join('')}}\n`,
    )
  }
  if (blocks.length === 0) return undefined
  const head = [...imports].sort().map(([dir, names]) => `import type { ${[...names].sort().join(', ')} } from '${to(dir)}/types.generated.ts'\n`)
  return `${head.join('')}\n${blocks.join('\n')}`
}

/** A decoded object always has the field: no pointer, and either a struct or a value that is not left out when zero. */
function present(f: FactField, facts: Facts, _kind: boolean): boolean {
  if (f.type.startsWith('*')) return false
  const special = SPECIAL[f.type]
  if (!f.omitempty) return special === undefined || special === 'quantity' || special === 'intorstring'
  if (special) return false
  if (f.type.startsWith('[]') || f.type.startsWith('map[')) return false
  const local = f.type.startsWith(`${facts.importPath}.`) ? facts.types[f.type.slice(facts.importPath.length + 1)] : undefined
  if (local) return local.alias === undefined
  return (
    f.type === 'k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta' ||
    f.type === 'k8s.io/apimachinery/pkg/apis/meta/v1.ListMeta' ||
    f.type === 'k8s.io/api/core/v1.PodTemplateSpec'
  )
}

function specialUnion(special: string): string {
  if (special === 'propsOrBool') return '(JSONSchemaProps | boolean)'
  if (special === 'propsOrArray') return '(JSONSchemaProps | JSONSchemaProps[])'
  return '(JSONSchemaProps | string[])'
}

function pascal(s: string): string {
  return s[0]?.toUpperCase() + s.slice(1)
}
