import type { Authenticator, UserInfo } from './authenticator.ts'
import { asAuthenticated } from './groups.ts'

export interface TokenAuthentication {
  readonly user: UserInfo
  /** Those of the wanted audiences that the token is for. */
  readonly audiences: readonly string[]
}

/** Knows one sort of bearer tokens. Undefined: not one of them. A throw: one of them, and not valid; the message may be shown to reviewers. */
export interface TokenAuthenticator {
  readonly name: string
  authenticateToken(token: string, audiences: readonly string[]): Promise<TokenAuthentication | undefined>
}

export const INVALID_BEARER_TOKEN = 'invalid bearer token'

/** No token authenticator took the token; `causes` says why, for TokenReview. */
export class InvalidBearerTokenError extends Error {
  readonly causes: readonly string[]
  constructor(causes: readonly string[]) {
    super(causes.length === 0 ? INVALID_BEARER_TOKEN : `[${[INVALID_BEARER_TOKEN, ...causes].join(', ')}]`)
    this.name = 'InvalidBearerTokenError'
    this.causes = causes
  }
}

/** Longer ones are refused unseen. */
const MAX_TOKEN_LENGTH = 64 * 1024

/** Asks in order. @throws InvalidBearerTokenError when none takes the token */
export async function authenticateToken(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[],
): Promise<TokenAuthentication> {
  const causes: string[] = []
  if (token.length <= MAX_TOKEN_LENGTH) {
    for (const authenticator of authenticators) {
      try {
        const found = await authenticator.authenticateToken(token, audiences)
        if (found) return { ...found, user: asAuthenticated(found.user) }
      } catch (error) {
        causes.push(error instanceof Error ? error.message : String(error))
      }
    }
  }
  throw new InvalidBearerTokenError(causes)
}

/** The bearer token of a request, for the API's own audiences. */
export function bearerTokenAuthenticator(authenticators: readonly TokenAuthenticator[], apiAudiences: readonly string[]): Authenticator {
  return {
    name: 'bearer-token',
    async authenticate({ bearerToken }) {
      if (bearerToken === undefined || bearerToken === '') return undefined
      return authenticateToken(authenticators, bearerToken, apiAudiences)
    },
  }
}

const PROTOCOL_PREFIX = 'base64url.bearer.authorization.k8s.io.'

/** The token of `Authorization: Bearer …`; the scheme's case does not matter. */
export function tokenFromAuthorization(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [scheme = '', token = ''] = header.trim().split(' ')
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined
}

/**
 * The token a browser's WebSocket carries as a subprotocol, and the subprotocols that are left for the handler. Undefined when there is none.
 * @param header `Sec-WebSocket-Protocol`
 */
export function tokenFromWebSocketProtocols(header: string | undefined): { token: string; rest: string[] } | undefined {
  if (header === undefined) return undefined
  let token: string | undefined
  const rest: string[] = []
  for (const protocol of header.split(',').map((p) => p.trim())) {
    if (!protocol.startsWith(PROTOCOL_PREFIX)) {
      rest.push(protocol)
      continue
    }
    const encoded = protocol.slice(PROTOCOL_PREFIX.length)
    if (token !== undefined || !/^[A-Za-z0-9_-]+$/.test(encoded)) return undefined
    token = Buffer.from(encoded, 'base64url').toString('utf8')
  }
  // The handler must have a protocol to agree on, else the handshake would fail in every browser.
  return token === undefined || rest.length === 0 ? undefined : { token, rest }
}
