import type { VerificationKey } from './jwt.ts'

export interface OpenIdDocument {
  readonly path: string
  readonly contentType: string
  readonly cacheControl: string
  readonly body: string
}

/**
 * What relying parties read to check service-account tokens themselves (OpenID Connect Discovery 1.0).
 * @param jwksUri where `/openid/v1/jwks` is reached from outside
 */
export function openIdDocuments(issuer: string, jwksUri: string, keys: readonly VerificationKey[]): OpenIdDocument[] {
  const cacheControl = 'public, max-age=3600'
  const algorithms = [...new Set(keys.map((k) => k.algorithm))].sort()
  const configuration = {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithms,
  }
  return [
    { path: '/.well-known/openid-configuration', contentType: 'application/json', cacheControl, body: JSON.stringify(configuration) },
    { path: '/openid/v1/jwks', contentType: 'application/jwk-set+json', cacheControl, body: JSON.stringify({ keys: keys.map(jsonWebKey) }) },
  ]
}

function jsonWebKey(key: VerificationKey): Record<string, unknown> {
  const { kty, crv, x, y, n, e } = key.key.export({ format: 'jwk' })
  const all = { use: 'sig', kty, kid: key.id, crv, alg: key.algorithm, x, y, n, e }
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined))
}
