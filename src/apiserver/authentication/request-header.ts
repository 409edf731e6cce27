import type { Clock } from '../../base/clock.ts'
import type { Authenticator, Credentials } from './authenticator.ts'
import { asAuthenticated } from './groups.ts'
import { headerValues, unescapeExtraKey } from './headers.ts'
import { TrustedCertificates } from './trusted-certificates.ts'

export interface RequestHeaderOptions {
  /** PEM of the authorities that sign front proxies; never the ones of users. */
  readonly clientCa: string
  /** Common names that may speak for others; empty: any certificate of these authorities. */
  readonly allowedNames: readonly string[]
  readonly clock: Pick<Clock, 'now'>
}

/** Headers by which a front proxy names the user; a server takes them off every request. */
export const REMOTE_HEADERS = { user: 'x-remote-user', uid: 'x-remote-uid', group: 'x-remote-group', extraPrefix: 'x-remote-extra-' } as const

/** A user named by a front proxy that has proven itself by its own certificate. Without that certificate the headers are nothing. */
export function requestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  const trusted = new TrustedCertificates(options.clientCa)
  return {
    name: 'request-header',
    async authenticate(credentials: Credentials) {
      const { clientCertificate, headers } = credentials
      if (!clientCertificate) return undefined
      const certificate = trusted.verify(clientCertificate.raw, options.clock.now())
      if (!certificate) return undefined
      const { commonName } = certificate.subject
      if (options.allowedNames.length && !options.allowedNames.includes(commonName)) {
        throw new Error(`x509: subject with cn=${commonName} is not in the allowed list`)
      }
      const name = headers[REMOTE_HEADERS.user] ?? ''
      if (name === '') return undefined
      const uid = headers[REMOTE_HEADERS.uid]
      const extra = new Map<string, readonly string[]>()
      for (const header of Object.keys(headers)) {
        if (header.startsWith(REMOTE_HEADERS.extraPrefix)) {
          extra.set(unescapeExtraKey(header.slice(REMOTE_HEADERS.extraPrefix.length)), headerValues(headers[header]))
        }
      }
      return {
        user: asAuthenticated({
          name,
          groups: headerValues(headers[REMOTE_HEADERS.group]),
          ...(uid ? { uid } : {}),
          ...(extra.size ? { extra: Object.fromEntries(extra) } : {}),
        }),
      }
    },
  }
}
