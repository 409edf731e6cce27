import { createHash, X509Certificate } from 'node:crypto'
import { BoundedMap } from '../../base/bounded-map.ts'
import { type CertificateFacts, decodePem, readCertificate } from '../../component-base/x509/index.ts'

export interface TrustedCertificate extends CertificateFacts {
  /** SHA-256 over the DER, hex. */
  readonly fingerprint: string
}

const REMEMBERED = 1024

/**
 * Tells certificates that one of some authorities has signed from all others. The handshake may have accepted more authorities than
 * these (a server that knows clients and front proxies takes both), so who signed decides what a certificate may claim. Answers are
 * remembered by fingerprint, bounded; times are checked on each call.
 */
export class TrustedCertificates {
  private readonly authorities: X509Certificate[]
  private readonly known = new BoundedMap<string, TrustedCertificate | undefined>(REMEMBERED)
  /** By the bytes themselves: a connection shows the same ones with each of its requests. */
  private readonly seen = new WeakMap<Uint8Array, { readonly facts: TrustedCertificate | undefined }>()

  /** @param pem one or more certificates */
  constructor(pem: string) {
    this.authorities = decodePem(pem)
      .filter((b) => b.type === 'CERTIFICATE')
      .map((b) => new X509Certificate(b.bytes))
  }

  /** Undefined: signed by someone else, or unreadable. @throws Error when out of its time */
  verify(der: Uint8Array, now: number): TrustedCertificate | undefined {
    let seen = this.seen.get(der)
    if (!seen) {
      seen = { facts: this.recall(der) }
      this.seen.set(der, seen)
    }
    const { facts } = seen
    if (!facts) return undefined
    if (now < facts.notBefore || now > facts.notAfter) throw new Error('x509: certificate has expired or is not yet valid')
    return facts
  }

  private recall(der: Uint8Array): TrustedCertificate | undefined {
    const fingerprint = createHash('sha256').update(der).digest('hex')
    let facts = this.known.get(fingerprint)
    if (facts === undefined && !this.known.has(fingerprint)) {
      facts = this.examine(der, fingerprint)
      this.known.set(fingerprint, facts)
    }
    return facts
  }

  private examine(der: Uint8Array, fingerprint: string): TrustedCertificate | undefined {
    try {
      const certificate = new X509Certificate(der)
      if (!this.authorities.some((ca) => certificate.checkIssued(ca) && certificate.verify(ca.publicKey))) return undefined
      return { ...readCertificate(der), fingerprint }
    } catch {
      return undefined
    }
  }
}
