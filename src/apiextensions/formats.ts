import { parseDuration } from '../apimachinery/duration.ts'

/** The string formats that are checked; others are only announced. */
const FORMATS: Readonly<Record<string, (s: string) => boolean>> = {
  'date-time': (s) => {
    const m = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.exec(s)
    return m !== null && isDay(m[1], m[2], m[3]) && Number(m[4]) < 24 && Number(m[5]) < 60 && Number(m[6]) < 60
  },
  date: (s) => {
    const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(s)
    return m !== null && isDay(m[1], m[2], m[3])
  },
  duration: (s) => {
    try {
      parseDuration(s)
      return true
    } catch {
      return /^\d+(\.\d+)?\s*(ns|nanos?|us|µs|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)$/i.test(s)
    }
  },
  email: (s) => /^[^\s@"<>()]+@[^\s@]+$/.test(s),
  ipv4: (s) => /^\d{1,3}(\.\d{1,3}){3}$/.test(s) && s.split('.').every((p) => Number(p) < 256 && String(Number(p)) === p),
  ipv6: (s) => s.includes(':') && isIPv6(s),
  ip: (s) => FORMATS['ipv4']?.(s) === true || isIPv6(s),
  cidr: (s) => {
    const [address, bits, ...more] = s.split('/')
    if (more.length > 0 || address === undefined || bits === undefined || !/^\d{1,3}$/.test(bits)) return false
    return FORMATS['ipv4']?.(address) === true ? Number(bits) <= 32 : isIPv6(address) && Number(bits) <= 128
  },
  mac: (s) => /^([0-9a-f]{2}([:-]|$)){6}$/i.test(s) || /^([0-9a-f]{2}([:-]|$)){8}$/i.test(s) || /^([0-9a-f]{4}(\.|$)){3,4}$/i.test(s),
  uuid: (s) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(s),
  uuid3: (s) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(s),
  uuid4: (s) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(s),
  uuid5: (s) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(s),
  uri: (s) => /^[a-z][a-z0-9+.-]*:[^\s]*$/i.test(s) || s.startsWith('/'),
  byte: (s) => /^[A-Za-z0-9+/]*={0,2}$/.test(s) && s.length % 4 === 0,
  bsonobjectid: (s) => /^[0-9a-f]{24}$/i.test(s),
  hexcolor: (s) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(s),
  rgbcolor: (s) => /^rgb\(\s*(\d{1,3}|\d{1,3}%)\s*,\s*(\d{1,3}|\d{1,3}%)\s*,\s*(\d{1,3}|\d{1,3}%)\s*\)$/.test(s),
  hostname: (s) => s.length <= 255 && /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\.?$/i.test(s),
  isbn: (s) => /^[\d -]{9,17}[\dX]$/i.test(s),
  isbn10: (s) => /^[\d -]{9,12}[\dX]$/i.test(s),
  isbn13: (s) => /^[\d -]{13,17}$/.test(s),
  creditcard: (s) => /^[\d -]{13,23}$/.test(s),
  ssn: (s) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(s),
  'k8s-short-name': (s) => s.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(s),
  'k8s-long-name': (s) => s.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(s),
}

/** Formats without a check of their own. */
export function isKnownFormat(format: string): boolean {
  return (
    Object.hasOwn(FORMATS, format) ||
    format === 'password' ||
    format === 'int32' ||
    format === 'int64' ||
    format === 'float' ||
    format === 'double' ||
    format === 'int-or-string'
  )
}

/** Unknown formats fit everything. */
export function fitsFormat(format: string, value: string): boolean {
  return Object.hasOwn(FORMATS, format) ? (FORMATS[format] as (s: string) => boolean)(value) : true
}

function isDay(year: string | undefined, month: string | undefined, day: string | undefined): boolean {
  const d = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(d.getTime()) && d.getUTCDate() === Number(day)
}

function isIPv6(s: string): boolean {
  if (!/^[0-9a-f:.]+$/i.test(s) || !s.includes(':')) return false
  try {
    return new URL(`http://[${s}]/`).hostname.length > 0
  } catch {
    return false
  }
}
