import type { CertificateSigningRequest } from '../../api/certificates/v1/types.generated.ts'
import { parseSigningRequest, type SigningRequest } from '../../component-base/x509/request.ts'

const CLIENT_USAGES = new Set(['client auth', 'digital signature', 'key encipherment'])
const SERVING_USAGES = new Set(['server auth', 'digital signature', 'key encipherment'])

/** The request inside the object. Throws what the parser throws. */
export function requestOf(csr: CertificateSigningRequest): SigningRequest {
  return parseSigningRequest(Buffer.from(csr.spec.request ?? '', 'base64').toString('utf8'))
}

export const isApproved = (csr: CertificateSigningRequest): boolean => has(csr, 'Approved') && !has(csr, 'Denied')
export const has = (csr: CertificateSigningRequest, type: string): boolean => csr.status?.conditions?.some((c) => c.type === type) ?? false

function isNode(request: SigningRequest): boolean {
  const { organizations, commonName } = request.subject
  return organizations.length === 1 && organizations[0] === 'system:nodes' && commonName.startsWith('system:node:')
}

function usagesAre(csr: CertificateSigningRequest, wanted: string, allowed: ReadonlySet<string>): boolean {
  const usages = csr.spec.usages ?? []
  return usages.includes(wanted) && usages.includes('digital signature') && usages.every((u) => allowed.has(u))
}

/** Why this is no kubelet's client certificate; undefined when it is. */
export function kubeletClientFault(csr: CertificateSigningRequest, request: SigningRequest): string | undefined {
  const { dns, ips, emails, uris } = request.names
  if (request.subject.organizations.length !== 1 || request.subject.organizations[0] !== 'system:nodes') return 'subject organization is not system:nodes'
  if (dns.length) return 'DNS subjectAltNames are not allowed'
  if (emails.length) return 'Email subjectAltNames are not allowed'
  if (ips.length) return 'IP subjectAltNames are not allowed'
  if (uris.length) return 'URI subjectAltNames are not allowed'
  if (!request.subject.commonName.startsWith('system:node:')) return 'subject common name does not begin with system:node:'
  if (!usagesAre(csr, 'client auth', CLIENT_USAGES)) return 'usages did not match [client auth digital signature]'
  return undefined
}

/** Why this is no kubelet's serving certificate; undefined when it is. */
export function kubeletServingFault(csr: CertificateSigningRequest, request: SigningRequest): string | undefined {
  const { dns, ips, emails, uris } = request.names
  if (!isNode(request)) return 'subject organization is not system:nodes'
  if (dns.length + ips.length === 0) return 'DNS or IP subjectAltName is required'
  if (emails.length) return 'Email subjectAltNames are not allowed'
  if (uris.length) return 'URI subjectAltNames are not allowed'
  if (!usagesAre(csr, 'server auth', SERVING_USAGES)) return 'usages did not match [digital signature server auth]'
  return undefined
}
