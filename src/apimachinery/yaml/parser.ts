import { EVENT_ID, type Event, getScalarValue, parseEvents, SCALAR_STYLE, YAMLException } from 'js-yaml'
import { setOwn } from '../../base/deep-freeze.ts'
import { quote } from '../quote.ts'
import { resolvePlain } from './resolve.ts'

/** YAML that cannot be read; the message begins with `yaml: ` as the original's. */
export class YAMLError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'YAMLError'
  }
}

export interface ParsedYAML {
  /** JSON value of the document; null for an empty one. */
  value: unknown
  /** `line 5: key "a" already set in map`, in order; the last value wins. */
  duplicates: string[]
}

/** Nesting that the original's parser allows; deeper than this we refuse earlier, since nothing real comes close. */
const MAX_DEPTH = 10_000
/** Values that aliases may expand to in one document, beyond what the text itself holds. */
const MAX_EXPANSION = 400_000

/** Reads the first document of a stream, as the API server does with a body. Throws YAMLError. */
export function parseDocument(text: string): ParsedYAML {
  return read(firstDocument(text))
}

/** Reads every document of a stream; empty ones are left out. Throws YAMLError. */
export function parseDocuments(text: string): ParsedYAML[] {
  return splitDocuments(text)
    .map(read)
    .filter((d) => d.value !== null)
}

