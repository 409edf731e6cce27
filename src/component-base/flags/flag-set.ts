import { parseDurationMs } from '../../apimachinery/duration.ts'
import { suggest } from './suggest.ts'

/**
 * Command-line flags by pflag's rules: `--name value` or `--name=value`, one-letter shorthands that can be joined (`-it`), booleans that
 * never take the next word (`--flag`, `--flag=false`), flags and arguments in any order until `--`, lists separated by commas or by
 * repeating the flag. Single-dash long names (`-data-dir D`), as Go's own flag package takes them, are accepted where the set allows.
 */
export type FlagKind = 'string' | 'bool' | 'int' | 'duration' | 'list' | 'array'

export interface FlagSpec {
  kind: FlagKind
  usage: string
  /** One letter. */
  short?: string
  /** Text of the default as `--help` shows it; '' shows none. */
  default?: string
  /** Value of the flag when it is given without one; makes the value optional. */
  noValue?: string
  hidden?: boolean
  /** How `--help` names the value. */
  value?: string
  /** All values there are, for completion. */
  values?: readonly string[]
}

export type FlagSpecs = Readonly<Record<string, FlagSpec>>

export interface ParsedFlags {
  /** Which flags were given. */
  has(name: string): boolean
  string(name: string): string
  bool(name: string): boolean
  int(name: string): number
  /** Milliseconds. */
  duration(name: string): number
  list(name: string): string[]
  readonly args: string[]
}

/** A mistake on the command line: printed as it is, exit code 1. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

export interface ParseOptions {
  /** Stop at the first argument that is no flag: what follows belongs to another command. */
  stopAtArgument?: boolean
  /** `-name` means `--name`. */
  singleDash?: boolean
  /** Unknown flags are left in `args` instead of being an error. */
  keepUnknown?: boolean
}

/** Parses `argv`; throws UsageError with pflag's words. */
export function parseFlags(specs: FlagSpecs, argv: readonly string[], options: ParseOptions = {}): ParsedFlags {
  const given = new Map<string, string[]>()
  const args: string[] = []
  const shorts = new Map(Object.entries(specs).flatMap(([name, s]) => (s.short ? [[s.short, name] as const] : [])))
  const put = (name: string, text: string) => {
    check(name, specs[name] as FlagSpec, text)
    const list = given.get(name)
    if (list) list.push(text)
    else given.set(name, [text])
  }
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string
    if (word === '--') {
      args.push(...argv.slice(i + 1))
      break
    }
    const long = word.startsWith('--') || (options.singleDash === true && /^-[A-Za-z][\w-]+/.test(word))
    if (long) {
      const body = word.replace(/^--?/, '')
      const eq = body.indexOf('=')
      const name = eq < 0 ? body : body.slice(0, eq)
      const spec = Object.hasOwn(specs, name) ? (specs[name] as FlagSpec) : undefined
      if (!spec) {
        if (options.keepUnknown) {
          args.push(word)
          continue
        }
        throw new UsageError(`unknown flag: --${name}${suggest(name, Object.keys(specs), (n) => `--${n}`)}`)
      }
      if (eq >= 0) put(name, body.slice(eq + 1))
      else if (spec.kind === 'bool') put(name, 'true')
      else if (spec.noValue !== undefined) put(name, spec.noValue)
      else if (i + 1 < argv.length) put(name, argv[++i] as string)
      else throw new UsageError(`flag needs an argument: --${name}`)
      continue
    }
    if (word.startsWith('-') && word.length > 1) {
      for (let j = 1; j < word.length; j++) {
        const letter = word[j] as string
        const name = shorts.get(letter)
        if (!name) {
          if (options.keepUnknown) {
            args.push(word)
            break
          }
          throw new UsageError(`unknown shorthand flag: '${letter}' in ${word}`)
        }
        const spec = specs[name] as FlagSpec
        const rest = word.slice(j + 1)
        if (rest.startsWith('=')) {
          put(name, rest.slice(1))
          break
        }
        if (spec.kind === 'bool') {
          put(name, 'true')
          continue
        }
        if (rest !== '') put(name, rest)
        else if (spec.noValue !== undefined) put(name, spec.noValue)
        else if (i + 1 < argv.length) put(name, argv[++i] as string)
        else throw new UsageError(`flag needs an argument: '${letter}' in ${word}`)
        break
      }
      continue
    }
    if (options.stopAtArgument) {
      args.push(...argv.slice(i))
      break
    }
    args.push(word)
  }
  const texts = (name: string): string[] => {
    const spec = specs[name]
    if (!spec) throw new Error(`flags: ${name} is not declared`)
    return given.get(name) ?? (spec.default !== undefined && spec.default !== '' ? [spec.default] : [])
  }
  const last = (name: string) => texts(name).at(-1) ?? ''
  return {
    has: (name) => given.has(name),
    string: last,
    bool: (name) => isTrue(last(name)),
    int: (name) => Number.parseInt(last(name) || '0', 10),
    duration: (name) => parseDurationMs(last(name) || '0'),
    list: (name) => (specs[name]?.kind === 'array' ? [...texts(name)] : texts(name).flatMap((t) => (t === '' ? [] : t.split(',')))),
    args,
  }
}

const TRUE = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])
const FALSE = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False'])
const isTrue = (text: string) => TRUE.has(text)

function check(name: string, spec: FlagSpec, text: string): void {
  const bad = (why: string) => new UsageError(`invalid argument ${JSON.stringify(text)} for "${spec.short ? `-${spec.short}, ` : ''}--${name}" flag: ${why}`)
  if (spec.kind === 'bool' && !TRUE.has(text) && !FALSE.has(text)) throw bad(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`)
  if (spec.kind === 'int' && !/^[+-]?\d+$/.test(text)) throw bad(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  if (spec.kind !== 'duration') return
  try {
    parseDurationMs(text)
  } catch (e) {
    throw bad((e as Error).message)
  }
}

/** The flags part of a `--help` text. */
export function flagsUsage(specs: FlagSpecs): string {
  const rows = Object.entries(specs)
    .filter(([, s]) => !s.hidden)
    .map(([name, s]) => {
      const value = s.kind === 'bool' ? '' : ` ${s.value ?? (s.kind === 'list' || s.kind === 'array' ? 'strings' : s.kind)}`
      const head = `  ${s.short ? `-${s.short}, ` : '    '}--${name}${value}`
      const showDefault = s.default !== undefined && s.default !== '' && !(s.kind === 'bool' && s.default === 'false')
      return [head, `${s.usage}${showDefault ? ` (default ${s.kind === 'string' ? JSON.stringify(s.default) : s.default})` : ''}`] as const
    })
  const width = Math.max(0, ...rows.map(([h]) => h.length))
  return rows.map(([h, u]) => `${h.padEnd(width)}   ${u}\n`).join('')
}
