/** Words with a meaning of their own as plain scalars, as YAML 1.1 and the original's parser have them. */
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((w) => [w, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((w) => [w, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((w) => [w, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((w) => [w, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((w) => [w, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((w) => [w, Number.NEGATIVE_INFINITY] as const),
])

const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/
const MIN = -(1n << 63n)
const MAX = (1n << 64n) - 1n

/** The value of a plain scalar: null, boolean, number, or the text itself. */
export function resolvePlain(text: string): unknown {
  const word = WORDS.get(text)
  if (word !== undefined || text === '' || text === '~' || text === 'null' || text === 'Null' || text === 'NULL') return word
  const c = text.charCodeAt(0)
  const numeric = (c >= 0x30 && c <= 0x39) || c === 0x2b || c === 0x2d || c === 0x2e
  if (!numeric || text.length > 400) return text
  const plain = text.replaceAll('_', '')
  const whole = integer(plain)
  if (whole !== undefined) return whole
  if (FLOAT.test(plain)) {
    const n = Number(plain)
    return Number.isFinite(n) ? n : text
  }
  return text
}

/** Go's ParseInt with base 0, and binary. */
function integer(text: string): number | undefined {
  const match = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/.exec(text)
  if (!match) return undefined
  const digits = match[2] as string
  let n = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase())
  if (match[1] === '-') n = -n
  return n < MIN || n > MAX ? undefined : Number(n)
}

const DATE = /^\d{4}-\d\d?-\d\d?(?:(?:[Tt]|\s+)\d\d?:\d\d:\d\d(?:\.\d+)?(?:\s*(?:Z|[+-]\d\d?(?::\d\d)?))?)?$/
const BASE60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/

/** True when the text, written plain, would be read back as something else, or by some parsers as a time or base-60 number. */
export function needsQuotes(text: string): boolean {
  return resolvePlain(text) !== text || DATE.test(text) || BASE60.test(text)
}
