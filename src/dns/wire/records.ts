import { isIP } from 'node:net'
import { CLASS_IN, type ResourceRecord, Type } from './message.ts'
import { absolute } from './name.ts'

/** The bytes of an address, 4 or 16; undefined for text that is none. */
export function addressBytes(text: string): Uint8Array | undefined {
  const kind = isIP(text)
  if (kind === 4) return Uint8Array.from(text.split('.').map(Number))
  if (kind !== 6 || text.includes('%')) return undefined
  // The last 32 bits may be in IPv4's form.
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text)
  const hex = (a: string, b: string) => ((Number(a) << 8) | Number(b)).toString(16)
  const plain = dotted ? `${dotted[1]}${hex(dotted[2] as string, dotted[3] as string)}:${hex(dotted[4] as string, dotted[5] as string)}` : text
  const [left = '', right] = plain.split('::')
  const words = (part: string) => (part === '' ? [] : part.split(':').map((w) => Number.parseInt(w, 16)))
  const head = words(left)
  const tail = right === undefined ? [] : words(right)
  const all = [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
  return Uint8Array.from(all.flatMap((w) => [w >> 8, w & 0xff]))
}

/** The usual text of an address (RFC 5952 for IPv6). */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const words = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] as number) << 8) | (bytes[2 * i + 1] as number))
  let best = { at: -1, length: 1 }
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && words[end] === 0) end++
    if (end - i > best.length) best = { at: i, length: end - i }
    if (end > i) i = end
  }
  const text = (part: number[]) => part.map((w) => w.toString(16)).join(':')
  return best.at < 0 ? text(words) : `${text(words.slice(0, best.at))}::${text(words.slice(best.at + best.length))}`
}

const u16 = (...values: number[]): Uint8Array => Uint8Array.from(values.flatMap((v) => [(v >> 8) & 0xff, v & 0xff]))
const u32 = (...values: number[]): Uint8Array => u16(...values.flatMap((v) => [Math.floor(v / 0x10000) & 0xffff, v & 0xffff]))

/** An A or AAAA record, by the kind of the address; undefined for text that is none. */
export function addressRecord(name: string, ttl: number, address: string): ResourceRecord | undefined {
  const bytes = addressBytes(address)
  return bytes && { name, type: bytes.length === 4 ? Type.A : Type.AAAA, class: CLASS_IN, ttl, data: [bytes] }
}

/** CNAME, PTR and NS: one name. */
export function nameRecord(name: string, type: number, ttl: number, target: string): ResourceRecord {
  return { name, type, class: CLASS_IN, ttl, data: [absolute(target)] }
}

export function srvRecord(name: string, ttl: number, srv: { priority: number; weight: number; port: number; target: string }): ResourceRecord {
  return { name, type: Type.SRV, class: CLASS_IN, ttl, data: [u16(srv.priority, srv.weight, srv.port), absolute(srv.target)] }
}

export function txtRecord(name: string, ttl: number, text: string): ResourceRecord {
  const bytes = new TextEncoder().encode(text).slice(0, 255)
  return { name, type: Type.TXT, class: CLASS_IN, ttl, data: [Uint8Array.from([bytes.length, ...bytes])] }
}

export interface Soa {
  readonly ns: string
  readonly mailbox: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  readonly minimum: number
}

export function soaRecord(name: string, ttl: number, soa: Soa): ResourceRecord {
  const numbers = u32(soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum)
  return { name, type: Type.SOA, class: CLASS_IN, ttl, data: [absolute(soa.ns), absolute(soa.mailbox), numbers] }
}

/** Data in zone-file form, for logs and tests. */
export function dataText(r: ResourceRecord): string {
  const bytes = r.data.find((p): p is Uint8Array => typeof p !== 'string') ?? new Uint8Array(0)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const names = r.data.filter((p): p is string => typeof p === 'string')
  if ((r.type === Type.A && bytes.length === 4) || (r.type === Type.AAAA && bytes.length === 16)) return addressText(bytes)
  if (r.type === Type.SRV && bytes.length === 6) return `${view.getUint16(0)} ${view.getUint16(2)} ${view.getUint16(4)} ${names[0]}`
  if (r.type === Type.SOA && bytes.length === 20) return [...names, ...[0, 4, 8, 12, 16].map((at) => view.getUint32(at))].join(' ')
  if (r.type === Type.TXT) return JSON.stringify(new TextDecoder().decode(bytes.slice(1)))
  if (names.length > 0) return names.join(' ')
  return `\\# ${bytes.length} ${Buffer.from(bytes).toString('hex')}`
}
