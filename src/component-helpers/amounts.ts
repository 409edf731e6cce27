import { Quantity } from '../apimachinery/quantity.ts'

/**
 * Quantities in their text form, for whoever reads objects that were decoded and validated long before: a text that is no quantity, or
 * none at all, counts as zero. Sums and comparisons are `Quantity`'s.
 */
export function parseAmount(text: string | number | undefined | null): Quantity {
  if (text === undefined || text === null) return Quantity.zero
  try {
    return Quantity.parse(text)
  } catch {
    return Quantity.zero
  }
}

/** Compares two quantity texts. */
export const compareQuantities = (a: string | undefined, b: string | undefined): number => parseAmount(a).cmp(parseAmount(b))

/** Nearly all quantities of Pods and nodes: for these a number does, which is many times faster than exact arithmetic. */
const PLAIN = /^(\d{1,12})([mkMGKT]?i?)$/
const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 }

/** The amount in units of 1/scale, rounded up, where a number holds it. */
function plainValue(text: string, scale: number): number | undefined {
  const match = PLAIN.exec(text)
  if (!match) return undefined
  const unit = match[2] as string
  // Thousandths are divided, not multiplied: 1e-3 is no exact number.
  const value = unit === 'm' ? Math.ceil((Number(match[1]) * scale) / 1000) : Number(match[1]) * (UNITS[unit] ?? Number.NaN) * scale
  return value <= Number.MAX_SAFE_INTEGER ? value : undefined
}

/** Thousandths, rounded away from zero: CPU. Beyond 2^53 the figure is rounded. */
export function milliValue(text: string | undefined): number {
  if (text === undefined) return 0
  return plainValue(text, 1000) ?? parseAmount(text).milliValue()
}

/** Whole units, rounded away from zero: bytes, counts. Beyond 2^53 the figure is rounded. */
export function wholeValue(text: string | undefined): number {
  if (text === undefined) return 0
  return plainValue(text, 1) ?? parseAmount(text).value()
}

/** Rounds up to thousandths, the precision resources of Pods are kept in; the same text when nothing is lost. */
export function roundUpToMilli(text: string): string {
  const amount = parseAmount(text)
  const rounded = amount.roundUp(-3)
  return rounded.cmp(amount) === 0 ? text : rounded.toString()
}
