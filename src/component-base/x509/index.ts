export {
  type CertificateFacts,
  type CertificateTemplate,
  certificateDer,
  generateKey,
  type Issuer,
  issueKeyPair,
  issuerOf,
  type KeyPair,
  privateKeyPem,
  publicKeyDer,
  publicKeyPem,
  readCertificate,
  signCertificate,
} from './certificate.ts'
export { DerError } from './der.ts'
export type { AlternativeNames, ExtendedKeyUsage, KeyUsage } from './extensions.ts'
export type { DistinguishedName } from './name.ts'
export { decodePem, encodePem, type PemBlock } from './pem.ts'
export { createSigningRequest, parseSigningRequest, readSigningRequest, type SigningRequest } from './request.ts'
