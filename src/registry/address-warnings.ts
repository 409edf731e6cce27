import type { FieldPath } from '../apimachinery/field.ts'
import { quote } from '../apimachinery/quote.ts'
import { formatCIDR, formatIP, parseCIDR, parseIP } from '../apimachinery/validation/ip.ts'

/** Addresses that pass but should be written otherwise. */
export function ipWarnings(text: string, path: FieldPath): string[] {
  const ip = parseIP(text)
  if (!ip) return []
  const canonical = formatIP(ip)
  if (ip.leadingZeros || ip.mapped) return [`${path}: non-standard IP address ${quote(text)} is invalid: use ${quote(canonical)}`]
  return ip.family === 6 && canonical !== text ? [`${path}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`] : []
}

export function cidrWarnings(text: string, path: FieldPath): string[] {
  const cidr = parseCIDR(text)
  if (!cidr) return []
  const canonical = formatCIDR(cidr)
  if (cidr.leadingZeros || cidr.address.mapped || (cidr.address.family === 4 && canonical !== text))
    return [`${path}: non-standard CIDR value ${quote(text)} is invalid: use ${quote(canonical)}`]
  return canonical === text ? [] : [`${path}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`]
}
