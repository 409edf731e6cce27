import type { certificatesv1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, forbidden, invalid, notSupported, required, tooLong } from '../../apimachinery/field.ts'
import { quote } from '../../apimachinery/quote.ts'
import { isDNS1123Label, isDNS1123Subdomain } from '../../apimachinery/validation/names.ts'
import { deepEqual } from '../../base/index.ts'
import { decodePem, parseSigningRequest } from '../../component-base/x509/index.ts'

type Csr = certificatesv1.CertificateSigningRequest

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]
const spec = FieldPath.root('spec')
const status = FieldPath.root('status')
const decode = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString('utf8')

export function validateCsr(csr: Csr): ErrorList {
  const errors: ErrorList = []
  const { request, usages, signerName, expirationSeconds } = csr.spec
  const problem = requestProblem(decode(request))
  if (problem) errors.push(invalid(spec.child('request'), request ? request : undefined, problem))
  if (!usages?.length) errors.push(required(spec.child('usages')))
  const seen = new Set<string>()
  for (const [i, usage] of (usages ?? []).entries()) {
    if (!USAGES.includes(usage)) errors.push(notSupported(spec.child('usages').index(i), usage, USAGES))
    if (seen.has(usage)) errors.push(duplicate(spec.child('usages').index(i), usage))
    seen.add(usage)
  }
  if (signerName === 'kubernetes.io/legacy-unknown') {
    errors.push(invalid(spec.child('signerName'), signerName, 'the legacy signerName is not allowed via this API version'))
  } else {
    errors.push(...validateSignerName(signerName ?? '', spec.child('signerName')))
  }
  if (expirationSeconds !== undefined && expirationSeconds < 600) {
    errors.push(invalid(spec.child('expirationSeconds'), expirationSeconds, 'may not specify a duration less than 600 seconds (10 minutes)'))
  }
  errors.push(...validateConditions(csr.status?.conditions))
  if (csr.status?.certificate) {
    const text = certificateProblem(decode(csr.status.certificate))
    if (text) errors.push(invalid(status.child('certificate'), '<certificate data>', text))
  }
  return errors
}

function requestProblem(pem: string): string | undefined {
  try {
    return parseSigningRequest(pem).signatureValid ? undefined : 'x509: signature verification failed'
  } catch (error) {
    return (error as Error).message
  }
}

function certificateProblem(pem: string): string | undefined {
  const blocks = decodePem(pem)
  for (const { type, headers } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${quote(type)}`
    if (headers) return 'no PEM block headers are permitted'
  }
  return blocks.length ? undefined : 'must contain at least one CERTIFICATE PEM block'
}

/** `domain/path`: a domain of two segments or more and a path of dotted labels. */
export function validateSignerName(name: string, path: FieldPath): ErrorList {
  if (name === '') return [required(path)]
  const segments = name.split('/')
  if (segments.length !== 2) return [invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
  const [domain, rest] = segments as [string, string]
  const errors: ErrorList = []
  if (domain.length > 253) errors.push(tooLong(path, 253))
  const labels = domain.split('.')
  if (labels.length < 2) errors.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'))
  const check = (value: string, parts: readonly string[], rule: (part: string) => string[]) => {
    for (const part of parts) for (const text of rule(part)) errors.push(invalid(path, value, `validating label ${quote(part)}: ${text}`))
  }
  check(domain, labels, isDNS1123Label)
  check(rest, rest.split('.'), isDNS1123Subdomain)
  return errors
}

function validateConditions(conditions: readonly certificatesv1.CertificateSigningRequestCondition[] | undefined): ErrorList {
  const errors: ErrorList = []
  const path = status.child('conditions')
  const seen = new Set<string>()
  for (const [i, { type, status: state }] of (conditions ?? []).entries()) {
    const at = path.index(i)
    if (!type) errors.push(required(at.child('type')))
    else if (seen.has(type)) errors.push(duplicate(at.child('type'), type))
    if ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved'))) {
      errors.push(invalid(path, type, 'Approved and Denied conditions are mutually exclusive'))
    }
    seen.add(type)
    if (['Approved', 'Denied', 'Failed'].includes(type)) {
      if (!state) errors.push(required(at.child('status')))
      else if (state !== 'True') errors.push(notSupported(at.child('status'), state, ['True']))
    } else if (!state) {
      errors.push(required(at.child('status')))
    } else if (!['True', 'False', 'Unknown'].includes(state)) {
      errors.push(notSupported(at.child('status'), state, ['False', 'True', 'Unknown']))
    }
  }
  return errors
}

/** What an update may touch depends on the door it comes through. */
export function validateCsrUpdate(csr: Csr, old: Csr, may: { approve?: boolean; issue?: boolean }): ErrorList {
  const errors = validateCsr(csr)
  const of = (object: Csr, type: string) => (object.status?.conditions ?? []).filter((c) => c.type === type)
  for (const type of ['Approved', 'Denied', 'Failed']) {
    if (of(csr, type).length < of(old, type).length)
      errors.push(forbidden(status.child('conditions'), `updates may not remove a condition of type ${quote(type)}`))
  }
  if (!may.approve) {
    for (const type of ['Approved', 'Denied']) {
      const [now, before] = [of(csr, type), of(old, type)]
      if (now.length > before.length) errors.push(forbidden(status.child('conditions'), `updates may not add a condition of type ${quote(type)}`))
      else if (now.length === before.length && !deepEqual(now, before)) {
        errors.push(forbidden(status.child('conditions'), `updates may not modify a condition of type ${quote(type)}`))
      }
    }
  }
  const before = old.status?.certificate ?? ''
  if ((csr.status?.certificate ?? '') !== before) {
    if (!may.issue) errors.push(forbidden(status.child('certificate'), 'updates may not set certificate content'))
    else if (before !== '') errors.push(forbidden(status.child('certificate'), 'updates may not modify existing certificate content'))
  }
  return errors
}
