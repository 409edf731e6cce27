/** An absolute number or a percentage such as `25%`. */
export type IntOrString = number | string

/** A percentage of the total, or the number itself. Throws with upstream's text when a string is no percentage. */
export function scaledValue(value: IntOrString, total: number, roundUp: boolean): number {
  if (typeof value === 'number') return value
  const percent = percentOf(value)
  const scaled = (percent * total) / 100
  return roundUp ? Math.ceil(scaled) : Math.floor(scaled)
}

/** The number before `%`. Throws with upstream's text. */
export function percentOf(value: string): number {
  if (!value.endsWith('%')) throw new Error('invalid value for IntOrString: invalid type: string is not a percentage')
  const digits = value.slice(0, -1)
  if (!/^[+-]?\d{1,18}$/.test(digits))
    throw new Error(`invalid value for IntOrString: invalid value "${value}": strconv.Atoi: parsing "${digits}": invalid syntax`)
  return Number(digits)
}

/** The number, or the text read as one; 0 when it is none. */
export function intValue(value: IntOrString): number {
  if (typeof value === 'number') return value
  return /^[+-]?\d{1,15}$/.test(value) ? Number(value) : 0
}
