import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported } from '../../../apimachinery/field.ts'
import { sortedKeys } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { deepCopy } from '../../../base/index.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { compareQuantities, parseAmount, wholeValue } from '../../../component-helpers/amounts.ts'
import { columnList } from '../../columns.ts'
import { accessModesText, storageClassOf } from '../persistent-volume/kind.ts'
import { validateAccessModes } from '../persistent-volume/validation.ts'
import { validateClaimSpec } from '../pod/validation/ephemeral-claim.ts'
import { isIntegerResource } from '../pod/validation/resources.ts'
import { specDifference } from '../pod/validation/spec-difference.ts'
import { setClaimSpecDefaults } from '../pod/volume-defaults.ts'
import { fractionalBytes } from '../pod/warnings.ts'

type Claim = PersistentVolumeClaim

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class'
const IMMUTABLE = 'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
const RESIZE_STATES = ['ControllerResizeInProgress', 'ControllerResizeInfeasible', 'NodeResizeInProgress', 'NodeResizeInfeasible', 'NodeResizePending']

/** dataSource knows claims and snapshots alone; anything else there was always dropped in silence. */
function dropUnknownSource(spec: PersistentVolumeClaimSpec): void {
  const source = spec.dataSource
  if (!source || spec.dataSourceRef) return
  const group = source.apiGroup ?? ''
  const known = (group === '' && source.kind === 'PersistentVolumeClaim') || (group === 'snapshot.storage.k8s.io' && source.kind === 'VolumeSnapshot')
  if (!known && !(group === '' && source.kind === '')) delete spec.dataSource
}

/** Either of the two fields stands for both. */
function normalizeSources(spec: PersistentVolumeClaimSpec): void {
  if (spec.dataSource && !spec.dataSourceRef) spec.dataSourceRef = deepCopy(spec.dataSource)
  else if (spec.dataSourceRef && !spec.dataSource && !spec.dataSourceRef.namespace) spec.dataSource = deepCopy(spec.dataSourceRef)
}

function prepareSpec({ spec }: Claim): void {
  // Sources in other namespaces are an alpha feature (CrossNamespaceVolumeDataSource): the whole reference goes.
  if (spec.dataSourceRef?.namespace) delete spec.dataSourceRef
  dropUnknownSource(spec)
  normalizeSources(spec)
}

function validate({ spec }: Claim): ErrorList {
  const errors = validateClaimSpec(spec, SPEC)
  if (spec.dataSource && spec.dataSourceRef && !deepEqual(spec.dataSource, spec.dataSourceRef)) errors.push(invalid(SPEC, {}, 'must match dataSourceRef'))
  return errors
}

/** Sets or drops a field so that it is as the other has it. */
function take<K extends keyof PersistentVolumeClaimSpec>(to: PersistentVolumeClaimSpec, from: PersistentVolumeClaimSpec, name: K): void {
  if (from[name] === undefined) delete to[name]
  else to[name] = from[name]
}

function takeRequests(to: PersistentVolumeClaimSpec, from: PersistentVolumeClaimSpec): void {
  const storage = from.resources?.requests?.['storage']
  if (storage !== undefined && to.resources?.requests) to.resources.requests['storage'] = storage
}

function validateUpdate(claim: Claim, old: Claim): ErrorList {
  const errors = validate(claim)
  const { spec } = claim
  const munged = deepCopy(spec)
  const before = deepCopy(old.spec)
  if (!old.spec.volumeName) take(before, munged, 'volumeName')
  const bound = old.status.phase === 'Bound'
  if (bound) {
    takeRequests(munged, before)
    take(munged, before, 'volumeAttributesClassName')
  }
  const annotation = claim.metadata.annotations?.[STORAGE_CLASS]
  // A class may be given once, when there was none; the annotation counts as one.
  const classless = old.spec.storageClassName === undefined && !old.metadata.annotations?.[STORAGE_CLASS]
  if (classless || (old.spec.storageClassName === undefined && spec.storageClassName === old.metadata.annotations?.[STORAGE_CLASS])) {
    take(before, munged, 'storageClassName')
  }
  if (!deepEqual(munged, before)) errors.push(forbidden(SPEC, `${IMMUTABLE}\n${specDifference('PersistentVolumeClaimSpec', before, munged)}`))
  if (bound) {
    const [now, then] = [spec.resources?.requests?.['storage'], old.spec.resources?.requests?.['storage']]
    if (now !== undefined && then !== undefined && compareQuantities(now, then) < 0 && compareQuantities(now, old.status.capacity?.['storage']) <= 0) {
      errors.push(forbidden(SPEC.child('resources', 'requests', 'storage'), 'field can not be less than status.capacity'))
    }
  }
  if (old.metadata.annotations?.[STORAGE_CLASS] !== undefined && annotation !== old.metadata.annotations[STORAGE_CLASS]) {
    errors.push(invalid(FieldPath.root('metadata', 'annotations', STORAGE_CLASS), annotation ?? '', 'field is immutable'))
  }
  if (spec.volumeMode !== old.spec.volumeMode) errors.push(invalid(FieldPath.root('volumeMode'), spec.volumeMode, 'field is immutable'))
  if (old.status.currentVolumeAttributesClassName !== undefined && bound) {
    const at = SPEC.child('volumeAttributesClassName')
    const when = 'is forbidden when status.currentVolumeAttributesClassName is not nil'
    if (spec.volumeAttributesClassName === undefined) errors.push(forbidden(at, `update to nil ${when}`))
    else if (spec.volumeAttributesClassName === '') errors.push(forbidden(at, `update to empty string ${when}`))
  }
  return errors
}

