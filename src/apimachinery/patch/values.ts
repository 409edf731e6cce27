/** A JSON object as decoded from outside: keys may be anything, `__proto__` included. */
export type JsonMap = Record<string, unknown>

export function isMap(value: unknown): value is JsonMap {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array)
}

/** An own property; never what an object inherits. */
export function own(map: JsonMap, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

/** A value as Go's `%v` prints its decoded form: `map[a:1 b:[x y]]`, keys sorted, `<nil>` for null. */
export function goFormat(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goFormat).join(' ')}]`
  if (typeof value === 'object') {
    return `map[${Object.keys(value)
      .sort()
      .map((k) => `${k}:${goFormat((value as JsonMap)[k])}`)
      .join(' ')}]`
  }
  if (typeof value === 'number') return goNumber(value)
  return String(value)
}

/** The Go type name of a decoded value, as `%T` prints it. */
export function goTypeName(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64'
    default:
      return 'map[string]interface {}'
  }
}

/** The JSON type's name as Go's decoder calls it. */
export function jsonTypeName(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return typeof value
}

function goNumber(n: number): string {
  if (Number.isInteger(n) && Math.abs(n) < 2 ** 63) return BigInt(n).toString()
  const exponent = Math.floor(Math.log10(Math.abs(n)))
  if (exponent >= -4 && exponent < 21) return String(n)
  const [mantissa, exp] = n.toExponential().split('e') as [string, string]
  const digits = exp.slice(1).padStart(2, '0')
  return `${mantissa}e${exp[0]}${digits}`
}
