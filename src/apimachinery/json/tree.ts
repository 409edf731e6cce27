import { setOwn } from '../../base/deep-freeze.ts'
import { quote } from '../quote.ts'

/** JSON with what JSON.parse loses: number texts, and keys in order with duplicates. */
export type Tree =
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: Tree[] }
  | { readonly kind: 'object'; readonly entries: [string, Tree][] }

/** Malformed JSON; the message is that of Go's scanner. */
export class JSONSyntaxError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JSONSyntaxError'
  }
}

/** Levels of nesting that Go's scanner allows. */
export const MAX_DEPTH = 10_000

const NULL: Tree = { kind: 'null' }
const TRUE: Tree = { kind: 'bool', value: true }
const FALSE: Tree = { kind: 'bool', value: false }

type Frame = { kind: 'array'; items: Tree[] } | { kind: 'object'; entries: [string, Tree][]; key: string }

/** Parses strictly by RFC 8259 without recursion; throws JSONSyntaxError. */
export function parseTree(text: string): Tree {
  const stack: Frame[] = []
  let i = 0
  const n = text.length
  const fail = (context: string): never => {
    if (i >= n) throw new JSONSyntaxError('unexpected end of JSON input')
    throw new JSONSyntaxError(`invalid character ${quoteChar(text, i)} ${context}`)
  }
  const space = () => {
    for (; i < n; i++) {
      const c = text.charCodeAt(i)
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return
    }
  }
  const digits = (context: string) => {
    if (!isDigit(text.charCodeAt(i))) fail(context)
    while (isDigit(text.charCodeAt(i))) i++
  }
  const string = (): string => {
    const start = i++
    for (;;) {
      const c = text.charCodeAt(i)
      if (i >= n || c < 0x20) fail('in string literal')
      if (c === 0x22) break
      i++
      if (c !== 0x5c) continue
      const e = text[i] as string
      if (i >= n || !'bfnrt\\/"u'.includes(e)) fail('in string escape code')
      i++
      if (e === 'u') {
        for (let k = 0; k < 4; k++, i++) if (i >= n || !/[0-9a-fA-F]/.test(text[i] as string)) fail('in \\u hexadecimal character escape')
      }
    }
    i++
    return wellFormed(JSON.parse(text.slice(start, i)) as string)
  }
  const number = (): Tree => {
    const start = i
    if (text[i] === '-') i++
    if (text[i] === '0') i++
    else digits('in numeric literal')
    if (text[i] === '.') {
      i++
      digits('after decimal point in numeric literal')
    }
    if (text[i] === 'e' || text[i] === 'E') {
      i++
      if (text[i] === '+' || text[i] === '-') i++
      digits('in exponent of numeric literal')
    }
    return { kind: 'number', text: text.slice(start, i) }
  }
  const literal = (word: string, node: Tree): Tree => {
    for (let k = 1; k < word.length; k++) {
      i++
      if (text[i] !== word[k]) fail(`in literal ${word} (expecting '${word[k]}')`)
    }
    i++
    return node
  }
  const key = (frame: Frame & { kind: 'object' }) => {
    space()
    if (text[i] !== '"') fail('looking for beginning of object key string')
    frame.key = string()
    space()
    if (text[i] !== ':') fail('after object key')
    i++
  }

  for (;;) {
    space()
    let node: Tree
    const c = text[i]
    if (c === '{' || c === '[') {
      if (stack.length >= MAX_DEPTH) fail('exceeded max depth')
      i++
      space()
      if (c === '{') {
        if (text[i] === '}') node = { kind: 'object', entries: [] }
        else {
          const frame: Frame = { kind: 'object', entries: [], key: '' }
          stack.push(frame)
          key(frame)
          continue
        }
      } else if (text[i] === ']') node = { kind: 'array', items: [] }
      else {
        stack.push({ kind: 'array', items: [] })
        continue
      }
      i++
    } else if (c === '"') node = { kind: 'string', value: string() }
    else if (c === 't') node = literal('true', TRUE)
    else if (c === 'f') node = literal('false', FALSE)
    else if (c === 'n') node = literal('null', NULL)
    else if (c === '-' || isDigit(text.charCodeAt(i))) node = number()
    else fail('looking for beginning of value')
    // The value is complete; close what it completes.
    for (;;) {
      const frame = stack.at(-1)
      space()
      if (!frame) {
        if (i < n) fail('after top-level value')
        return node!
      }
      if (frame.kind === 'array') {
        frame.items.push(node!)
        if (text[i] === ',') {
          i++
          break
        }
        if (text[i] !== ']') fail('after array element')
        node = { kind: 'array', items: frame.items }
      } else {
        frame.entries.push([frame.key, node!])
        if (text[i] === ',') {
          i++
          key(frame)
          break
        }
        if (text[i] !== '}') fail('after object key:value pair')
        node = { kind: 'object', entries: frame.entries }
      }
      i++
      stack.pop()
    }
  }
}

/** The tree of a value that is already parsed. */
export function treeOf(value: unknown): Tree {
  if (value === null || value === undefined) return NULL
  switch (typeof value) {
    case 'boolean':
      return value ? TRUE : FALSE
    case 'number':
      return { kind: 'number', text: String(value) }
    case 'bigint':
      return { kind: 'number', text: String(value) }
    case 'string':
      return { kind: 'string', value }
    case 'object':
      if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) }
      return { kind: 'object', entries: Object.entries(value).map(([k, v]) => [k, treeOf(v)]) }
    default:
      throw new TypeError(`json: no JSON form of a ${typeof value}`)
  }
}

/** The plain value of a tree; the last of duplicate keys wins. */
export function plainValue(tree: Tree): unknown {
  switch (tree.kind) {
    case 'null':
      return null
    case 'bool':
    case 'string':
      return tree.value
    case 'number':
      return Number(tree.text)
    case 'array':
      return tree.items.map(plainValue)
    case 'object': {
      const out: Record<string, unknown> = {}
      for (const [k, v] of tree.entries) setOwn(out, k, plainValue(v))
      return out
    }
  }
}

/** Unpaired surrogates become U+FFFD. */
function wellFormed(s: string): string {
  return /\p{Surrogate}/u.test(s) ? s.replace(/\p{Surrogate}/gu, '\ufffd') : s
}

function isDigit(c: number): boolean {
  return c >= 0x30 && c <= 0x39
}

/** The offending byte in single quotes with Go's escapes. */
function quoteChar(text: string, i: number): string {
  const c = text.codePointAt(i) as number
  const byte = c < 0x80 ? c : c < 0x800 ? 0xc0 | (c >> 6) : c < 0x10000 ? 0xe0 | (c >> 12) : 0xf0 | (c >> 18)
  if (byte === 0x27) return "'\\''"
  if (byte === 0x22) return `'"'`
  return `'${quote(String.fromCharCode(byte)).slice(1, -1)}'`
}