function quantityErrors(list: Readonly<Record<string, string>> | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  for (const name of sortedKeys(list)) {
    const quantity = list?.[name] ?? '0'
    if (parseAmount(quantity).nano < 0n) errors.push(invalid(path.key(name), wholeValue(quantity), 'must be a valid resource quantity'))
    else if (isIntegerResource(name) && parseAmount(quantity).nano % 1_000_000_000n !== 0n) errors.push(invalid(path.key(name), quantity, 'must be an integer'))
  }
  return errors
}

function validateStatus({ status }: Claim): ErrorList {
  const errors: ErrorList = validateAccessModes(status.accessModes ?? [], STATUS.child('accessModes')).filter((e) => e.type === 'FieldValueNotSupported')
  errors.push(...quantityErrors(status.capacity, STATUS.child('capacity')))
  const at = STATUS.child('allocatedResourceStatuses')
  for (const name of sortedKeys(status.allocatedResourceStatuses)) {
    if (name !== 'storage') errors.push(notSupported(at, name, ['storage']))
    else if (!RESIZE_STATES.includes(status.allocatedResourceStatuses?.[name] as string)) errors.push(notSupported(at, name, RESIZE_STATES))
  }
  for (const name of sortedKeys(status.allocatedResources)) {
    if (name !== 'storage') errors.push(notSupported(STATUS.child('allocatedResources'), name, ['storage']))
  }
  errors.push(...quantityErrors(status.allocatedResources, STATUS.child('allocatedResources')))
  return errors
}

function warnings({ metadata, spec }: Claim): string[] {
  const out: string[] = []
  if (metadata.annotations?.[STORAGE_CLASS] !== undefined)
    out.push(`metadata.annotations[${STORAGE_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead`)
  for (const list of ['limits', 'requests'] as const) out.push(...fractionalBytes(spec.resources?.[list], ['storage'], SPEC.child('resources', list)))
  return out
}

export const persistentVolumeClaimKind: KindRegistration<Claim> = {
  group: '',
  resource: 'persistentvolumeclaims',
  storage: { group: '', version: 'v1', kind: 'PersistentVolumeClaim' },
  strategy: {
    defaults: ({ spec }) => setClaimSpecDefaults(spec),
    prepareForCreate(claim) {
      claim.status = { phase: 'Pending' }
      prepareSpec(claim)
    },
    validate,
    warningsOnCreate: warnings,
    prepareForUpdate(claim, old) {
      claim.status = deepCopy(old.status)
      if (!old.spec.dataSource && !old.spec.dataSourceRef) prepareSpec(claim)
      else normalizeSources(claim.spec)
    },
    validateUpdate,
    warningsOnUpdate: warnings,
  },
  status: {
    prepareForUpdate(claim, old) {
      claim.spec = deepCopy(old.spec)
    },
    validateUpdate: validateStatus,
  },
  columns: {
    columns: columnList('Name/name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*'),
    cells: (claim, now) => {
      const { metadata, spec, status } = claim
      const bound = Boolean(spec.volumeName)
      return [
        metadata.name,
        metadata.deletionTimestamp ? 'Terminating' : (status.phase ?? ''),
        spec.volumeName ?? '',
        bound ? (status.capacity?.['storage'] ?? '0') : '',
        bound ? accessModesText(status.accessModes) : '',
        storageClassOf(claim),
        spec.volumeAttributesClassName || '<unset>',
        ageOf(metadata.creationTimestamp, now),
        spec.volumeMode ?? '<unset>',
      ]
    },
  },
}
