import type { KeyObject } from 'node:crypto'
import { publicKeyDer } from './certificate.ts'
import { bitString, context, DerError, DerReader, integer, oid, readOid, sequence, set, TAG } from './der.ts'
import { type AlternativeNames, readAltNames, readExtensions, SUBJECT_ALT_NAME, subjectAltNameExtension } from './extensions.ts'
import { type DistinguishedName, encodeName, readName } from './name.ts'
import { decodePem, encodePem } from './pem.ts'
import { signatureAlgorithm, signBytes, verifyBytes } from './signature.ts'

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'

/** A PKCS #10 certificate signing request (RFC 2986). */
export interface SigningRequest {
  readonly subject: DistinguishedName
  /** DER of SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array
  readonly names: AlternativeNames
  /** Whether the request is signed by the key it holds. */
  readonly signatureValid: boolean
}

/** Reads a PEM request. @throws Error with the text clients are shown */
export function parseSigningRequest(pem: string): SigningRequest {
  const block = decodePem(pem)[0]
  if (block?.type !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST')
  return readSigningRequest(block.bytes)
}

/** @throws DerError */
export function readSigningRequest(der: Uint8Array): SigningRequest {
  const top = new DerReader(der)
  const outer = top.into(TAG.sequence)
  if (!top.done) throw new DerError('asn1: syntax error: trailing data')
  const info = outer.next(TAG.sequence)
  const algorithm = readOid(outer.into(TAG.sequence).next(TAG.oid).content)
  const signature = outer.next(TAG.bitString).content.subarray(1)
  const body = new DerReader(info.content)
  body.next(TAG.integer)
  const subject = readName(body)
  const publicKey = body.next(TAG.sequence).raw
  let names: AlternativeNames = { dns: [], ips: [], emails: [], uris: [] }
  const attributes = body.optional(0xa0)
  if (attributes) {
    const list = new DerReader(attributes.content)
    while (!list.done) {
      const one = list.into(TAG.sequence)
      if (readOid(one.next(TAG.oid).content) !== EXTENSION_REQUEST) continue
      const alt = readExtensions(one.into(TAG.set)).get(SUBJECT_ALT_NAME)
      if (alt) names = readAltNames(new DerReader(alt))
    }
  }
  return { subject, publicKey, names, signatureValid: verifyBytes(publicKey, algorithm, info.raw, signature) }
}

/** Makes a request for `key`, PEM. */
export function createSigningRequest(subject: DistinguishedName, names: Partial<AlternativeNames>, key: KeyObject): string {
  const asked = [names.dns, names.ips, names.emails, names.uris].some((l) => l?.length)
  const body = sequence(
    integer(Uint8Array.of(0)),
    encodeName(subject),
    publicKeyDer(key),
    context(0, ...(asked ? [sequence(oid(EXTENSION_REQUEST), set(sequence(subjectAltNameExtension(names))))] : [])),
  )
  return encodePem('CERTIFICATE REQUEST', sequence(body, signatureAlgorithm(key), bitString(signBytes(key, body))))
}
