import { type ErrorList, type FieldPath, invalid } from '../field.ts'
import { quote } from '../quote.ts'

/** An address as its 4 or 16 bytes. */
export interface IPAddress {
  readonly family: 4 | 6
  readonly bytes: readonly number[]
  /** Written `::ffff:a.b.c.d`; family is then 4, as Go's net.IP has it. */
  readonly mapped: boolean
  /** Some number has leading zeros, which readers understand differently (decimal or octal). */
  readonly leadingZeros: boolean
}

export interface CIDR {
  readonly address: IPAddress
  readonly prefix: number
  readonly leadingZeros: boolean
}

/** Parses as liberally as upstream's legacy parser: leading zeros pass and are reported. Undefined for anything else. */
export function parseIP(text: string): IPAddress | undefined {
  if (text.length === 0 || text.length > 64) return undefined
  if (text.includes(':')) return parseIPv6(text)
  const v4 = parseIPv4(text)
  return v4 && { family: 4, bytes: v4.bytes, mapped: false, leadingZeros: v4.leadingZeros }
}

function parseIPv4(text: string): { bytes: number[]; leadingZeros: boolean } | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const bytes: number[] = []
  let leadingZeros = false
  for (const part of parts) {
    if (!/^[0-9]{1,20}$/.test(part)) return undefined
    const n = Number(part)
    if (n > 255) return undefined
    if (part.length > 1 && part[0] === '0') leadingZeros = true
    bytes.push(n)
  }
  return { bytes, leadingZeros }
}

function parseIPv6(text: string): IPAddress | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  let leadingZeros = false
  const read = (part: string, last: boolean): number[] | undefined => {
    if (part === '') return []
    const out: number[] = []
    const groups = part.split(':')
    for (let i = 0; i < groups.length; i++) {
      const g = groups[i] as string
      if (last && i === groups.length - 1 && g.includes('.')) {
        const v4 = parseIPv4(g)
        if (!v4) return undefined
        if (v4.leadingZeros) leadingZeros = true
        out.push(...v4.bytes)
      } else {
        if (!/^[0-9a-fA-F]{1,4}$/.test(g)) return undefined
        const n = Number.parseInt(g, 16)
        out.push(n >> 8, n & 255)
      }
    }
    return out
  }
  const head = read(halves[0] as string, halves.length === 1)
  const tail = halves.length === 2 ? read(halves[1] as string, true) : []
  if (!head || !tail) return undefined
  const gap = 16 - head.length - tail.length
  if (halves.length === 1 ? gap !== 0 : gap < 2) return undefined
  const bytes = [...head, ...new Array<number>(gap).fill(0), ...tail]
  const mapped = bytes.slice(0, 10).every((b) => b === 0) && bytes[10] === 255 && bytes[11] === 255
  return mapped ? { family: 4, bytes: bytes.slice(12), mapped, leadingZeros } : { family: 6, bytes, mapped, leadingZeros }
}

/** Canonical text, RFC 5952 for IPv6. */
export function formatIP(ip: Pick<IPAddress, 'family' | 'bytes'>): string {
  if (ip.family === 4) return ip.bytes.join('.')
  const groups: number[] = []
  for (let i = 0; i < 16; i += 2) groups.push(((ip.bytes[i] as number) << 8) | (ip.bytes[i + 1] as number))
  let best = -1
  let bestLength = 1
  for (let i = 0; i < 8; ) {
    let j = i
    while (j < 8 && groups[j] === 0) j++
    if (j - i > bestLength) {
      best = i
      bestLength = j - i
    }
    i = j === i ? i + 1 : j
  }
  const hex = (list: number[]) => list.map((g) => g.toString(16)).join(':')
  return best < 0 ? hex(groups) : `${hex(groups.slice(0, best))}::${hex(groups.slice(best + bestLength))}`
}

export function parseCIDR(text: string): CIDR | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const address = parseIP(text.slice(0, slash))
  const size = text.slice(slash + 1)
  if (!address || !/^[0-9]{1,10}$/.test(size)) return undefined
  const bits = address.family === 4 && !address.mapped ? 32 : 128
  const written = Number(size)
  if (written > bits) return undefined
  return { address, prefix: address.mapped ? written - 96 : written, leadingZeros: address.leadingZeros || (size.length > 1 && size[0] === '0') }
}

