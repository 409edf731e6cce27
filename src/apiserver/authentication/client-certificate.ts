import type { Clock } from '../../base/clock.ts'
import type { Authenticator } from './authenticator.ts'
import { asAuthenticated } from './groups.ts'
import { TrustedCertificates } from './trusted-certificates.ts'

export interface ClientCertificateOptions {
  /** PEM of the authorities whose certificates are users. */
  readonly clientCa: string
  readonly clock: Pick<Clock, 'now'>
}

/** A verified client certificate as a user: common name and organizations. Certificates of other authorities are nothing to it. */
export function clientCertificateAuthenticator(options: ClientCertificateOptions): Authenticator {
  const trusted = new TrustedCertificates(options.clientCa)
  return {
    name: 'client-certificate',
    async authenticate({ clientCertificate }) {
      if (!clientCertificate) return undefined
      const certificate = trusted.verify(clientCertificate.raw, options.clock.now())
      if (!certificate || certificate.subject.commonName === '') return undefined
      const { commonName, organizations, uid } = certificate.subject
      return {
        user: asAuthenticated({
          name: commonName,
          groups: organizations,
          ...(uid === undefined ? {} : { uid }),
          extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint}`] },
        }),
      }
    },
  }
}
