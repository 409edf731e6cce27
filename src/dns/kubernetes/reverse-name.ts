import { labelsOf } from '../wire/name.ts'
import { addressText } from '../wire/records.ts'

const V4 = '.in-addr.arpa.'
const V6 = '.ip6.arpa.'

/** The address of a canonical reverse name, whole addresses only. */
export function addressOfReverse(name: string): string | undefined {
  if (name.endsWith(V4)) {
    const parts = labelsOf(name.slice(0, -V4.length)).reverse()
    if (parts.length !== 4 || !parts.every((p) => /^(?:0|[1-9]\d{0,2})$/.test(p) && Number(p) < 256)) return undefined
    return parts.join('.')
  }
  if (name.endsWith(V6)) {
    const nibbles = labelsOf(name.slice(0, -V6.length)).reverse()
    if (nibbles.length !== 32 || !nibbles.every((n) => /^[0-9a-f]$/.test(n))) return undefined
    return addressText(Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(`${nibbles[2 * i]}${nibbles[2 * i + 1]}`, 16)))
  }
  return undefined
}

/** The zone of an address range on a byte's (IPv6: a nibble's) border; undefined for other text. */
export function reverseZone(cidr: string, bytesOf: (address: string) => Uint8Array | undefined): string | undefined {
  const [address = '', bits] = cidr.split('/')
  const bytes = bytesOf(address)
  if (!bytes || bits === undefined || !/^\d{1,3}$/.test(bits)) return undefined
  const prefix = Number(bits)
  if (prefix > bytes.length * 8) return undefined
  if (bytes.length === 4)
    return prefix % 8 === 0
      ? [...bytes.slice(0, prefix / 8)]
          .reverse()
          .join('.')
          .concat(prefix ? '.' : '', 'in-addr.arpa.')
      : undefined
  if (prefix % 4 !== 0) return undefined
  const nibbles = [...bytes].flatMap((b) => [(b >> 4).toString(16), (b & 15).toString(16)]).slice(0, prefix / 4)
  return [...nibbles.reverse(), 'ip6.arpa.'].join('.')
}
