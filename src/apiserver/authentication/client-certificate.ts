import type { Clock } from '../../base/clock.ts'
import type { Authenticator, UserInfo } from './authenticator.ts'
import { asAuthenticated } from './groups.ts'
import { type TrustedCertificate, TrustedCertificates } from './trusted-certificates.ts'

export interface ClientCertificateOptions {
  /** PEM of the authorities whose certificates are users. */
  readonly clientCa: string
  readonly clock: Pick<Clock, 'now'>
}

/** A verified client certificate as a user: common name and organizations. Certificates of other authorities are nothing to it. */
export function clientCertificateAuthenticator(options: ClientCertificateOptions): Authenticator {
  const trusted = new TrustedCertificates(options.clientCa)
  // One user per certificate: what others remember of a user, they remember by the object.
  const users = new WeakMap<TrustedCertificate, { readonly user: UserInfo }>()
  return {
    name: 'client-certificate',
    async authenticate({ clientCertificate }) {
      if (!clientCertificate) return undefined
      const certificate = trusted.verify(clientCertificate.raw, options.clock.now())
      if (!certificate || certificate.subject.commonName === '') return undefined
      const known = users.get(certificate)
      if (known) return known
      const { commonName, organizations, uid } = certificate.subject
      const made = {
        user: asAuthenticated({
          name: commonName,
          groups: organizations,
          ...(uid === undefined ? {} : { uid }),
          extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint}`] },
        }),
      }
      users.set(certificate, made)
      return made
    },
  }
}