/** The network address of a CIDR. */
export function maskIP(ip: IPAddress, prefix: number): number[] {
  return ip.bytes.map((b, i) => b & (0xff << Math.max(0, Math.min(8, 8 - (prefix - i * 8)))) & 0xff)
}

export const formatCIDR = (cidr: CIDR): string => `${formatIP({ family: cidr.address.family, bytes: maskIP(cidr.address, cidr.prefix) })}/${cidr.prefix}`

export const IP_TEXT = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
export const CIDR_TEXT = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

function ipForm(ip: IPAddress): string[] {
  if (ip.leadingZeros) return ['must not have leading 0s']
  return ip.mapped ? ['must not be an IPv4-mapped IPv6 address'] : []
}

/** What is wrong with a text that must be an IP in canonical form (new API fields). */
export function isIP(text: string): string[] {
  const ip = parseIP(text)
  if (!ip) return [IP_TEXT]
  const form = ipForm(ip)
  if (form.length) return form
  const canonical = formatIP(ip)
  return canonical === text ? [] : [`must be in canonical form (${quote(canonical)})`]
}

/** Old API fields: other spellings of IPv6 pass; values in `oldValues` (already stored) pass however they are written. */
export function isLegacyIP(text: string, oldValues: readonly string[] = []): string[] {
  const ip = parseIP(text)
  if (!ip) return [IP_TEXT]
  return oldValues.includes(text) ? [] : ipForm(ip)
}

function cidrForm(cidr: CIDR): string[] {
  const errs: string[] = []
  if (cidr.leadingZeros) return ['must not have leading 0s in IP or prefix length']
  if (cidr.address.mapped) return ['must not have an IPv4-mapped IPv6 address']
  const masked = maskIP(cidr.address, cidr.prefix)
  if (masked.some((b, i) => b !== cidr.address.bytes[i])) errs.push('must not have bits set beyond the prefix length')
  return errs
}

export function isCIDR(text: string): string[] {
  const cidr = parseCIDR(text)
  if (!cidr) return [CIDR_TEXT]
  const form = cidrForm(cidr)
  if (form.length) return form
  const canonical = formatCIDR(cidr)
  return canonical === text ? [] : [`must be in canonical form (${quote(canonical)})`]
}

export function isLegacyCIDR(text: string, oldValues: readonly string[] = []): string[] {
  const cidr = parseCIDR(text)
  if (!cidr) return [CIDR_TEXT]
  return oldValues.includes(text) ? [] : cidrForm(cidr)
}

export function validateIP(text: string, path: FieldPath): ErrorList {
  return isIP(text).map((m) => invalid(path, text, m))
}
export function validateLegacyIP(text: string, path: FieldPath, oldValues?: readonly string[]): ErrorList {
  return isLegacyIP(text, oldValues).map((m) => invalid(path, text, m))
}
export function validateCIDR(text: string, path: FieldPath): ErrorList {
  return isCIDR(text).map((m) => invalid(path, text, m))
}
export function validateLegacyCIDR(text: string, path: FieldPath, oldValues?: readonly string[]): ErrorList {
  return isLegacyCIDR(text, oldValues).map((m) => invalid(path, text, m))
}

/** Addresses that cannot be an endpoint: unspecified, loopback, link-local. */
export function validateNonSpecialIP(text: string, path: FieldPath): ErrorList {
  const ip = parseIP(text)
  if (!ip) return [invalid(path, text, 'must be a valid IP address')]
  const errs: ErrorList = []
  const [a, b] = ip.bytes as [number, number]
  const zeros = (to: number) => ip.bytes.slice(0, to).every((x) => x === 0)
  if (zeros(ip.bytes.length)) errs.push(invalid(path, text, `may not be unspecified (${text})`))
  if (ip.family === 4 ? a === 127 : zeros(15) && ip.bytes[15] === 1) {
    errs.push(invalid(path, text, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'))
  }
  if (ip.family === 4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80) {
    errs.push(invalid(path, text, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'))
  }
  if (ip.family === 4 ? a === 224 && b === 0 && ip.bytes[2] === 0 : a === 0xff && (b & 0x0f) === 2) {
    errs.push(invalid(path, text, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'))
  }
  return errs
}
