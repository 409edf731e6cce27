import { aggregateText, type FieldError, FieldPath, fieldErrorText, invalid, notSupported } from './field.ts'
import { labelKeyErrors, labelValueErrors } from './label-syntax.ts'
import type { LabelSelector } from './meta/v1/types.generated.ts'
import { quote } from './quote.ts'

export type Labels = Readonly<Record<string, string>>

export type LabelOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'exists' | '!' | 'gt' | 'lt'

const OPERATORS: readonly LabelOperator[] = ['in', 'notin', '=', '==', '!=', 'gt', 'lt', 'exists', '!']

/** One condition on one label. Values are sorted and unique. */
export interface Requirement {
  readonly key: string
  readonly operator: LabelOperator
  readonly values: readonly string[]
}

/** A conjunction of requirements. Immutable; `matches` costs one look-up per requirement. */
export interface Selector {
  matches(labels: Labels | undefined): boolean
  /** Selects every object. */
  readonly empty: boolean
  /** Selects no object whatever its labels. */
  readonly nothing: boolean
  readonly requirements: readonly Requirement[]
  /** The one value that the selector demands for the key, if it demands one. */
  exactMatch(key: string): string | undefined
  /** Text that `parseSelector` reads back. */
  toString(): string
}

/** A selector or requirement that cannot be read; the message is upstream's. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SelectorError'
  }
}

class RequirementSelector implements Selector {
  readonly empty: boolean
  readonly nothing = false
  readonly requirements: readonly Requirement[]
  private readonly tests: readonly ((labels: Labels) => boolean)[]

  constructor(requirements: readonly Requirement[]) {
    this.requirements = requirements
    this.empty = requirements.length === 0
    this.tests = requirements.map(compile)
  }

  matches(labels: Labels | undefined): boolean {
    const set = labels ?? NO_LABELS
    for (const test of this.tests) if (!test(set)) return false
    return true
  }

  exactMatch(key: string): string | undefined {
    for (const r of this.requirements) {
      if (r.key === key && r.values.length === 1 && (r.operator === '=' || r.operator === '==' || r.operator === 'in')) return r.values[0]
    }
    return undefined
  }

  toString(): string {
    return this.requirements.map(requirementText).join(',')
  }
}

const NO_LABELS: Labels = Object.freeze(Object.create(null))

export const everything: Selector = new RequirementSelector([])

export const nothing: Selector = {
  matches: () => false,
  empty: false,
  nothing: true,
  requirements: [],
  exactMatch: () => undefined,
  toString: () => '',
}

function compile(r: Requirement): (labels: Labels) => boolean {
  const { key } = r
  const only = r.values[0] as string
  const set = r.values.length > 1 ? new Set(r.values) : undefined
  const has = Object.hasOwn
  switch (r.operator) {
    case 'in':
    case '=':
    case '==':
      return set ? (l) => has(l, key) && set.has(l[key] as string) : (l) => l[key] === only && has(l, key)
    case 'notin':
    case '!=':
      return set ? (l) => !has(l, key) || !set.has(l[key] as string) : (l) => l[key] !== only || !has(l, key)
    case 'exists':
      return (l) => has(l, key)
    case '!':
      return (l) => !has(l, key)
    case 'gt':
    case 'lt': {
      const bound = parseInt64(only) as bigint
      const greater = r.operator === 'gt'
      return (l) => {
        const n = has(l, key) ? parseInt64(l[key] as string) : undefined
        return n !== undefined && (greater ? n > bound : n < bound)
      }
    }
  }
}

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,30}$/.test(text)) return undefined
  const n = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return n >= -(1n << 63n) && n < 1n << 63n ? n : undefined
}

function requirementText(r: Requirement): string {
  switch (r.operator) {
    case '!':
      return `!${r.key}`
    case 'exists':
      return r.key
    case 'in':
    case 'notin':
      return `${r.key} ${r.operator} (${r.values.join(',')})`
    case 'gt':
      return `${r.key}>${r.values[0]}`
    case 'lt':
      return `${r.key}<${r.values[0]}`
    default:
      return `${r.key}${r.operator}${r.values[0]}`
  }
}

/**
 * Checks and builds a requirement; throws SelectorError with all complaints.
 * @param path where the requirement stands, for messages; nothing for the text form
 */
