/**
 * Arithmetic on quantities in their text form, exact to a nano: what sums and comparisons of resources need. A text that
 * is no quantity counts as zero; decoding has refused it long before.
 */

export interface Amount {
  /** In billionths. */
  readonly nano: bigint
  /** How the text was written; sums keep the form of their first part. */
  readonly form: 'decimal' | 'binary' | 'exponent'
}

const BILLION = 1_000_000_000n
const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const DECIMAL_SUFFIX = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY_SUFFIX = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const quantityRe = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|[eE]([-+]?[0-9]{1,3})|([numkMGTPE]?))$/

export const ZERO: Amount = { nano: 0n, form: 'decimal' }

export function parseAmount(text: string | number | undefined | null): Amount {
  if (text === undefined || text === null) return ZERO
  const m = quantityRe.exec(String(text).slice(0, 64))
  if (!m) return ZERO
  const [, sign, whole = '', fraction = '', binary, exponent, decimal = ''] = m
  const digits = BigInt(`${whole}${fraction}` || '0')
  let form: Amount['form'] = 'decimal'
  let nano: bigint
  if (binary) {
    form = 'binary'
    nano = divideUp(digits * BILLION * 1024n ** BigInt(BINARY_SUFFIX.indexOf(binary)), 10n ** BigInt(fraction.length))
  } else {
    let power: number
    if (exponent !== undefined) {
      form = 'exponent'
      power = Number(exponent)
    } else power = DECIMAL[decimal] as number
    const shift = power + 9 - fraction.length
    nano = shift >= 0 ? digits * 10n ** BigInt(shift) : divideUp(digits, 10n ** BigInt(-shift))
  }
  return { nano: sign === '-' ? -nano : nano, form }
}

function divideUp(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b
}

/** Canonical text: the largest suffix that leaves a whole number. */
export function formatAmount(amount: Amount): string {
  let { nano } = amount
  if (nano === 0n) return '0'
  const negative = nano < 0n
  if (negative) nano = -nano
  const sign = negative ? '-' : ''
  // A binary suffix shows whole numbers only; anything finer keeps its precision in decimal.
  if (amount.form === 'binary' && nano >= 1024n * BILLION && nano % BILLION === 0n) {
    let value = nano / BILLION
    let i = 0
    while (i < 6 && value % 1024n === 0n) {
      value /= 1024n
      i++
    }
    return `${sign}${value}${BINARY_SUFFIX[i]}`
  }
  let i = 0
  while (i < 9 && nano % 1000n === 0n) {
    nano /= 1000n
    i++
  }
  if (amount.form !== 'exponent') return `${sign}${nano}${DECIMAL_SUFFIX[i]}`
  const power = i * 3 - 9
  return power === 0 ? `${sign}${nano}` : `${sign}${nano}e${power}`
}

export function addAmounts(a: Amount, b: Amount): Amount {
  return { nano: a.nano + b.nano, form: a.nano === 0n ? b.form : a.form }
}

export const compareAmounts = (a: Amount, b: Amount): number => (a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0)

/** Compares two quantity texts. */
export const compareQuantities = (a: string | undefined, b: string | undefined): number => compareAmounts(parseAmount(a), parseAmount(b))

/** Thousandths, rounded up: CPU. Beyond 2^53 the figure is rounded. */
export function milliValue(text: string | undefined): number {
  const { nano } = parseAmount(text)
  return Number(nano >= 0n ? divideUp(nano, 1_000_000n) : nano / 1_000_000n)
}

/** Whole units, rounded up: bytes, counts. Beyond 2^53 the figure is rounded. */
export function wholeValue(text: string | undefined): number {
  const { nano } = parseAmount(text)
  return Number(nano >= 0n ? divideUp(nano, BILLION) : nano / BILLION)
}

export const isWhole = (amount: Amount): boolean => amount.nano % BILLION === 0n

/** Rounds up to thousandths, the precision resources of Pods are kept in; the same text when nothing is lost. */
export function roundUpToMilli(text: string): string {
  const amount = parseAmount(text)
  if (amount.nano % 1_000_000n === 0n) return text
  const up = amount.nano >= 0n ? divideUp(amount.nano, 1_000_000n) : amount.nano / 1_000_000n
  return formatAmount({ nano: up * 1_000_000n, form: amount.form })
}
