import { parseDurationMs } from '../apimachinery/duration.ts'

/** A schedule in a time zone: the next time after a given one. */
export interface CronSchedule {
  /** @param ms instant in ms since the epoch @returns the next instant, undefined when there is none within five years */
  next(ms: number): number | undefined
}

/** A text that is no schedule; the message is the original parser's. */
export class CronError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CronError'
  }
}

interface Bounds {
  min: number
  max: number
  names: Record<string, number>
}

interface Field {
  values: Set<number>
  /** Written as `*` or `?`, with or without a step: such a day field never widens the other one. */
  star: boolean
}

const named = (list: string, from: number): Record<string, number> => Object.fromEntries(list.split(' ').map((n, i) => [n, i + from]))
const MINUTE: Bounds = { min: 0, max: 59, names: {} }
const HOUR: Bounds = { min: 0, max: 23, names: {} }
const DAY: Bounds = { min: 1, max: 31, names: {} }
const MONTH: Bounds = { min: 1, max: 12, names: named('jan feb mar apr may jun jul aug sep oct nov dec', 1) }
const WEEKDAY: Bounds = { min: 0, max: 6, names: named('sun mon tue wed thu fri sat', 0) }

const DESCRIPTORS: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/**
 * Parses five fields, a descriptor or `@every`. Times that a change of clocks leaves out are skipped, times it repeats come twice, as with
 * the original's parser. Throws CronError.
 * @param timeZone an IANA name @default UTC
 */
export function parseCron(text: string, timeZone = 'UTC'): CronSchedule {
  if (text === '') throw new CronError('empty spec string')
  if (text.startsWith('@')) {
    if (text.startsWith('@every ')) return every(text)
    const fields = Object.hasOwn(DESCRIPTORS, text) ? DESCRIPTORS[text] : undefined
    if (fields === undefined) throw new CronError(`unrecognized descriptor: ${text}`)
    return parseCron(fields, timeZone)
  }
  const parts = text.split(/\s+/).filter((p) => p !== '')
  if (parts.length !== 5) throw new CronError(`expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`)
  const [minute, hour, day, month, weekday] = parts as [string, string, string, string, string]
  return new FieldSchedule(
    parseField(minute, MINUTE),
    parseField(hour, HOUR),
    parseField(day, DAY),
    parseField(month, MONTH),
    parseField(weekday, WEEKDAY),
    localTime(timeZone),
  )
}

function every(text: string): CronSchedule {
  const duration = text.slice('@every '.length)
  let ms: number
  try {
    ms = parseDurationMs(duration)
  } catch (e) {
    throw new CronError(`failed to parse duration ${text}: ${(e as Error).message}`)
  }
  const step = Math.max(1000, Math.floor(ms / 1000) * 1000)
  return { next: (at) => Math.floor(at / 1000) * 1000 + step }
}

function parseField(text: string, bounds: Bounds): Field {
  const field: Field = { values: new Set(), star: false }
  for (const part of text.split(',')) {
    if (part === '') continue
    parseRange(part, bounds, field)
  }
  return field
}

function parseRange(text: string, bounds: Bounds, field: Field): void {
  const rangeAndStep = text.split('/')
  const lowAndHigh = (rangeAndStep[0] as string).split('-')
  const single = lowAndHigh.length === 1
  let start: number
  let end: number
  if (lowAndHigh[0] === '*' || lowAndHigh[0] === '?') {
    start = bounds.min
    end = bounds.max
    field.star = true
  } else {
    start = parseNumber(lowAndHigh[0] as string, bounds)
    if (lowAndHigh.length > 2) throw new CronError(`too many hyphens: ${text}`)
    end = single ? start : parseNumber(lowAndHigh[1] as string, bounds)
  }
  let step = 1
  if (rangeAndStep.length === 2) {
    step = plainNumber(rangeAndStep[1] as string)
    if (single) end = bounds.max
    if (step > 1) field.star = false
  } else if (rangeAndStep.length > 2) throw new CronError(`too many slashes: ${text}`)
  if (start < bounds.min) throw new CronError(`beginning of range (${start}) below minimum (${bounds.min}): ${text}`)
  if (end > bounds.max) throw new CronError(`end of range (${end}) above maximum (${bounds.max}): ${text}`)
  if (start > end) throw new CronError(`beginning of range (${start}) beyond end of range (${end}): ${text}`)
  if (step === 0) throw new CronError(`step of range should be a positive number: ${text}`)
  for (let i = start; i <= end; i += step) field.values.add(i)
}

