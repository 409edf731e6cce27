import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isDNS1123Subdomain, validateLabelSelector } from '../../../../apimachinery/validation/index.ts'
import { VOLUME_FIELDS, validateObjectFieldSelector, validateResourceFieldSelector } from './env.ts'
import { validateFileMode, validateKeyToPath, validateLocalNonReservedPath } from './paths.ts'

const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519']
const MIN_TOKEN_SECONDS = 600
const MAX_TOKEN_SECONDS = 2 ** 32

/** Paths in these errors carry no index. */
export function validateDownwardAPIFile(file: DownwardAPIVolumeFile, path: FieldPath): ErrorList {
  const errs: ErrorList = file.path ? [] : [required(path.child('path'))]
  errs.push(...validateLocalNonReservedPath(file.path ?? '', path.child('path')))
  if (file.fieldRef) {
    errs.push(...validateObjectFieldSelector(file.fieldRef, VOLUME_FIELDS, path.child('fieldRef')))
    if (file.resourceFieldRef) errs.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'))
  } else if (file.resourceFieldRef) errs.push(...validateResourceFieldSelector(file.resourceFieldRef, path.child('resourceFieldRef'), true))
  else errs.push(required(path, 'one of fieldRef and resourceFieldRef is required'))
  return [...errs, ...validateFileMode(file.mode, path.child('mode'))]
}

function validateToken(token: ServiceAccountTokenProjection, path: FieldPath): ErrorList {
  const seconds = token.expirationSeconds ?? 0
  if (seconds < MIN_TOKEN_SECONDS) return [invalid(path.child('expirationSeconds'), seconds, 'may not specify a duration less than 10 minutes')]
  return seconds > MAX_TOKEN_SECONDS ? [invalid(path.child('expirationSeconds'), seconds, 'may not specify a duration larger than 2^32 seconds')] : []
}

function validateTrustBundle(bundle: ClusterTrustBundleProjection, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (bundle.name !== undefined && bundle.signerName !== undefined) return [invalid(path, bundle, 'only one of name and signerName may be used')]
  if (bundle.name !== undefined) {
    if (bundle.name === '') errs.push(required(path.child('name'), 'must be a valid object name'))
    else for (const m of isDNS1123Subdomain(bundle.name)) errs.push(invalid(path.child('name'), bundle.name, m))
    if (bundle.labelSelector) errs.push(invalid(path.child('labelSelector'), bundle.labelSelector, 'labelSelector must be unset if name is specified'))
  } else if (bundle.signerName !== undefined) {
    if (bundle.signerName === '') errs.push(required(path.child('signerName'), 'must be a valid signer name'))
    errs.push(...validateLabelSelector(bundle.labelSelector, path.child('labelSelector')))
  } else errs.push(required(path, 'either name or signerName must be specified'))
  return errs
}

function validateCertificate(certificate: PodCertificateProjection, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!certificate.keyType || !KEY_TYPES.includes(certificate.keyType)) errs.push(notSupported(path.child('keyType'), certificate.keyType ?? '', KEY_TYPES))
  const seconds = certificate.maxExpirationSeconds
  if (seconds !== undefined && seconds < 3600)
    errs.push(invalid(path.child('maxExpirationSeconds'), seconds, 'if provided, maxExpirationSeconds must be >= 3600'))
  if (!certificate.credentialBundlePath && !certificate.keyPath && !certificate.certificateChainPath) {
    errs.push(required(path, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath'))
  }
  return errs
}

/** The files of all sources share one directory, so no path may come twice. */
export function validateProjected(projected: ProjectedVolumeSource, path: FieldPath): ErrorList {
  const errs = validateFileMode(projected.defaultMode, path.child('defaultMode'))
  const taken = new Set<string>()
  const claim = (file: string | undefined, owner: string) => {
    if (!file) return
    if (taken.has(file)) errs.push(invalid(path, owner, 'conflicting duplicate paths'))
    taken.add(file)
  }
  projected.sources?.forEach((source: VolumeProjection, i) => {
    const at = path.child('sources').index(i)
    let sources = 0
    const one = (name: keyof VolumeProjection, check: (own: FieldPath) => void) => {
      if (!source[name]) return
      if (sources > 0) errs.push(forbidden(at.child(name), 'may not specify more than 1 volume type per source'))
      else {
        sources++
        check(at.child(name))
      }
    }
    for (const name of ['secret', 'configMap'] as const) {
      one(name, (own) => {
        const files = source[name]
        if (!files?.name) errs.push(required(own.child('name')))
        files?.items?.forEach((item, j) => {
          errs.push(...validateKeyToPath(item, own.child('items').index(j)))
          claim(item.path, files.name ?? '')
        })
      })
    }
    one('downwardAPI', (own) => {
      for (const file of source.downwardAPI?.items ?? []) {
        errs.push(...validateDownwardAPIFile(file, own))
        claim(file.path, file.path)
      }
    })
    const single = (file: string | undefined, owner: string) => {
      if (!file) errs.push(required(path.child('path')))
      else {
        errs.push(...validateLocalNonReservedPath(file, path.child('path')))
        claim(file, owner)
      }
    }
    one('serviceAccountToken', (own) => {
      const token = source.serviceAccountToken as ServiceAccountTokenProjection
      errs.push(...validateToken(token, own))
      single(token.path, token.path)
    })
    one('clusterTrustBundle', (own) => {
      const bundle = source.clusterTrustBundle as ClusterTrustBundleProjection
      errs.push(...validateTrustBundle(bundle, own))
      if (!bundle.path) errs.push(required(own.child('path')))
      errs.push(...validateLocalNonReservedPath(bundle.path ?? '', own.child('path')))
      claim(bundle.path, bundle.path)
    })
    one('podCertificate', (own) => {
      const certificate = source.podCertificate as PodCertificateProjection
      errs.push(...validateCertificate(certificate, own))
      for (const name of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
        const file = certificate[name]
        if (!file) continue
        errs.push(...validateLocalNonReservedPath(file, own.child(name)))
        claim(file, file)
      }
    })
  })
  return errs
}