/** The texts of a stream's documents, without the markers between them. Line numbers in messages count from each one's start. */
export function splitDocuments(text: string): string[] {
  return text.split(/^---(?=[ \t\r\n]|$)(?:[ \t]*(?:#[^\n]*)?(?:\r?\n|$))?/m)
}

function firstDocument(text: string): string {
  const marker = /^(?:---(?=[ \t\r\n]|$)|\.\.\.(?=[ \t\r\n]|$))/gm
  let content = false
  let last = 0
  for (let m = marker.exec(text); m; m = marker.exec(text)) {
    content ||= /^[ \t]*[^\s#%]/m.test(text.slice(last, m.index))
    if (content || m[0] === '...') return text.slice(0, m.index)
    last = m.index + 3
    content = /^[ \t]*[^\s#]/.test(text.slice(last, text.indexOf('\n', last) < 0 ? undefined : text.indexOf('\n', last)))
  }
  return text
}

function read(text: string): ParsedYAML {
  let events: Event[]
  try {
    events = parseEvents(text, { maxDepth: MAX_DEPTH })
  } catch (e) {
    if (e instanceof YAMLException) throw new YAMLError(translate(e, text))
    if (e instanceof RangeError) throw new YAMLError(`yaml: exceeded max depth of ${MAX_DEPTH}`)
    throw e
  }
  return new Composer(text, events).document()
}

type Frame =
  | { kind: 'sequence'; items: unknown[]; anchor: string | undefined; size: number }
  | { kind: 'mapping'; value: Record<string, unknown>; anchor: string | undefined; size: number; key: string | undefined; merge: boolean; seen: Set<string> }

/** Builds JSON values from parser events. Anchored values are shared by their aliases, but their sizes are counted. */
class Composer {
  private readonly text: string
  private readonly events: Event[]
  private readonly anchors = new Map<string, { value: unknown; size: number }>()
  private readonly duplicates: string[] = []
  private expanded = 0

  constructor(text: string, events: Event[]) {
    this.text = text
    this.events = events
  }

  document(): ParsedYAML {
    const stack: Frame[] = []
    let result: unknown = null
    const put = (value: unknown, size: number, at: number, isPlainMerge: boolean) => {
      const frame = stack.at(-1)
      if (!frame) {
        result = value
        return
      }
      frame.size += size
      if (frame.kind === 'sequence') frame.items.push(value)
      else if (frame.merge) {
        frame.merge = false
        this.merge(frame.value, value)
      } else if (frame.key === undefined) {
        if (isPlainMerge) frame.merge = true
        else {
          frame.key = keyText(value)
          if (frame.seen.has(frame.key)) this.duplicates.push(`line ${this.line(at)}: key ${quote(frame.key)} already set in map`)
          frame.seen.add(frame.key)
        }
      } else {
        setOwn(frame.value, frame.key, value)
        frame.key = undefined
      }
    }
    for (const e of this.events) {
      switch (e.type) {
        case EVENT_ID.DOCUMENT:
          break
        case EVENT_ID.SEQUENCE:
          stack.push({ kind: 'sequence', items: [], anchor: this.name(e.anchorStart, e.anchorEnd), size: 1 })
          break
        case EVENT_ID.MAPPING:
          stack.push({ kind: 'mapping', value: {}, anchor: this.name(e.anchorStart, e.anchorEnd), size: 1, key: undefined, merge: false, seen: new Set() })
          break
        case EVENT_ID.SCALAR: {
          const source = getScalarValue(this.text, e)
          const tag = this.name(e.tagStart, e.tagEnd)
          const plain = e.style === SCALAR_STYLE.PLAIN
          const value = tag === undefined ? (plain ? resolvePlain(source) : source) : tagged(tag, source)
          if (typeof value === 'number' && !Number.isFinite(value)) {
            throw new YAMLError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`)
          }
          const anchor = this.name(e.anchorStart, e.anchorEnd)
          if (anchor !== undefined) this.anchors.set(anchor, { value, size: 1 })
          put(value, 1, e.valueStart, plain && source === '<<' && tag === undefined)
          break
        }
        case EVENT_ID.ALIAS: {
          const name = this.name(e.anchorStart, e.anchorEnd) as string
          const anchor = this.anchors.get(name)
          if (!anchor) {
            const open = stack.some((f) => f.anchor === name)
            throw new YAMLError(open ? `yaml: anchor '${name}' value contains itself` : `yaml: unknown anchor '${name}' referenced`)
          }
          this.expanded += anchor.size
          if (this.expanded > MAX_EXPANSION) throw new YAMLError('yaml: document contains excessive aliasing')
          put(anchor.value, anchor.size, e.anchorStart, false)
          break
        }
        case EVENT_ID.POP: {
          const frame = stack.pop()
          if (!frame) break
          const value = frame.kind === 'sequence' ? frame.items : frame.value
          if (frame.anchor !== undefined) this.anchors.set(frame.anchor, { value, size: frame.size })
          put(value, frame.size, 0, false)
        }
      }
    }
    return { value: result, duplicates: this.duplicates }
  }

  private merge(into: Record<string, unknown>, value: unknown): void {
    const sources = Array.isArray(value) ? [...value].reverse() : [value]
    for (const source of sources) {
      if (typeof source !== 'object' || source === null || Array.isArray(source))
        throw new YAMLError('yaml: map merge requires map or sequence of maps as the value')
      for (const [k, v] of Object.entries(source)) setOwn(into, k, v)
    }
  }

  private name(start: number, end: number): string | undefined {
    return start < 0 ? undefined : this.text.slice(start, end).replace(/^[&*]/, '')
  }

  private line(at: number): number {
    let n = 1
    for (let i = this.text.indexOf('\n'); i >= 0 && i < at; i = this.text.indexOf('\n', i + 1)) n++
    return n
  }
}

/** Keys are text in JSON; numbers and booleans are printed, anything else cannot be a key. */
function keyText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new YAMLError(`yaml: invalid map key: ${value === null ? '<nil>' : JSON.stringify(value)}`)
}

function tagged(tag: string, source: string): unknown {
  switch (tag) {
    case '!!str':
    case '!':
      return source
    case '!!binary':
      try {
        return new TextDecoder().decode(Uint8Array.from(atob(source.replace(/\s/g, '')), (c) => c.charCodeAt(0)))
      } catch {
        throw new YAMLError('yaml: !!binary value contains invalid base64 data')
      }
    case '!!float': {
      const v = resolvePlain(source)
      if (typeof v !== 'number') throw new YAMLError(`yaml: cannot decode !!str \`${source}\` as a !!float`)
      return v
    }
    case '!!int':
    case '!!bool':
    case '!!null': {
      const v = resolvePlain(source)
      const ok = tag === '!!int' ? typeof v === 'number' && Number.isInteger(v) : tag === '!!bool' ? typeof v === 'boolean' : v === null
      if (!ok) throw new YAMLError(`yaml: cannot decode !!str \`${source}\` as a ${tag}`)
      return v
    }
    default:
      return resolvePlain(source)
  }
}

/**
 * The original's message for a parse error. Its scanner counts lines from one, its parser from zero, and neither mentions
 * the first.
 */
function translate(e: YAMLException, text: string): string {
  const line = e.mark?.line ?? 0
  const position = e.mark?.position ?? 0
  const scanner = (message: string, at = line) => `yaml: ${at > 0 ? `line ${at + 1}: ` : ''}${message}`
  const parser = (message: string, at = line) => `yaml: ${at > 0 ? `line ${at}: ` : ''}${message}`
  const { reason } = e
  if (reason.startsWith('nesting exceeded')) return `yaml: exceeded max depth of ${MAX_DEPTH}`
  if (reason.startsWith('tab characters')) return scanner('found character that cannot start any token')
  if (/within a (single|double) quoted scalar$/.test(reason) && reason.includes('stream')) return scanner('found unexpected end of stream', endLine(text))
  if (/within a (single|double) quoted scalar$/.test(reason)) return scanner('found unexpected document indicator')
  if (reason === 'unexpected end of the stream within a flow collection')
    return parser(`did not find expected ',' or '${openBracket(text) || '}'}'`, endLine(text))
  if (reason === 'missed comma between flow collection entries') {
    return /[[{,:]\s*$/.test(text.slice(0, position)) && /[\]}]/.test(text[position] ?? '')
      ? parser('did not find expected node content')
      : parser(`did not find expected ',' or '${openBracket(text.slice(0, position))}'`)
  }
  if (reason === 'deficient indentation') {
    const before = text.slice(0, position)
    if (openBracket(before)) return parser(`did not find expected ',' or '${openBracket(before)}'`, endLine(text))
    return scanner('found unexpected end of stream', endLine(text))
  }
  if (reason.startsWith("expected the node content, but found ','")) return parser('did not find expected node content')
  if (reason === 'unknown escape sequence') return scanner('found unknown escape character')
  if (reason === 'expected hexadecimal character') return scanner('did not find expected hexdecimal number')
  if (reason === 'bad indentation of a mapping entry') {
    const content = lineAt(text, position)
    const column = position - (text.lastIndexOf('\n', position - 1) + 1)
    const value = /:\s+(.*)$/.exec(content)?.[1] ?? ''
    if (column <= content.length - content.trimStart().length) return parser('did not find expected key')
    if (/^[@`%]/.test(value)) return scanner('found character that cannot start any token')
    if (/^-(\s|$)/.test(value)) return scanner('block sequence entries are not allowed in this context')
    if (/^\?\s/.test(value)) return scanner('mapping keys are not allowed in this context')
    if (/^(".*"|'.*')\s+\S/.test(value)) return parser('did not find expected key')
    return /:(\s|$)/.test(content) ? scanner('mapping values are not allowed in this context') : parser('did not find expected key')
  }
  if (reason === 'bad indentation of a sequence entry') return parser("did not find expected '-' indicator")
  if (reason.startsWith('can not read a block mapping entry') || reason.startsWith("expected ':' after a mapping key"))
    return scanner("could not find expected ':'")
  if (reason === 'end of the stream or a document separator is expected') {
    return /:(\s|$)/.test(lineAt(text, position)) ? scanner('mapping values are not allowed in this context') : parser('did not find expected <document start>')
  }
  if (reason.includes('non-printable')) return 'yaml: control characters are not allowed'
  return scanner(reason)
}

function lineAt(text: string, position: number): string {
  const start = text.lastIndexOf('\n', position - 1) + 1
  const end = text.indexOf('\n', position)
  return text.slice(start, end < 0 ? undefined : end)
}

function endLine(text: string): number {
  let n = 0
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) n++
  return n
}

/** The bracket that would close the innermost open one, empty when none is; strings are not looked into, for it only words a message. */
function openBracket(text: string): string {
  const open: string[] = []
  for (const c of text) {
    if (c === '{' || c === '[') open.push(c === '{' ? '}' : ']')
    else if (c === '}' || c === ']') open.pop()
  }
  return open.at(-1) ?? ''
}
