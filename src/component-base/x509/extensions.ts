import { isIP } from 'node:net'
import { bitString, boolean, type DerReader, encode, octetString, oid, readOid, sequence, TAG, text } from './der.ts'

export interface AlternativeNames {
  readonly dns: readonly string[]
  readonly ips: readonly string[]
  readonly emails: readonly string[]
  readonly uris: readonly string[]
}

export type KeyUsage = 'digitalSignature' | 'contentCommitment' | 'keyEncipherment' | 'dataEncipherment' | 'keyAgreement' | 'keyCertSign' | 'cRLSign'
export type ExtendedKeyUsage = 'any' | 'serverAuth' | 'clientAuth' | 'codeSigning' | 'emailProtection' | 'timeStamping' | 'ocspSigning'

const keyUsageBits: readonly KeyUsage[] = [
  'digitalSignature',
  'contentCommitment',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
]
const extendedOids: Readonly<Record<ExtendedKeyUsage, string>> = {
  any: '2.5.29.37.0',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
}
export const SUBJECT_ALT_NAME = '2.5.29.17'

const extension = (id: string, critical: boolean, value: Uint8Array) => sequence(oid(id), ...(critical ? [boolean(true)] : []), octetString(value))

export function keyUsageExtension(usages: readonly KeyUsage[]): Uint8Array {
  let byte = 0
  let last = 0
  for (const usage of usages) {
    const bit = keyUsageBits.indexOf(usage)
    byte |= 0x80 >> bit
    last = Math.max(last, bit)
  }
  return extension('2.5.29.15', true, bitString(Uint8Array.of(byte), 7 - last))
}
export const extendedKeyUsageExtension = (usages: readonly ExtendedKeyUsage[]): Uint8Array =>
  extension('2.5.29.37', false, sequence(...usages.map((u) => oid(extendedOids[u]))))
export const basicConstraintsExtension = (ca: boolean): Uint8Array => extension('2.5.29.19', true, ca ? sequence(boolean(true)) : sequence())
export const subjectKeyIdExtension = (id: Uint8Array): Uint8Array => extension('2.5.29.14', false, octetString(id))
export const authorityKeyIdExtension = (id: Uint8Array): Uint8Array => extension('2.5.29.35', false, sequence(encode(0x80, id)))
export const subjectAltNameExtension = (names: Partial<AlternativeNames>): Uint8Array =>
  extension(
    SUBJECT_ALT_NAME,
    false,
    sequence(
      ...(names.dns ?? []).map((d) => text(0x82, d)),
      ...(names.emails ?? []).map((e) => text(0x81, e)),
      ...(names.ips ?? []).map((ip) => encode(0x87, ipBytes(ip))),
      ...(names.uris ?? []).map((u) => text(0x86, u)),
    ),
  )

/** Reads the GeneralNames of a subjectAltName extension. @throws DerError */
export function readAltNames(reader: DerReader): AlternativeNames {
  const out = { dns: [] as string[], ips: [] as string[], emails: [] as string[], uris: [] as string[] }
  const names = reader.into(TAG.sequence)
  while (!names.done) {
    const { tag, content } = names.next()
    if (tag === 0x82) out.dns.push(Buffer.from(content).toString('latin1'))
    else if (tag === 0x81) out.emails.push(Buffer.from(content).toString('latin1'))
    else if (tag === 0x86) out.uris.push(Buffer.from(content).toString('latin1'))
    else if (tag === 0x87) out.ips.push(ipText(content))
  }
  return out
}

/** Extensions by object id: [id, value]. @throws DerError */
export function readExtensions(reader: DerReader): Map<string, Uint8Array> {
  const out = new Map<string, Uint8Array>()
  const list = reader.into(TAG.sequence)
  while (!list.done) {
    const one = list.into(TAG.sequence)
    const id = readOid(one.next(TAG.oid).content)
    one.optional(TAG.boolean)
    out.set(id, one.next(TAG.octetString).content)
  }
  return out
}

function ipBytes(ip: string): Uint8Array {
  if (isIP(ip) === 4) return Uint8Array.from(ip.split('.').map(Number))
  if (isIP(ip) !== 6) throw new Error(`x509: not an IP address: ${ip}`)
  const [head = '', tail] = ip.split('::')
  const words = (s: string) => (s === '' ? [] : s.split(':')).flatMap((w) => (w.includes('.') ? ipv4Words(w) : [Number.parseInt(w, 16)]))
  const before = words(head)
  const after = tail === undefined ? [] : words(tail)
  const all = [...before, ...new Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after]
  return Uint8Array.from(all.flatMap((w) => [w >> 8, w & 0xff]))
}
function ipv4Words(ip: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number)
  return [(a << 8) | b, (c << 8) | d]
}
function ipText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const words: string[] = []
  for (let i = 0; i + 1 < bytes.length; i += 2) words.push((((bytes[i] as number) << 8) | (bytes[i + 1] as number)).toString(16))
  return words.join(':')
}
