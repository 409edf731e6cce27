import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** JSON Web Tokens (RFC 7519) in compact form, signed by one of the algorithms upstream takes for service accounts. */
const algorithms: Readonly<Record<string, { hash: string; type: 'ec' | 'rsa'; curve?: string }>> = {
  RS256: { hash: 'sha256', type: 'rsa' },
  ES256: { hash: 'sha256', type: 'ec', curve: 'prime256v1' },
  ES384: { hash: 'sha384', type: 'ec', curve: 'secp384r1' },
  ES512: { hash: 'sha512', type: 'ec', curve: 'secp521r1' },
}

export interface VerificationKey {
  readonly key: KeyObject
  readonly algorithm: string
  /** Unpadded base64url SHA-256 over the PKIX DER. */
  readonly id: string
}

export interface SigningKey extends VerificationKey {
  readonly privateKey: KeyObject
}

/** @param pem a public key, or a private key whose public half is taken. @throws Error for an unsupported key */
export function verificationKey(pem: string): VerificationKey {
  const key = createPublicKey(pem)
  const algorithm = Object.keys(algorithms).find((name) => {
    const a = algorithms[name] as { type: string; curve?: string }
    return a.type === key.asymmetricKeyType && (a.curve === undefined || a.curve === key.asymmetricKeyDetails?.namedCurve)
  })
  if (!algorithm) throw new Error(`unknown public key type ${key.asymmetricKeyType}, must be *rsa.PublicKey or *ecdsa.PublicKey`)
  const id = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
  return { key, algorithm, id }
}

export function signingKey(pem: string): SigningKey {
  return { ...verificationKey(pem), privateKey: createPrivateKey(pem) }
}

const encodePart = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const hashOf = (algorithm: string) => (algorithms[algorithm] as { hash: string }).hash

export function signJwt(claims: object, key: SigningKey): string {
  const input = `${encodePart({ alg: key.algorithm, kid: key.id })}.${encodePart(claims)}`
  const signature = sign(hashOf(key.algorithm), Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

export interface DecodedJwt {
  readonly header: { readonly alg?: unknown; readonly kid?: unknown }
  readonly claims: Readonly<Record<string, unknown>>
  readonly input: string
  readonly signature: Uint8Array
}

const PART = /^[A-Za-z0-9_-]*$/

/** Takes a token apart without believing it; undefined when it is none. */
export function decodeJwt(token: string): DecodedJwt | undefined {
  const parts = token.split('.')
  if (parts.length !== 3 || !parts.every((p) => PART.test(p))) return undefined
  const [header, claims, signature] = parts as [string, string, string]
  const decoded = { header: parseObject(header), claims: parseObject(claims) }
  if (!decoded.header || !decoded.claims) return undefined
  return {
    header: decoded.header as DecodedJwt['header'],
    claims: decoded.claims,
    input: `${header}.${claims}`,
    signature: Buffer.from(signature, 'base64url'),
  }
}

function parseObject(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The algorithm is the key's: what the header says must agree, so that no token can choose how it is checked. */
export function verifyJwt(token: DecodedJwt, keys: readonly VerificationKey[]): boolean {
  const { alg, kid } = token.header
  for (const key of keys) {
    if (alg !== key.algorithm || (typeof kid === 'string' && kid !== '' && kid !== key.id)) continue
    try {
      if (verify(hashOf(key.algorithm), Buffer.from(token.input), { key: key.key, dsaEncoding: 'ieee-p1363' }, token.signature)) return true
    } catch {
      // A signature of a wrong form is a wrong signature.
    }
  }
  return false
}
