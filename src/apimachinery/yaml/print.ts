import { needsQuotes } from './resolve.ts'

/** Column after which long scalars are folded at the next space. */
const WIDTH = 80
/** Longest key in bytes that is written before its colon on one line. */
const SIMPLE_KEY = 128

/** A JSON value as kubectl prints YAML: sorted keys, sequences not indented below their key, a newline at the end. */
export function printYAML(value: unknown): string {
  const out = new Printer()
  out.node(value, 0, 'root')
  return out.finish()
}

type Place = 'root' | 'mapping' | 'sequence'

class Printer {
  private readonly parts: string[] = []
  private column = 0

  finish(): string {
    return this.parts.join('')
  }

  private write(s: string): void {
    this.parts.push(s)
    const newline = s.lastIndexOf('\n')
    this.column = newline < 0 ? this.column + s.length : s.length - newline - 1
  }

  private line(indent: number): void {
    this.write(`\n${' '.repeat(indent)}`)
  }

  /** @param indent column of the node's own entries */
  node(value: unknown, indent: number, place: Place): void {
    if (Array.isArray(value)) this.sequence(value, place === 'mapping' ? indent - 2 : indent, place)
    else if (typeof value === 'object' && value !== null) this.mapping(value as Record<string, unknown>, indent, place)
    else {
      if (place === 'mapping') this.write(' ')
      this.scalar(value, indent, false)
      this.write('\n')
    }
  }

  private sequence(list: readonly unknown[], indent: number, place: Place): void {
    if (list.length === 0) {
      this.write(place === 'mapping' ? ' []\n' : '[]\n')
      return
    }
    if (place === 'mapping') this.write('\n')
    list.forEach((item, i) => {
      if (i > 0 || place === 'mapping') this.write(' '.repeat(indent))
      this.write('- ')
      this.node(item === undefined ? null : item, indent + 2, 'sequence')
    })
  }

  private mapping(map: Record<string, unknown>, indent: number, place: Place): void {
    const keys = Object.keys(map)
      .filter((k) => map[k] !== undefined)
      .sort(compareKeys)
    if (keys.length === 0) {
      this.write(place === 'mapping' ? ' {}\n' : '{}\n')
      return
    }
    if (place === 'mapping') this.write('\n')
    keys.forEach((key, i) => {
      if (i > 0 || place === 'mapping') this.write(' '.repeat(indent))
      const value = map[key]
      if (byteLength(key) > SIMPLE_KEY || key.includes('\n')) {
        this.write('? ')
        this.scalar(key, indent + 2, false)
        this.write(`\n${' '.repeat(indent)}:`)
      } else {
        this.scalar(key, indent, true)
        this.write(':')
      }
      this.node(value, indent + 2, 'mapping')
    })
  }

  private scalar(value: unknown, indent: number, key: boolean): void {
    if (value === null) this.write('null')
    else if (typeof value === 'boolean') this.write(String(value))
    else if (typeof value === 'number') this.write(numberText(value))
    else if (typeof value === 'bigint') this.write(String(value))
    else this.text(String(value), indent, key)
  }

  private text(s: string, indent: number, key: boolean): void {
    const a = analyze(s)
    let style: 'plain' | 'single' | 'double' | 'literal' = s.includes('\n') ? 'literal' : needsQuotes(s) ? 'double' : 'plain'
    if (key && a.multiline) style = 'double'
    if (style === 'plain' && !a.plain) style = 'single'
    if (style === 'single' && !a.single) style = 'double'
    if (style === 'literal' && (!a.block || key)) style = 'double'
    switch (style) {
      case 'plain':
        return this.plain(s, indent, key)
      case 'single':
        return this.single(s, indent, key)
      case 'double':
        return this.double(s, indent, key)
      case 'literal':
        return this.literal(s, indent)
    }
  }

  private plain(s: string, indent: number, key: boolean): void {
    if (key || this.column + s.length <= WIDTH) {
      this.write(s)
      return
    }
    let spaces = false
    this.words(s, (c, i, next) => {
      if (c === ' ') {
        if (!spaces && this.column > WIDTH && next !== ' ') this.line(indent)
        else this.write(' ')
        spaces = true
      } else {
        this.write(c)
        spaces = false
      }
      return i
    })
  }

  /** Calls `body` for each code point, with runs of other characters than space, quote and backslash in one piece. */
  private words(s: string, body: (piece: string, index: number, next: string | undefined) => void): void {
    for (const m of s.matchAll(/[^ ]+| /g)) body(m[0], m.index, s[m.index + m[0].length])
  }

  private single(s: string, indent: number, key: boolean): void {
    this.write("'")
    let spaces = false
    this.words(s, (c, i, next) => {
      if (c === ' ') {
        if (!key && !spaces && this.column > WIDTH && i > 0 && i < s.length - 1 && next !== ' ') this.line(indent)
        else this.write(' ')
        spaces = true
      } else {
        this.write(c.replaceAll("'", "''"))
        spaces = false
      }
    })
    this.write("'")
  }

  private double(s: string, indent: number, key: boolean): void {
    this.write('"')
    let spaces = false
    let i = 0
    for (const c of s) {
      if (c === ' ') {
        if (!key && !spaces && this.column > WIDTH && i > 0 && i < s.length - 1) {
          this.line(indent)
          if (s[i + 1] === ' ') this.write('\\')
        } else this.write(' ')
        spaces = true
      } else {
        this.write(escaped(c))
        spaces = false
      }
      i += c.length
    }
    this.write('"')
  }

