/** Who makes a request. Groups always hold system:authenticated or system:unauthenticated. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What of a connection tells who it is. */
export interface Credentials {
  /** The verified leaf certificate of a TLS client, DER, and its subject. */
  readonly clientCertificate?: { readonly commonName: string; readonly organizations: readonly string[]; readonly raw: Uint8Array }
  /** The token of `Authorization: Bearer`, also from a WebSocket subprotocol. */
  readonly bearerToken?: string
  /** In-process callers are introduced by whoever built the cluster. */
  readonly inProcessUser?: UserInfo
  readonly headers: Readonly<Record<string, string | undefined>>
}

/**
 * Undefined: these credentials are nothing to this authenticator, the next one is asked. A throw: credentials were meant for it and
 * are wrong; when no other accepts, the answer is 401.
 */
export interface Authenticator {
  readonly name: string
  authenticate(credentials: Credentials): Promise<{ user: UserInfo; audiences?: readonly string[] } | undefined>
}