export function newRequirement(key: string, operator: LabelOperator, values: Iterable<string>, path?: FieldPath): Requirement {
  const list = [...values]
  const child = (name: string) => (path ? path.child(name) : FieldPath.root(name))
  const errors: FieldError[] = []
  const keyErrors = labelKeyErrors(key)
  if (keyErrors.length) errors.push(invalid(child('key'), key, keyErrors.join('; ')))
  const at = child('values')
  switch (operator) {
    case 'in':
    case 'notin':
      if (list.length === 0) errors.push(invalid(at, list, "for 'in', 'notin' operators, values set can't be empty"))
      break
    case '=':
    case '==':
    case '!=':
      if (list.length !== 1) errors.push(invalid(at, list, 'exact-match compatibility requires one single value'))
      break
    case 'exists':
    case '!':
      if (list.length !== 0) errors.push(invalid(at, list, 'values set must be empty for exists and does not exist'))
      break
    case 'gt':
    case 'lt':
      if (list.length !== 1) errors.push(invalid(at, list, "for 'Gt', 'Lt' operators, exactly one value is required"))
      list.forEach((v, i) => {
        if (parseInt64(v) === undefined) errors.push(invalid(at.index(i), v, "for 'Gt', 'Lt' operators, the value must be an integer"))
      })
      break
    default:
      errors.push(notSupported(child('operator'), operator, OPERATORS))
  }
  list.forEach((v, i) => {
    const wrong = labelValueErrors(v)
    if (wrong.length) errors.push(invalid(at.index(i).key(key), v, wrong.join('; ')))
  })
  if (errors.length) throw new SelectorError(aggregateText(errors.map(fieldErrorText)))
  return { key, operator, values: list }
}

