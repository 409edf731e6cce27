/** How a quantity was written and is printed: `5M`, `5Mi`, `5e6`. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

const NANO = 1_000_000_000n
const MAX_INT64 = (1n << 63n) - 1n

const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const DECIMAL_SUFFIX = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY_SUFFIX = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

export const QUANTITY_FORMAT_MESSAGE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const SUFFIX_MESSAGE = "unable to parse quantity's suffix"
const NUMERIC_MESSAGE = 'unable to parse numeric part of quantity'

/** Texts that are their own canonical form: up to three digits without need of another suffix. */
const CANONICAL = /^(0|-?[1-9]\d{0,2}(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi)?)$/
const SHAPE = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]*)[-+]?\d*)$/

/** Longest text and largest decimal exponent that are read: quantities are figures, not bombs. */
const MAX_TEXT = 256
const MAX_EXPONENT = 200

/**
 * An exact amount in billionths, as upstream's resource.Quantity: sums and comparisons never round. Immutable.
 * Anything finer than a billionth is rounded away from zero when parsed.
 */
export class Quantity {
  static readonly zero: Quantity = new Quantity(0n, 'DecimalSI')

  readonly nano: bigint
  readonly format: QuantityFormat

  private constructor(nano: bigint, format: QuantityFormat) {
    this.nano = nano
    this.format = format
  }

  /** Throws with upstream's message when the text is no quantity. */
  static parse(text: string | number): Quantity {
    return parse(typeof text === 'number' ? String(text) : text)
  }

  static ofNano(nano: bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(nano, format)
  }

  /** @param value an integer */
  static of(value: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(value) * NANO, format)
  }

  /** @param milli an integer number of thousandths */
  static ofMilli(milli: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(milli) * 1_000_000n, format)
  }

  cmp(other: Quantity): -1 | 0 | 1 {
    return this.nano < other.nano ? -1 : this.nano > other.nano ? 1 : 0
  }

  get isZero(): boolean {
    return this.nano === 0n
  }

  get sign(): -1 | 0 | 1 {
    return this.nano < 0n ? -1 : this.nano > 0n ? 1 : 0
  }

  add(other: Quantity): Quantity {
    return new Quantity(this.nano + other.nano, this.isZero ? other.format : this.format)
  }

  sub(other: Quantity): Quantity {
    return new Quantity(this.nano - other.nano, this.isZero ? other.format : this.format)
  }

  neg(): Quantity {
    return new Quantity(-this.nano, this.format)
  }

  /** @param factor an integer */
  mul(factor: number | bigint): Quantity {
    return new Quantity(this.nano * BigInt(factor), this.format)
  }

  /** Whole units, rounded away from zero; exact up to 2^53. */
  value(): number {
    return Number(divideUp(this.nano, NANO))
  }

  valueBig(): bigint {
    return divideUp(this.nano, NANO)
  }

  /** Thousandths, rounded away from zero. */
  milliValue(): number {
    return Number(divideUp(this.nano, 1_000_000n))
  }

  /** @param scale power of ten of the wanted unit, -9 to 18 */
  scaledValue(scale: number): bigint {
    return scale >= 0 ? divideUp(this.nano, NANO * 10n ** BigInt(scale)) : divideUp(this.nano, 10n ** BigInt(9 + scale))
  }

  /** Rounds away from zero to multiples of 10^scale. */
  roundUp(scale: number): Quantity {
    const unit = 10n ** BigInt(9 + scale)
    return new Quantity(divideUp(this.nano, unit) * unit, this.format)
  }

  /** True when it is a whole number of units. */
  get isInteger(): boolean {
    return this.nano % NANO === 0n
  }

  asNumber(): number {
    return Number(this.nano / NANO) + Number(this.nano % NANO) / 1e9
  }

  /** The canonical form: no fraction, the largest suffix that needs none. */
  toString(): string {
    if (this.nano === 0n) return '0'
    let format = this.format
    if (format === 'BinarySI' && ((this.nano > -1024n * NANO && this.nano < 1024n * NANO) || !this.isInteger)) format = 'DecimalSI'
    if (format === 'BinarySI') {
      let n = this.nano / NANO
      let i = 0
      while (i < BINARY_SUFFIX.length - 1 && n % 1024n === 0n) {
        n /= 1024n
        i++
      }
      return `${n}${BINARY_SUFFIX[i]}`
    }
    let n = this.nano
    let exponent = -9
    const most = format === 'DecimalSI' ? 18 : MAX_EXPONENT
    while (exponent < most && n % 1000n === 0n) {
      n /= 1000n
      exponent += 3
    }
    if (format === 'DecimalSI') return `${n}${DECIMAL_SUFFIX[exponent / 3 + 3]}`
    return exponent === 0 ? String(n) : `${n}e${exponent}`
  }

  toJSON(): string {
    return this.toString()
  }
}

/** The canonical text of a quantity; throws with upstream's message when it is none. */
export function canonicalQuantity(text: string | number): string {
  const s = typeof text === 'number' ? String(text) : text
  return CANONICAL.test(s) ? s : parse(s.trim()).toString()
}

function divideUp(n: bigint, unit: bigint): bigint {
  const q = n / unit
  if (q * unit === n) return q
  return n < 0n ? q - 1n : q + 1n
}

function parse(text: string): Quantity {
  if (text === '' || text.length > MAX_TEXT) throw new Error(QUANTITY_FORMAT_MESSAGE)
  const match = SHAPE.exec(text)
  if (!match) throw new Error(QUANTITY_FORMAT_MESSAGE)
  const negative = match[1] === '-'
  const whole = match[2] as string
  const fraction = match[3] ?? ''
  const suffix = match[4] as string
  let format: QuantityFormat = 'DecimalSI'
  let exponent = 0
  let binary = 0
  if (Object.hasOwn(DECIMAL, suffix)) exponent = DECIMAL[suffix] as number
  else if (Object.hasOwn(BINARY, suffix)) {
    binary = BINARY[suffix] as number
    format = 'BinarySI'
  } else if (/^[eE][-+]?\d+$/.test(suffix)) {
    exponent = Number(suffix.slice(1))
    format = 'DecimalExponent'
    if (Math.abs(exponent) > MAX_EXPONENT) throw new Error(NUMERIC_MESSAGE)
  } else throw new Error(SUFFIX_MESSAGE)
  let digits = BigInt(`${whole}${fraction}` || '0')
  if (binary > 0) digits <<= BigInt(binary)
  const shift = 9 + exponent - fraction.length
  let nano = shift >= 0 ? digits * 10n ** BigInt(shift) : divideUp(digits, 10n ** BigInt(-shift))
  if (format === 'BinarySI') {
    if (nano > MAX_INT64 * NANO) nano = MAX_INT64 * NANO
    if (nano > 0n && nano < NANO) format = 'DecimalSI'
  }
  return Quantity.ofNano(negative ? -nano : nano, format)
}
