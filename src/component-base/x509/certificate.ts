import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import { bitString, context, DerReader, integer, sequence, TAG, time } from './der.ts'
import {
  type AlternativeNames,
  authorityKeyIdExtension,
  basicConstraintsExtension,
  type ExtendedKeyUsage,
  extendedKeyUsageExtension,
  type KeyUsage,
  keyUsageExtension,
  subjectAltNameExtension,
  subjectKeyIdExtension,
} from './extensions.ts'
import { type DistinguishedName, encodeName, readName } from './name.ts'
import { decodePem, encodePem } from './pem.ts'
import { signatureAlgorithm, signBytes } from './signature.ts'

/** A certificate and its private key, both PEM (`EC PRIVATE KEY`s are written as PKCS #8). */
export interface KeyPair {
  readonly certificate: string
  readonly key: string
}

export interface CertificateTemplate {
  readonly subject: DistinguishedName
  /** ms since the epoch, both inclusive. */
  readonly notBefore: number
  readonly notAfter: number
  readonly ca?: boolean
  readonly usages: readonly KeyUsage[]
  readonly extendedUsages?: readonly ExtendedKeyUsage[]
  readonly names?: Partial<AlternativeNames>
}

/** The authority that signs: its certificate (DER) and key. */
export interface Issuer {
  readonly certificate: Uint8Array
  readonly key: KeyObject
}

export function generateKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

/** What stands before the numbers of a key of P-256: SubjectPublicKeyInfo (RFC 5480), and PKCS #8 around RFC 5915's form in three parts. */
const P256_SPKI = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex')
const P256_PKCS8 = Buffer.from('308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420', 'hex')
const P256_PKCS8_POINT = Buffer.from('a14403420004', 'hex')

/** The numbers of a private key of P-256; undefined of others. Written by hand from these, a key takes a tenth of the library's time. */
function p256(key: KeyObject): { d: Buffer; x: Buffer; y: Buffer } | undefined {
  if (key.type !== 'private' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined
  const { d, x, y } = key.export({ format: 'jwk' })
  const number = (text: string | undefined) => Buffer.from(text ?? '', 'base64url')
  return { d: number(d), x: number(x), y: number(y) }
}

export function privateKeyPem(key: KeyObject): string {
  const own = p256(key)
  if (own) return encodePem('PRIVATE KEY', Buffer.concat([P256_PKCS8, own.d, P256_PKCS8_POINT, own.x, own.y]))
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}
export const publicKeyPem = (key: KeyObject): string => (key.type === 'private' ? createPublicKey(key) : key).export({ type: 'spki', format: 'pem' }) as string

/**
 * Signs a certificate for `publicKey` (DER of SubjectPublicKeyInfo). Without an issuer it signs itself with `selfKey`.
 * @returns DER
 */
export function signCertificate(template: CertificateTemplate, publicKey: Uint8Array, issuer: Issuer | { selfKey: KeyObject }, random: Random): Uint8Array {
  const self = 'selfKey' in issuer
  const key = self ? issuer.selfKey : issuer.key
  const parent = self ? undefined : readCertificate(issuer.certificate)
  const keyId = keyIdentifier(publicKey)
  const serial = random.bytes(16)
  serial[0] = ((serial[0] as number) & 0x7f) | 0x01
  const algorithm = signatureAlgorithm(key)
  const extensions = [keyUsageExtension(template.usages)]
  if (template.extendedUsages?.length) extensions.push(extendedKeyUsageExtension(template.extendedUsages))
  extensions.push(basicConstraintsExtension(template.ca ?? false))
  if (template.ca) extensions.push(subjectKeyIdExtension(keyId))
  if (parent) extensions.push(authorityKeyIdExtension(keyIdentifier(parent.publicKey)))
  const { names } = template
  if (names && [names.dns, names.ips, names.emails, names.uris].some((list) => list?.length)) extensions.push(subjectAltNameExtension(names))
  const body = sequence(
    context(0, integer(Uint8Array.of(2))),
    integer(serial),
    algorithm,
    parent ? parent.rawSubject : encodeName(template.subject),
    sequence(time(template.notBefore), time(template.notAfter)),
    encodeName(template.subject),
    publicKey,
    context(3, sequence(...extensions)),
  )
  return sequence(body, algorithm, bitString(signBytes(key, body)))
}

export function publicKeyDer(key: KeyObject): Uint8Array {
  const own = p256(key)
  if (own) return new Uint8Array(Buffer.concat([P256_SPKI, own.x, own.y]))
  return new Uint8Array((key.type === 'private' ? createPublicKey(key) : key).export({ type: 'spki', format: 'der' }) as Buffer)
}

/** A new key and a certificate for it. */
export function issueKeyPair(template: CertificateTemplate, issuer: Issuer | undefined, random: Random): KeyPair {
  const key = generateKey()
  const certificate = signCertificate(template, publicKeyDer(key), issuer ?? { selfKey: key }, random)
  return { certificate: encodePem('CERTIFICATE', certificate), key: privateKeyPem(key) }
}

/** @throws Error when the pair holds no certificate or key */
export function issuerOf(pair: KeyPair): Issuer {
  return { certificate: certificateDer(pair.certificate), key: createPrivateKey(pair.key) }
}

/** The first certificate of a PEM text. @throws Error */
export function certificateDer(pem: string): Uint8Array {
  const block = decodePem(pem).find((b) => b.type === 'CERTIFICATE')
  if (!block) throw new Error('x509: no certificate found in PEM data')
  return block.bytes
}

export interface CertificateFacts {
  readonly subject: DistinguishedName
  readonly rawSubject: Uint8Array
  readonly publicKey: Uint8Array
  /** ms since the epoch */
  readonly notBefore: number
  readonly notAfter: number
}

/** @throws DerError */
export function readCertificate(der: Uint8Array): CertificateFacts {
  const body = new DerReader(der).into(TAG.sequence).into(TAG.sequence)
  body.optional(0xa0)
  body.next(TAG.integer)
  body.next(TAG.sequence)
  body.next(TAG.sequence)
  const validity = body.into(TAG.sequence)
  const notBefore = readTime(validity.next())
  const notAfter = readTime(validity.next())
  const rawSubject = body.next(TAG.sequence).raw
  const publicKey = body.next(TAG.sequence).raw
  return { subject: readName(new DerReader(rawSubject)), rawSubject, publicKey, notBefore, notAfter }
}

function readTime(element: { tag: number; content: Uint8Array }): number {
  const s = Buffer.from(element.content).toString('latin1')
  const full = element.tag === TAG.utcTime ? `${Number(s.slice(0, 2)) < 50 ? '20' : '19'}${s}` : s
  const n = (from: number, to: number) => Number(full.slice(from, to))
  return Date.UTC(n(0, 4), n(4, 6) - 1, n(6, 8), n(8, 10), n(10, 12), n(12, 14))
}

/** RFC 7093's first method, shortened to 20 bytes: SHA-256 over the key bits. */
function keyIdentifier(spki: Uint8Array): Uint8Array {
  const info = new DerReader(spki).into(TAG.sequence)
  info.next(TAG.sequence)
  const bits = info.next(TAG.bitString).content.subarray(1)
  return new Uint8Array(createHash('sha256').update(bits).digest().subarray(0, 20))
}
