import type { corev1, storagev1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, forbidden, invalid, notSupported, required, tooLong } from '../../apimachinery/field.ts'
import { byteLength, isQualifiedName, sortedKeys, validateLabelName } from '../../apimachinery/validation/index.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../base/index.ts'
import { ageOf } from '../../component-helpers/age.ts'
import { columnList } from '../columns.ts'

type StorageClass = storagev1.StorageClass
type VolumeAttributesClass = storagev1.VolumeAttributesClass

const MAX_PARAMETERS = 512
const MAX_PARAMETER_BYTES = 256 * 1024
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer']
const DEFAULT_CLASS = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class']
const at = FieldPath.root

/** Names of provisioners are qualified names, in any case of letters. */
export function validateProvisioner(name: string, path: FieldPath): ErrorList {
  if (name === '') return [required(path)]
  return isQualifiedName(name.toLowerCase()).map((m) => invalid(path, name, m))
}

export function validateParameters(parameters: Readonly<Record<string, string>> | undefined, path: FieldPath, allowEmpty: boolean): ErrorList {
  const names = sortedKeys(parameters)
  if (names.length > MAX_PARAMETERS) return [tooLong(path, MAX_PARAMETERS)]
  const errors: ErrorList = []
  let size = 0
  for (const name of names) {
    if (name === '') errors.push(invalid(path, name, 'field can not be empty.'))
    size += byteLength(name) + byteLength(parameters?.[name] ?? '')
  }
  if (size > MAX_PARAMETER_BYTES) errors.push(tooLong(path, MAX_PARAMETER_BYTES))
  if (!allowEmpty && names.length === 0) errors.push(required(path, 'must contain at least one key/value pair'))
  return errors
}

/** Key to values of one term, as text that is equal for equal terms. */
const shapeOf = (term: corev1.TopologySelectorTerm): string =>
  JSON.stringify((term.matchLabelExpressions ?? []).map(({ key, values }) => [key, [...(values ?? [])].sort()]).sort())

function validateTopologies(terms: readonly corev1.TopologySelectorTerm[] | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, term] of (terms ?? []).entries()) {
    const list = path.index(i).child('matchLabelExpressions')
    const keys = new Set<string>()
    let sound = true
    for (const [j, { key, values = [] }] of (term.matchLabelExpressions ?? []).entries()) {
      const own: ErrorList = []
      const here = list.index(j)
      if (values.length === 0) own.push(required(here.child('values')))
      const known = new Set<string>()
      values.forEach((value, k) => {
        if (known.has(value)) own.push(duplicate(here.child('values').index(k), value))
        known.add(value)
      })
      own.push(...validateLabelName(key, here.child('key')))
      if (keys.has(key)) own.push(duplicate(here.child('key'), key))
      keys.add(key)
      if (own.length) sound = false
      errors.push(...own)
    }
    const shape = shapeOf(term)
    if (sound && seen.has(shape)) errors.push(duplicate(list, ''))
    seen.add(shape)
  }
  return errors
}

function validateClass(item: StorageClass): ErrorList {
  const errors = validateProvisioner(item.provisioner ?? '', at('provisioner'))
  errors.push(...validateParameters(item.parameters, at('parameters'), true))
  const policy = item.reclaimPolicy
  if (policy && policy !== 'Delete' && policy !== 'Retain') errors.push(notSupported(at('reclaimPolicy'), policy, ['Delete', 'Retain']))
  const mode = item.volumeBindingMode
  if (mode === undefined) errors.push(required(at('volumeBindingMode')))
  else if (!BINDING_MODES.includes(mode)) errors.push(notSupported(at('volumeBindingMode'), mode, BINDING_MODES))
  return [...errors, ...validateTopologies(item.allowedTopologies, at('allowedTopologies'))]
}

export const storageClassKind: KindRegistration<StorageClass> = {
  group: 'storage.k8s.io',
  resource: 'storageclasses',
  storage: { group: 'storage.k8s.io', version: 'v1', kind: 'StorageClass' },
  strategy: {
    defaults(item) {
      item.reclaimPolicy ??= 'Delete'
      item.volumeBindingMode ??= 'Immediate'
    },
    validate: validateClass,
    validateUpdate(item, old) {
      const errors: ErrorList = validateClass(item)
      if (!deepEqual(item.parameters ?? {}, old.parameters ?? {})) errors.push(invalid(at('parameters'), item.parameters ?? null, 'field is immutable'))
      for (const field of ['provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const) {
        if (item[field] !== old[field]) errors.push(invalid(at(field), item[field], 'field is immutable'))
      }
      return errors
    },
  },
  columns: {
    columns: columnList('Name/name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age'),
    cells: (item, now) => [
      `${item.metadata.name ?? ''}${DEFAULT_CLASS.some((a) => item.metadata.annotations?.[a] === 'true') ? ' (default)' : ''}`,
      item.provisioner,
      item.reclaimPolicy ?? 'Delete',
      item.volumeBindingMode ?? 'Immediate',
      item.allowVolumeExpansion ?? false,
      ageOf(item.metadata.creationTimestamp, now),
    ],
  },
}

export const volumeAttributesClassKind: KindRegistration<VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  resource: 'volumeattributesclasses',
  storage: { group: 'storage.k8s.io', version: 'v1', kind: 'VolumeAttributesClass' },
  strategy: {
    validate: (item) => [...validateProvisioner(item.driverName ?? '', at('driverName')), ...validateParameters(item.parameters, at('parameters'), false)],
    validateUpdate(item, old) {
      const errors: ErrorList = []
      if (item.driverName !== old.driverName) errors.push(forbidden(at('driverName'), 'updates to driverName are forbidden.'))
      if (!deepEqual(item.parameters ?? {}, old.parameters ?? {})) errors.push(forbidden(at('parameters'), 'updates to parameters are forbidden.'))
      return errors
    },
  },
  columns: {
    columns: columnList('Name/name|DriverName|Age'),
    cells: ({ metadata, driverName }, now) => [metadata.name, driverName, ageOf(metadata.creationTimestamp, now)],
  },
}
