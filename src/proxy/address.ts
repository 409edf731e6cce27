import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** An address family; each has a table of its own. */
export type Family = 'IPv4' | 'IPv6'

export const familyOf = (address: string): Family | undefined => {
  const kind = isIP(address)
  return kind === 4 ? 'IPv4' : kind === 6 ? 'IPv6' : undefined
}

/** A CIDR of a family, or undefined: nothing else gets into a rule. */
export function isCIDR(text: string, family: Family): boolean {
  const slash = text.indexOf('/')
  if (slash < 0 || familyOf(text.slice(0, slash)) !== family) return false
  const bits = text.slice(slash + 1)
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 'IPv4' ? 32 : 128)
}

const bytesOf = (address: string, family: Family): bigint => {
  if (family === 'IPv4') return address.split('.').reduce((n, part) => n * 256n + BigInt(part), 0n)
  let text = address.replace(/%.*$/, '')
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  if (dotted) {
    const v4 = bytesOf(dotted[2] as string, 'IPv4')
    text = `${dotted[1]}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`
  }
  const [head = '', tail] = text.split('::')
  const words = (part: string) => (part === '' ? [] : part.split(':'))
  const left = words(head)
  const right = tail === undefined ? [] : words(tail)
  const all = tail === undefined ? left : [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right]
  return all.reduce((n, word) => n * 65536n + BigInt(`0x${word || '0'}`), 0n)
}

/** Whether a CIDR holds an address; both are valid and of one family. */
export function cidrHas(cidr: string, address: string): boolean {
  const slash = cidr.indexOf('/')
  const family = familyOf(address) as Family
  if (familyOf(cidr.slice(0, slash)) !== family) return false
  const drop = BigInt((family === 'IPv4' ? 32 : 128) - Number(cidr.slice(slash + 1)))
  return bytesOf(cidr.slice(0, slash), family) >> drop === bytesOf(address, family) >> drop
}

/** `address:port` as a rule and a URL write it. */
export const joinHostPort = (address: string, port: number): string => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`)

/** The addresses of this machine's interfaces. */
export function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((a) => a.address.replace(/%.*$/, '')))
}
