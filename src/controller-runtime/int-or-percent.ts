/** A number or a percentage of `total`; what is neither throws. Undefined is 0. */
export function scaledValue(value: number | string | undefined, total: number, roundUp: boolean): number {
  if (value === undefined) return 0
  if (typeof value === 'number') return value
  const match = /^([0-9]+)%$/.exec(value)
  if (!match) throw new Error(`invalid value for IntOrString: invalid type: string is not a percentage`)
  const exact = (Number(match[1]) * total) / 100
  return roundUp ? Math.ceil(exact) : Math.floor(exact)
}
