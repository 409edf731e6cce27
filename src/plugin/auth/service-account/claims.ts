import { isObject } from '../../../base/deep-freeze.ts'
/** What a bound service-account token says (KEP-1205); keys in the order they are written. */
export interface TokenClaims {
  aud: string[]
  exp: number
  iat: number
  iss: string
  jti: string
  'kubernetes.io': PrivateClaims
  nbf: number
  sub: string
}

export interface ObjectClaim {
  name: string
  uid?: string
}

export interface PrivateClaims {
  namespace: string
  node?: ObjectClaim
  pod?: ObjectClaim
  secret?: ObjectClaim
  serviceaccount: ObjectClaim
  /** Seconds since the epoch: the holder should have renewed by then. Only on extended tokens. */
  warnafter?: number
}

const isSeconds = (v: unknown): v is number => typeof v === 'number' && Number.isFinite(v)
const isRef = (v: unknown): v is ObjectClaim => isObject(v) && typeof v.name === 'string' && (v.uid === undefined || typeof v.uid === 'string')
const isOptionalRef = (v: unknown) => v === undefined || isRef(v)

/** Undefined when the claims have another shape. `aud` may be one string (RFC 7519, 4.1.3). */
export function tokenClaims(raw: Readonly<Record<string, unknown>>): TokenClaims | undefined {
  const aud = typeof raw.aud === 'string' ? [raw.aud] : raw.aud
  const own = raw['kubernetes.io']
  if (!Array.isArray(aud) || !aud.every((a) => typeof a === 'string')) return undefined
  if (typeof raw.sub !== 'string' || typeof raw.iss !== 'string' || !isSeconds(raw.exp)) return undefined
  if (!(raw.nbf === undefined || isSeconds(raw.nbf)) || !(raw.iat === undefined || isSeconds(raw.iat))) return undefined
  if (!isObject(own) || typeof own.namespace !== 'string' || !isRef(own.serviceaccount)) return undefined
  if (!isOptionalRef(own.pod) || !isOptionalRef(own.secret) || !isOptionalRef(own.node)) return undefined
  if (!(own.warnafter === undefined || isSeconds(own.warnafter))) return undefined
  return {
    aud,
    exp: raw.exp,
    iat: (raw.iat as number | undefined) ?? 0,
    iss: raw.iss,
    jti: typeof raw.jti === 'string' ? raw.jti : '',
    'kubernetes.io': own as unknown as PrivateClaims,
    nbf: (raw.nbf as number | undefined) ?? 0,
    sub: raw.sub,
  }
}
