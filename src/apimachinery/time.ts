import { quote } from './quote.ts'

/** Layout names as Go's messages show them. */
const RFC3339 = '2006-01-02T15:04:05Z07:00'
const RFC3339_MICRO = '2006-01-02T15:04:05.000000Z07:00'

/** An instant: whole seconds since 1970 and nanoseconds (0 to 999,999,999) after them. */
export interface Instant {
  seconds: number
  nanos: number
}

/** Seconds of 0001-01-01T00:00:00Z, Go's zero time: such a value is written as null. */
export const ZERO_TIME_SECONDS = -62135596800

/** Parses as Go parses RFC 3339; throws with Go's message. */
export function parseTime(text: string): Instant {
  return parse(text, RFC3339, 0)
}

/** Like `parseTime`, with exactly six digits of a second as MicroTime demands. */
export function parseMicroTime(text: string): Instant {
  return parse(text, RFC3339_MICRO, 6)
}

/** Canonical text of a time (UTC, whole seconds); null for the zero time. */
export function canonicalTime(text: string): string | null {
  if (isCanonical(text)) return text === '0001-01-01T00:00:00Z' ? null : text
  const t = parseTime(text)
  return t.seconds === ZERO_TIME_SECONDS && t.nanos === 0 ? null : formatSeconds(t.seconds)
}

/** Canonical text of a micro time (UTC, six digits); null for the zero time. */
export function canonicalMicroTime(text: string): string | null {
  const t = parseMicroTime(text)
  return t.seconds === ZERO_TIME_SECONDS && t.nanos === 0 ? null : formatInstantMicro(t)
}

/** Most times that are printed are of this very second. */
const last = { second: 0, text: '1970-01-01T00:00:00Z' }

/** `2006-01-02T15:04:05Z` of milliseconds since 1970. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== last.second) {
    last.text = formatSeconds(second)
    last.second = second
  }
  return last.text
}

/** `2006-01-02T15:04:05.000000Z` of milliseconds since 1970 (fractions give microseconds). */
export function formatMicroTime(ms: number): string {
  const micros = Math.floor(ms * 1000)
  const seconds = Math.floor(micros / 1e6)
  return formatInstantMicro({ seconds, nanos: (micros - seconds * 1e6) * 1000 })
}

/** Milliseconds since 1970 of a time or micro time in canonical form; undefined or null give undefined. */
export function timeMs(text: string | undefined | null): number | undefined {
  if (text === undefined || text === null) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

export function formatSeconds(seconds: number): string {
  return `${dateTime(seconds)}Z`
}

export function formatInstantMicro(t: Instant): string {
  return `${dateTime(t.seconds)}.${String(Math.floor(t.nanos / 1000)).padStart(6, '0')}Z`
}

function dateTime(seconds: number): string {
  const d = new Date(seconds * 1000)
  const year = d.getUTCFullYear()
  if (year >= 0 && year <= 9999) return d.toISOString().slice(0, 19)
  return `${year < 0 ? '-' : ''}${String(Math.abs(year)).padStart(4, '0')}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}T${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}`
}

function two(n: number): string {
  return n < 10 ? `0${n}` : String(n)
}

/** Every day but the 29th of February, which not all years have. */
const CANONICAL = /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

function isCanonical(text: string): boolean {
  return text.length === 20 && CANONICAL.test(text)
}

function parse(text: string, layout: string, fractionDigits: number): Instant {
  let rest = text
  const cannot = (at: string, what: string) => new Error(`parsing time ${quote(text)} as ${quote(layout)}: cannot parse ${quote(at)} as ${quote(what)}`)
  const range = (what: string) => new Error(`parsing time ${quote(text)}: ${what} out of range`)
  const digit = (i: number) => rest[i] !== undefined && (rest[i] as string) >= '0' && (rest[i] as string) <= '9'
  const literal = (s: string) => {
    if (!rest.startsWith(s)) throw cannot(rest, s)
    rest = rest.slice(s.length)
  }
  const number = (what: string, fixed: boolean) => {
    if (!digit(0) || (!digit(1) && fixed)) throw cannot(rest, what)
    const n = digit(1) ? 2 : 1
    const value = Number(rest.slice(0, n))
    rest = rest.slice(n)
    return value
  }

  if (!(digit(0) && digit(1) && digit(2) && digit(3))) throw cannot(rest, '2006')
  const year = Number(rest.slice(0, 4))
  rest = rest.slice(4)
  literal('-')
  const month = number('01', true)
  if (month < 1 || month > 12) throw range('month')
  literal('-')
  const day = number('02', true)
  literal('T')
  const hour = number('15', false)
  if (hour > 23) throw range('hour')
  literal(':')
  const minute = number('04', true)
  if (minute > 59) throw range('minute')
  literal(':')
  const second = number('05', true)
  if (second > 59) throw range('second')
  let nanos = 0
  if (fractionDigits > 0) {
    const match = /^[.,]\d{6}/.exec(rest)
    if (!match) throw cannot(rest, '.000000')
    nanos = Number(rest.slice(1, 7)) * 1000
    rest = rest.slice(7)
  } else if ((rest[0] === '.' || rest[0] === ',') && digit(1)) {
    const digits = (/^\d+/.exec(rest.slice(1)) as RegExpExecArray)[0]
    nanos = Number(digits.slice(0, 9).padEnd(9, '0'))
    rest = rest.slice(1 + digits.length)
  }
  let offset = 0
  if (rest[0] === 'Z') rest = rest.slice(1)
  else {
    const zone = /^([+-])(\d\d):(\d\d)/.exec(rest)
    if (!zone) throw cannot(rest, 'Z07:00')
    const h = Number(zone[2])
    const m = Number(zone[3])
    if (h > 24) throw range('time zone offset hour')
    if (m > 60) throw range('time zone offset minute')
    offset = (zone[1] === '-' ? -1 : 1) * (h * 3600 + m * 60)
    rest = rest.slice(6)
  }
  if (rest !== '') throw new Error(`parsing time ${quote(text)}: extra text: ${quote(rest)}`)
  if (day < 1 || day > daysIn(year, month)) throw range('day')
  const ms = new Date(0).setUTCFullYear(year, month - 1, day)
  return { seconds: ms / 1000 + hour * 3600 + minute * 60 + second - offset, nanos }
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