  private literal(s: string, indent: number): void {
    const hint = s[0] === ' ' || s[0] === '\n' ? '2' : ''
    const chomp = s.endsWith('\n') ? (s === '\n' || s.endsWith('\n\n') ? '+' : '') : '-'
    const pad = ' '.repeat(indent)
    const lines = (s.endsWith('\n') ? s.slice(0, -1) : s).split('\n')
    this.write(`|${hint}${chomp}`)
    for (const line of lines) this.write(line === '' ? '\n' : `\n${pad}${line}`)
  }
}

function byteLength(s: string): number {
  return s.length <= SIMPLE_KEY / 3 ? s.length : new TextEncoder().encode(s).length
}

interface Analysis {
  multiline: boolean
  plain: boolean
  single: boolean
  block: boolean
}

const INDICATORS_FIRST = new Set('#,[]{}&*!|>\'"%@`')

/** What styles a text allows, after libyaml's rules for block context. */
function analyze(s: string): Analysis {
  if (s === '') return { multiline: false, plain: true, single: true, block: false }
  let indicators = s.startsWith('---') || s.startsWith('...')
  let special = false
  let breaks = false
  let edge = false
  let trailingSpace = false
  let breakSpace = false
  let spaceBreak = false
  let previousSpace = false
  let previousBreak = false
  let afterBlank = true
  for (let i = 0; i < s.length; ) {
    const code = s.codePointAt(i) as number
    const c = String.fromCodePoint(code)
    const width = c.length
    const last = i + width === s.length
    const beforeBlank = last || isBlank(s[i + width] as string)
    if (i === 0) {
      if (INDICATORS_FIRST.has(c)) indicators = true
      else if ((c === '?' || c === ':' || c === '-') && beforeBlank) indicators = true
    } else if (c === ':' && beforeBlank) indicators = true
    else if (c === '#' && afterBlank) indicators = true
    if (!isPrintable(code)) special = true
    const isBreak = c === '\n' || c === '\r' || code === 0x85 || code === 0x2028 || code === 0x2029
    if (isBreak) breaks = true
    if (c === ' ') {
      if (i === 0) edge = true
      if (last) {
        edge = true
        trailingSpace = true
      }
      if (previousBreak) breakSpace = true
      previousSpace = true
      previousBreak = false
    } else if (isBreak) {
      if (i === 0 || last) edge = true
      if (previousSpace) spaceBreak = true
      previousBreak = true
      previousSpace = false
    } else {
      previousSpace = false
      previousBreak = false
    }
    afterBlank = isBlank(c)
    i += width
  }
  const bad = spaceBreak || special
  return {
    multiline: breaks,
    plain: !edge && !breakSpace && !bad && !breaks && !indicators,
    single: !breakSpace && !bad,
    block: !trailingSpace && !bad,
  }
}

function isBlank(c: string): boolean {
  return c === ' ' || c === '\t' || c === '\n' || c === '\r' || c === '\u0085' || c === '\u2028' || c === '\u2029'
}

function isPrintable(c: number): boolean {
  return c === 0x0a || (c >= 0x20 && c <= 0x7e) || (c >= 0xa0 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd && c !== 0xfeff)
}

const ESCAPES: Readonly<Record<number, string>> = {
  0: '\\0',
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  27: '\\e',
  34: '\\"',
  92: '\\\\',
  133: '\\N',
  8232: '\\L',
  8233: '\\P',
}

function escaped(c: string): string {
  const code = c.codePointAt(0) as number
  const known = ESCAPES[code]
  if (known) return known
  if (isPrintable(code)) return c
  const hex = code.toString(16).toUpperCase()
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`
  if (code <= 0xffff) return `\\u${hex.padStart(4, '0')}`
  return `\\U${hex.padStart(8, '0')}`
}

/** Go's %g with the shortest digits for fractions; integers as they are. */
function numberText(n: number): string {
  if (Number.isInteger(n) && n >= -(2 ** 63) && n < 2 ** 64) return String(BigInt(n))
  if (Number.isNaN(n)) return '.nan'
  if (!Number.isFinite(n)) return n > 0 ? '.inf' : '-.inf'
  const [mantissa, exponent] = n.toExponential().split('e') as [string, string]
  const e = Number(exponent)
  if (e < -4 || e >= 6) {
    return `${mantissa}e${e < 0 ? '-' : '+'}${String(Math.abs(e)).padStart(2, '0')}`
  }
  return String(n)
}

const LETTER = /\p{L}/u
const DIGIT = /[0-9]/

/** The order of keys: letters by code point, numbers inside by value. */
export function compareKeys(a: string, b: string): number {
  const ar = [...a]
  const br = [...b]
  for (let i = 0; i < ar.length && i < br.length; i++) {
    const x = ar[i] as string
    const y = br[i] as string
    if (x === y) continue
    const xl = LETTER.test(x)
    const yl = LETTER.test(y)
    const byCode = () => ((x.codePointAt(0) as number) < (y.codePointAt(0) as number) ? -1 : 1)
    if (xl && yl) return byCode()
    if (xl || yl) return yl ? -1 : 1
    let an = 0n
    let bn = 0n
    if (x === '0' || y === '0') {
      for (let j = i - 1; j >= 0 && DIGIT.test(ar[j] as string); j--) {
        if (ar[j] !== '0') {
          an = 1n
          bn = 1n
          break
        }
      }
    }
    let ai = i
    let bi = i
    for (; ai < ar.length && /[0-9]/.test(ar[ai] as string); ai++) an = an * 10n + BigInt(ar[ai] as string)
    for (; bi < br.length && /[0-9]/.test(br[bi] as string); bi++) bn = bn * 10n + BigInt(br[bi] as string)
    if (an !== bn) return an < bn ? -1 : 1
    if (ai !== bi) return ai < bi ? -1 : 1
    return byCode()
  }
  return ar.length - br.length
}
