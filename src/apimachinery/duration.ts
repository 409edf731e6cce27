import { quote } from './quote.ts'

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const LIMIT = 1n << 63n

/** Go's duration text (`1h30m`, `1.5s`) to nanoseconds. Throws with Go's message. */
export function parseDuration(text: string): bigint {
  const bad = () => new Error(`time: invalid duration ${quote(text)}`)
  if (text.length > 1024) throw bad()
  let rest = text
  let negative = false
  if (rest[0] === '-' || rest[0] === '+') {
    negative = rest[0] === '-'
    rest = rest.slice(1)
  }
  if (rest === '0') return 0n
  if (rest === '') throw bad()
  let total = 0n
  while (rest !== '') {
    const number = /^(\d*)(?:\.(\d*))?/.exec(rest) as RegExpExecArray
    const whole = number[1] as string
    const fraction = number[2] ?? ''
    if (whole === '' && fraction === '') throw bad()
    rest = rest.slice(number[0].length)
    const unitText = (/^[^.\d]*/.exec(rest) as RegExpExecArray)[0]
    if (unitText === '') throw new Error(`time: missing unit in duration ${quote(text)}`)
    const unit = Object.hasOwn(UNITS, unitText) ? UNITS[unitText] : undefined
    if (unit === undefined) throw new Error(`time: unknown unit ${quote(unitText)} in duration ${quote(text)}`)
    rest = rest.slice(unitText.length)
    total += BigInt(whole === '' ? '0' : whole) * unit
    if (fraction !== '') total += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length)
    if (total > LIMIT) throw bad()
  }
  if (negative) return -total
  if (total === LIMIT) throw bad()
  return total
}

/** Go's duration text to milliseconds, fractions kept as far as a number holds them. */
export function parseDurationMs(text: string): number {
  return Number(parseDuration(text)) / 1e6
}

/** The same for who answers in words of his own: undefined when the text is no duration. */
export function durationMs(text: string): number | undefined {
  try {
    return parseDurationMs(text)
  } catch {
    return undefined
  }
}

/** Nanoseconds as Go prints a duration: `1h30m0s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  const sign = nanoseconds < 0n ? '-' : ''
  const n = nanoseconds < 0n ? -nanoseconds : nanoseconds
  if (n < 1_000n) return `${sign}${n}ns`
  if (n < 1_000_000n) return `${sign}${decimal(n, 3)}µs`
  if (n < 1_000_000_000n) return `${sign}${decimal(n, 6)}ms`
  const totalSeconds = n / 1_000_000_000n
  const seconds = decimal(n % 60_000_000_000n, 9)
  const minutes = (totalSeconds / 60n) % 60n
  const hours = totalSeconds / 3600n
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}s`
  if (minutes > 0n) return `${sign}${minutes}m${seconds}s`
  return `${sign}${seconds}s`
}

export function formatDurationMs(ms: number): string {
  return formatDuration(BigInt(Math.round(ms * 1e6)))
}

function decimal(n: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits)
  const fraction = (n % unit).toString().padStart(digits, '0').replace(/0+$/, '')
  return fraction === '' ? `${n / unit}` : `${n / unit}.${fraction}`
}

/** An age as tables print it: two units at most, coarser the older (`5s`, `3m20s`, `2d4h`, `3y`). */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(seconds / 60)
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(minutes / 60)
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (hours < 24 * 8) return two(days, 'd', hours % 24, 'h')
  if (hours < 24 * 365 * 2) return `${days}d`
  const years = Math.trunc(days / 365)
  if (hours < 24 * 365 * 8) return two(years, 'y', days % 365, 'd')
  return `${years}y`
}

/** An age in one unit. */
export function shortHumanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.trunc(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.trunc(minutes / 60)
  if (hours < 24) return `${hours}h`
  if (hours < 24 * 365) return `${Math.trunc(hours / 24)}d`
  return `${Math.trunc(hours / 24 / 365)}y`
}

function two(a: number, unitA: string, b: number, unitB: string): string {
  return b === 0 ? `${a}${unitA}` : `${a}${unitA}${b}${unitB}`
}
