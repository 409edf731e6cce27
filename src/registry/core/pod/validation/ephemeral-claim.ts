import type { EphemeralVolumeSource, PersistentVolumeClaimSpec } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isDNS1123Subdomain, validateAnnotations, validateLabelSelector, validateLabels } from '../../../../apimachinery/validation/index.ts'
import { parseAmount } from '../../../../component-helpers/amounts.ts'

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const VOLUME_MODES = ['Block', 'Filesystem']

function validateDataSource(source: { apiGroup?: string; kind?: string; name?: string }, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!source.name) errs.push(required(path.child('name')))
  if (!source.kind) errs.push(required(path.child('kind')))
  if (!source.apiGroup && source.kind !== 'PersistentVolumeClaim')
    errs.push(invalid(path, source.kind ?? '', "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
  if (source.apiGroup) for (const m of isDNS1123Subdomain(source.apiGroup)) errs.push(invalid(path.child('apiGroup'), source.apiGroup, m))
  return errs
}

/** The spec of a claim for storage, wherever it stands. */
export function validateClaimSpec(spec: PersistentVolumeClaimSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const modes = spec.accessModes ?? []
  if (modes.length === 0) errs.push(required(path.child('accessModes'), 'at least 1 access mode is required'))
  errs.push(...validateLabelSelector(spec.selector, path.child('selector')))
  for (const mode of modes) if (!ACCESS_MODES.includes(mode)) errs.push(notSupported(path.child('accessModes'), mode, ACCESS_MODES))
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    errs.push(forbidden(path.child('accessModes'), 'may not use ReadWriteOncePod with other access modes'))
  }
  const storage = spec.resources?.requests?.storage
  const at = path.child('resources').key('storage')
  if (storage === undefined) errs.push(required(at))
  else if (parseAmount(storage).nano <= 0n) errs.push(invalid(at, storage, 'must be greater than zero'))
  if (spec.storageClassName) {
    for (const m of isDNS1123Subdomain(spec.storageClassName)) errs.push(invalid(path.child('storageClassName'), spec.storageClassName, m))
  }
  if (spec.volumeMode !== undefined && !VOLUME_MODES.includes(spec.volumeMode)) errs.push(notSupported(path.child('volumeMode'), spec.volumeMode, VOLUME_MODES))
  if (spec.dataSource) errs.push(...validateDataSource(spec.dataSource, path.child('dataSource')))
  if (spec.dataSourceRef) errs.push(...validateDataSource(spec.dataSourceRef, path.child('dataSourceRef')))
  if (spec.volumeAttributesClassName) {
    for (const m of isDNS1123Subdomain(spec.volumeAttributesClassName))
      errs.push(invalid(path.child('volumeAttributesClassName'), spec.volumeAttributesClassName, m))
  }
  return errs
}

/** A claim made with the Pod (KEP-1698): labels and annotations are all of its metadata that may be set. */
export function validateEphemeralClaim(source: EphemeralVolumeSource, path: FieldPath): ErrorList {
  const template = source.volumeClaimTemplate
  const at = path.child('volumeClaimTemplate')
  if (!template) return [required(at)]
  const meta = template.metadata ?? {}
  const errs = validateAnnotations(meta.annotations, at.child('metadata', 'annotations'))
  errs.push(...validateLabels(meta.labels, at.child('metadata', 'labels')))
  for (const [name, value] of Object.entries(meta)) {
    if (name === 'labels' || name === 'annotations' || value === undefined || value === null || value === '') continue
    errs.push(forbidden(at.child('metadata').child(name), 'cannot be set for an ephemeral volume'))
  }
  return [...errs, ...validateClaimSpec(template.spec, at.child('spec'))]
}
