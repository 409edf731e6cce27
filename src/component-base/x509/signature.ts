import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { encode, oid, sequence, TAG } from './der.ts'

const hashOf: Readonly<Record<string, string | null>> = {
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.3.101.112': null,
}

/** The AlgorithmIdentifier with which a key signs here. */
export function signatureAlgorithm(key: KeyObject): Uint8Array {
  switch (key.asymmetricKeyType) {
    case 'ec': {
      const curve = key.asymmetricKeyDetails?.namedCurve
      return sequence(oid(curve === 'secp521r1' ? '1.2.840.10045.4.3.4' : curve === 'secp384r1' ? '1.2.840.10045.4.3.3' : '1.2.840.10045.4.3.2'))
    }
    case 'rsa':
      return sequence(oid('1.2.840.113549.1.1.11'), encode(TAG.null))
    case 'ed25519':
      return sequence(oid('1.3.101.112'))
    default:
      throw new Error(`x509: unsupported key type ${key.asymmetricKeyType}`)
  }
}

export function signBytes(key: KeyObject, bytes: Uint8Array): Uint8Array {
  const curve = key.asymmetricKeyDetails?.namedCurve
  const hash = key.asymmetricKeyType === 'ed25519' ? null : curve === 'secp521r1' ? 'sha512' : curve === 'secp384r1' ? 'sha384' : 'sha256'
  return new Uint8Array(sign(hash, bytes, key))
}

/** False also for an algorithm that is not taken (SHA-1, MD5) or a key that cannot be read. */
export function verifyBytes(spki: Uint8Array, algorithm: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (!Object.hasOwn(hashOf, algorithm)) return false
  try {
    const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
    return verify(hashOf[algorithm], bytes, key, signature)
  } catch {
    return false
  }
}