function parseNumber(text: string, bounds: Bounds): number {
  const name = text.toLowerCase()
  return Object.hasOwn(bounds.names, name) ? (bounds.names[name] as number) : plainNumber(text)
}

function plainNumber(text: string): number {
  if (!/^[+-]?[0-9]{1,9}$/.test(text)) throw new CronError(`failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)
  const n = Number(text)
  if (n < 0) throw new CronError(`negative number (${n}) not allowed: ${text}`)
  return n
}

interface Local {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  weekday: number
}

interface LocalTime {
  at(ms: number): Local
  /** The instant at which the local day begins, or the first one after it when midnight is left out. */
  startOfDay(year: number, month: number, day: number): number
}

function fieldsUtc(ms: number): Local {
  const d = new Date(ms)
  return { year: d.getUTCFullYear(), month: d.getUTCMonth() + 1, day: d.getUTCDate(), hour: d.getUTCHours(), minute: d.getUTCMinutes(), weekday: d.getUTCDay() }
}

/** Throws RangeError for a zone nobody knows. */
function localTime(timeZone: string): LocalTime {
  if (timeZone === 'UTC' || timeZone === 'Etc/UTC') return { at: fieldsUtc, startOfDay: (y, m, d) => Date.UTC(y, m - 1, d) }
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const offset = (ms: number): number => {
    const parts = Object.fromEntries(format.formatToParts(ms).map((p) => [p.type, Number(p.value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts as Record<string, number>
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000
  }
  const at = (ms: number): Local => fieldsUtc(ms + offset(ms))
  return {
    at,
    startOfDay(year, month, day) {
      const utc = Date.UTC(year, month - 1, day)
      let guess = utc - offset(utc)
      guess = utc - offset(guess)
      const { day: got, hour } = at(guess)
      // Midnight does not exist on this day: the clock jumped over it.
      if (got !== fieldsUtc(utc).day) return guess + HOUR_MS
      return guess - hour * HOUR_MS
    },
  }
}

class FieldSchedule implements CronSchedule {
  private readonly minute: Field
  private readonly hour: Field
  private readonly day: Field
  private readonly month: Field
  private readonly weekday: Field
  private readonly local: LocalTime

  constructor(minute: Field, hour: Field, day: Field, month: Field, weekday: Field, local: LocalTime) {
    this.minute = minute
    this.hour = hour
    this.day = day
    this.month = month
    this.weekday = weekday
    this.local = local
  }

  next(ms: number): number | undefined {
    let t = Math.floor(ms / MINUTE_MS) * MINUTE_MS + MINUTE_MS
    const limit = this.local.at(t).year + 5
    for (;;) {
      const now = this.local.at(t)
      if (now.year > limit) return undefined
      if (!this.month.values.has(now.month)) {
        t = now.month === 12 ? this.local.startOfDay(now.year + 1, 1, 1) : this.local.startOfDay(now.year, now.month + 1, 1)
      } else if (!this.dayMatches(now)) {
        const tomorrow = new Date(Date.UTC(now.year, now.month - 1, now.day) + DAY_MS)
        t = this.local.startOfDay(tomorrow.getUTCFullYear(), tomorrow.getUTCMonth() + 1, tomorrow.getUTCDate())
      } else if (!this.hour.values.has(now.hour)) {
        t += (60 - now.minute) * MINUTE_MS
      } else if (!this.minute.values.has(now.minute)) {
        t += MINUTE_MS
      } else return t
    }
  }

  /** When both day fields are set, either is enough. */
  private dayMatches(now: Local): boolean {
    const day = this.day.values.has(now.day)
    const weekday = this.weekday.values.has(now.weekday)
    return this.day.star || this.weekday.star ? day && weekday : day || weekday
  }
}
