export type FieldSelectorOperator = '=' | '!='

export interface FieldRequirement {
  readonly field: string
  readonly operator: FieldSelectorOperator
  readonly value: string
}

/** A conjunction of comparisons of an object's selectable fields. Immutable. */
export interface FieldSelector {
  /** @param fields the object's selectable fields; absent ones count as the empty text */
  matches(fields: Readonly<Record<string, string>>): boolean
  readonly empty: boolean
  readonly requirements: readonly FieldRequirement[]
  /** The one value that the selector demands for the field, if it demands one. */
  exactMatch(field: string): string | undefined
  /** Text that `parseFieldSelector` reads back. */
  toString(): string
}

/** Upstream's text for a field selector that cannot be read. */
export class FieldSelectorError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FieldSelectorError'
  }
}

class Conjunction implements FieldSelector {
  readonly requirements: readonly FieldRequirement[]
  readonly empty: boolean

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
    this.empty = requirements.length === 0
  }

  matches(fields: Readonly<Record<string, string>>): boolean {
    for (const r of this.requirements) {
      const value = Object.hasOwn(fields, r.field) ? (fields[r.field] as string) : ''
      if ((value === r.value) !== (r.operator === '=')) return false
    }
    return true
  }

  exactMatch(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value
  }

  toString(): string {
    return this.requirements.map((r) => `${r.field}${r.operator}${escapeFieldValue(r.value)}`).join(',')
  }
}

export const everyField: FieldSelector = new Conjunction([])

export function fieldSelectorOf(requirements: readonly FieldRequirement[]): FieldSelector {
  return requirements.length === 0 ? everyField : new Conjunction(requirements)
}

/** Parses `metadata.name=a,status.phase!=Running`; `==` equals `=`; `\\`, `\,` and `\=` are escapes. Throws FieldSelectorError. */
export function parseFieldSelector(text: string): FieldSelector {
  const out: FieldRequirement[] = []
  for (const term of splitTerms(text)) {
    if (term === '') continue
    const found = splitTerm(term)
    if (!found) throw new FieldSelectorError(`invalid selector: '${text}'; can't understand '${term}'`)
    out.push({ ...found, value: unescapeFieldValue(found.value) })
  }
  return fieldSelectorOf(out)
}

export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}

function unescapeFieldValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text
  let out = ''
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string
    if (c === '\\') {
      const next = text[i + 1]
      if (next === undefined) throw new FieldSelectorError(`invalid field selector: invalid escape sequence: \\`)
      if (next !== '\\' && next !== ',' && next !== '=') throw new FieldSelectorError(`invalid field selector: invalid escape sequence: \\${next}`)
      out += next
      i++
    } else if (c === ',' || c === '=') {
      throw new FieldSelectorError(`invalid field selector: unescaped character in value: ${c.charCodeAt(0)}`)
    } else out += c
  }
  return out
}

function splitTerms(text: string): string[] {
  if (text === '') return []
  const out: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === ',') {
      out.push(text.slice(start, i))
      start = i + 1
    }
  }
  out.push(text.slice(start))
  return out
}

function splitTerm(term: string): FieldRequirement | undefined {
  for (let i = 0; i < term.length; i++) {
    if (term.startsWith('!=', i)) return { field: term.slice(0, i), operator: '!=', value: term.slice(i + 2) }
    if (term.startsWith('==', i)) return { field: term.slice(0, i), operator: '=', value: term.slice(i + 2) }
    if (term[i] === '=') return { field: term.slice(0, i), operator: '=', value: term.slice(i + 1) }
  }
  return undefined
}