/** Selector of these requirements, ordered by key. */
export function selectorOf(requirements: Iterable<Requirement>): Selector {
  const list = [...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return list.length === 0 ? everything : new RequirementSelector(list)
}

/** Selects objects that have all of these labels; nothing is validated. */
export function selectorFromLabels(labels: Labels | undefined): Selector {
  return selectorOf(Object.entries(labels ?? {}).map(([key, value]) => ({ key, operator: '=' as const, values: [value] })))
}

const SELECTOR_OPERATORS: Record<string, LabelOperator> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' }

/** An API object's selector: none selects nothing, an empty one everything. Throws SelectorError when it is not valid. */
export function selectorFromLabelSelector(selector: LabelSelector | undefined | null): Selector {
  if (!selector) return nothing
  const requirements: Requirement[] = []
  const labels = selector.matchLabels ?? {}
  for (const key of Object.keys(labels).sort()) requirements.push(newRequirement(key, '=', [labels[key] as string]))
  for (const e of selector.matchExpressions ?? []) {
    const operator = Object.hasOwn(SELECTOR_OPERATORS, e.operator) ? SELECTOR_OPERATORS[e.operator] : undefined
    if (!operator) throw new SelectorError(`${quote(e.operator)} is not a valid label selector operator`)
    requirements.push(newRequirement(e.key, operator, [...new Set(e.values ?? [])].sort()))
  }
  return selectorOf(requirements)
}

/** How tables print an API object's selector: `<none>` when empty, `<error>` when not valid. */
export function formatLabelSelector(selector: LabelSelector | undefined | null): string {
  try {
    return selectorFromLabelSelector(selector).toString() || '<none>'
  } catch {
    return '<error>'
  }
}

/** `k=v` pairs sorted by key, or `<none>`. */
export function formatLabels(labels: Labels | undefined): string {
  const text = Object.keys(labels ?? {})
    .sort()
    .map((k) => `${k}=${labels?.[k]}`)
    .join(',')
  return text === '' ? '<none>' : text
}

/** Parses the query form, such as `app=web,tier in (a,b),!old`. Throws SelectorError with upstream's text. */
export function parseSelector(text: string): Selector {
  if (text === '') return everything
  return selectorOf(new Parser(text).parse())
}

type Token = 'id' | 'in' | 'notin' | '=' | '==' | '!=' | '!' | '>' | '<' | '(' | ')' | ',' | 'end'

interface Lexeme {
  token: Token
  text: string
}

const SPECIAL = new Set('=!(),<>')
const SYMBOLS = new Set(['=', '==', '!=', '!', '>', '<', '(', ')', ','])
const SPACE = /[ \t\r\n]/

function scan(text: string): Lexeme[] {
  const out: Lexeme[] = []
  let i = 0
  while (i < text.length) {
    const c = text[i] as string
    if (SPACE.test(c)) {
      i++
      continue
    }
    if (SPECIAL.has(c)) {
      const two = text.slice(i, i + 2)
      const symbol = two.length === 2 && SYMBOLS.has(two) ? two : c
      out.push({ token: symbol as Token, text: symbol })
      i += symbol.length
      continue
    }
    const start = i
    while (i < text.length && !SPECIAL.has(text[i] as string) && !SPACE.test(text[i] as string)) i++
    const word = text.slice(start, i)
    out.push({ token: word === 'in' || word === 'notin' ? word : 'id', text: word })
  }
  out.push({ token: 'end', text: '' })
  return out
}

class Parser {
  private readonly lexemes: Lexeme[]
  private at = 0

  constructor(text: string) {
    this.lexemes = scan(text)
  }

  parse(): Requirement[] {
    const out: Requirement[] = []
    for (;;) {
      const { token, text } = this.peek()
      if (token === 'end') return out
      if (token !== 'id' && token !== '!') throw new SelectorError(`found '${text}', expected: !, identifier, or 'end of string'`)
      out.push(this.guarded())
      const next = this.take()
      if (next.token === 'end') return out
      if (next.token !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or 'end of string'`)
      const after = this.peek()
      if (after.token !== 'id' && after.token !== '!') throw new SelectorError(`found '${after.text}', expected: identifier after ','`)
    }
  }

  private guarded(): Requirement {
    try {
      return this.requirement()
    } catch (e) {
      if (e instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${e.message}`)
      throw e
    }
  }

  private requirement(): Requirement {
    let key = this.take()
    const negated = key.token === '!'
    if (negated) key = this.take()
    if (key.token !== 'id') throw new SelectorError(`found '${key.text}', expected: identifier`)
    const wrong = labelKeyErrors(key.text)
    if (wrong.length) throw new SelectorError(fieldErrorText(invalid(FieldPath.nil, key.text, wrong.join('; '))))
    if (negated) return newRequirement(key.text, '!', [])
    const follow = this.peek().token
    if (follow === 'end' || follow === ',') return newRequirement(key.text, 'exists', [])
    const operator = this.operator()
    const values = operator === 'in' || operator === 'notin' ? this.values() : this.exactValue()
    return newRequirement(key.text, operator, [...values].sort())
  }

  private operator(): LabelOperator {
    const { token, text } = this.take(true)
    switch (token) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token
      case '>':
        return 'gt'
      case '<':
        return 'lt'
      default:
        throw new SelectorError(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  private values(): Set<string> {
    const open = this.take()
    if (open.token !== '(') throw new SelectorError(`found '${open.text}' expected: '('`)
    const first = this.peek()
    if (first.token === ')') {
      this.take()
      return new Set([''])
    }
    if (first.token !== 'id' && first.token !== ',') throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`)
    const out = this.identifiers()
    const close = this.take()
    if (close.token !== ')') throw new SelectorError(`found '${close.text}', expected: ')'`)
    return out
  }

  /** Values may be left out: `(,a)`, `(a,)` and `(a,,b)` contain the empty value. */
  private identifiers(): Set<string> {
    const out = new Set<string>()
    for (;;) {
      const { token, text } = this.take()
      if (token === 'id') {
        out.add(text)
        const next = this.peek()
        if (next.token === ')') return out
        if (next.token !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or ')'`)
      } else if (token === ',') {
        if (out.size === 0) out.add('')
        const next = this.peek().token
        if (next === ')') {
          out.add('')
          return out
        }
        if (next === ',') {
          this.take()
          out.add('')
        }
      } else throw new SelectorError(`found '${text}', expected: ',', or identifier`)
    }
  }

  private exactValue(): Set<string> {
    const next = this.peek().token
    if (next === 'end' || next === ',') return new Set([''])
    const { token, text } = this.take()
    if (token !== 'id') throw new SelectorError(`found '${text}', expected: identifier`)
    return new Set([text])
  }

  /** Words `in` and `notin` are plain identifiers except where an operator stands. */
  private peek(keywords = false): Lexeme {
    const l = this.lexemes[Math.min(this.at, this.lexemes.length - 1)] as Lexeme
    return !keywords && (l.token === 'in' || l.token === 'notin') ? { token: 'id', text: l.text } : l
  }

  private take(keywords = false): Lexeme {
    const l = this.peek(keywords)
    this.at++
    return l
  }
}
