import type { PersistentVolume, PersistentVolumeSpec, SecretReference, Volume } from '../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { isDNS1123Subdomain, sortedKeys } from '../../../apimachinery/validation/index.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { parseAmount, wholeValue } from '../../../component-helpers/amounts.ts'
import { validateNodeSelector } from '../pod/validation/affinity.ts'
import { validateBackendVolume, validateCSIDriverName } from '../pod/validation/backend-volumes.ts'
import { validatePathNoBacksteps } from '../pod/validation/paths.ts'
import { specDifference } from '../pod/validation/spec-difference.ts'

export const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const VOLUME_MODES = ['Block', 'Filesystem']
const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain']
const HOST_PATH_TYPES = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket']
const MOUNT_OPTIONS = 'volume.beta.kubernetes.io/mount-options'

/** Sources in the order in which they are looked at; the second one found is refused. */
const SOURCES = [
  ['hostPath', 'hostPath'],
  ['gcePersistentDisk', 'gcePersistentDisk'],
  ['awsElasticBlockStore', 'awsElasticBlockStore'],
  ['glusterfs', 'glusterfs'],
  ['flocker', 'flocker'],
  ['nfs', 'nfs'],
  ['rbd', 'rbd'],
  ['quobyte', 'quobyte'],
  ['cephfs', 'cephFS'],
  ['iscsi', 'iscsi'],
  ['cinder', 'cinder'],
  ['fc', 'fc'],
  ['flexVolume', 'flexVolume'],
  ['azureFile', 'azureFile'],
  ['vsphereVolume', 'vsphereVolume'],
  ['photonPersistentDisk', 'photonPersistentDisk'],
  ['portworxVolume', 'portworxVolume'],
  ['azureDisk', 'azureDisk'],
  ['scaleIO', 'scaleIO'],
  ['local', 'local'],
  ['storageos', 'storageos'],
  ['csi', 'csi'],
] as const
type SourceName = (typeof SOURCES)[number][0]

const MOUNT_OPTION_SOURCES: readonly SourceName[] = [
  ...(['gcePersistentDisk', 'awsElasticBlockStore', 'glusterfs', 'nfs', 'rbd', 'quobyte', 'iscsi', 'cinder', 'cephfs'] as const),
  ...(['azureFile', 'vsphereVolume', 'azureDisk', 'portworxVolume', 'flexVolume'] as const),
]

export function sourceOf(spec: PersistentVolumeSpec): Partial<PersistentVolumeSpec> {
  return Object.fromEntries(SOURCES.flatMap(([name]) => (spec[name] === undefined ? [] : [[name, spec[name]]])))
}

function validateSource(spec: PersistentVolumeSpec, name: SourceName, path: FieldPath): ErrorList {
  switch (name) {
    case 'hostPath': {
      const at = path.child('hostPath')
      const { path: file = '', type } = spec.hostPath ?? {}
      if (file === '') return [required(at.child('path'))]
      const errors = validatePathNoBacksteps(file, at.child('path'))
      if (type !== undefined && !HOST_PATH_TYPES.includes(type)) errors.push(notSupported(at.child('type'), type, HOST_PATH_TYPES))
      return errors
    }
    case 'local': {
      const at = path.child('local', 'path')
      const errors = spec.local?.path ? validatePathNoBacksteps(spec.local.path, at) : [required(at)]
      if (!spec.nodeAffinity) errors.push(required(path.child('nodeAffinity'), 'Local volume requires node affinity'))
      return errors
    }
    case 'azureFile': {
      const at = path.child('azureFile')
      const errors = validateBackendVolume(spec as unknown as Volume, name, path)
      if (spec.azureFile?.secretNamespace === '') errors.push(required(at.child('secretNamespace')))
      return errors
    }
    case 'csi':
      return validateCSI(spec, path.child('csi'))
    default:
      return validateBackendVolume(spec as unknown as Volume, name, path)
  }
}

function validateSecretReference(ref: SecretReference | undefined, path: FieldPath): ErrorList {
  if (!ref) return []
  const errors: ErrorList = []
  if (!ref.name) errors.push(required(path.child('name')))
  else for (const m of isDNS1123Subdomain(ref.name)) errors.push(invalid(path.child('name'), ref.name, m))
  if (!ref.namespace) errors.push(required(path.child('namespace')))
  return errors
}

function validateCSI({ csi }: PersistentVolumeSpec, path: FieldPath): ErrorList {
  const errors = validateCSIDriverName(csi?.driver ?? '', path.child('driver'))
  if (!csi?.volumeHandle) errors.push(required(path.child('volumeHandle')))
  for (const name of ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'] as const) {
    errors.push(...validateSecretReference(csi?.[name], path.child(name)))
  }
  return errors
}

export function validateAccessModes(modes: readonly string[], path: FieldPath): ErrorList {
  const errors: ErrorList = modes.flatMap((mode) => (ACCESS_MODES.includes(mode) ? [] : [notSupported(path, mode, ACCESS_MODES)]))
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) errors.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'))
  return errors
}

function validateCapacity(capacity: Readonly<Record<string, string>> | undefined, path: FieldPath): ErrorList {
  const names = sortedKeys(capacity)
  if (names.length === 0) return [required(path)]
  const errors: ErrorList = []
  if (!Object.hasOwn(capacity ?? {}, 'storage') || names.length > 1) errors.push(notSupported(path, capacity, ['storage']))
  for (const name of names) {
    const quantity = capacity?.[name] ?? '0'
    const at = path.key(name)
    const { nano } = parseAmount(quantity)
    if (nano < 0n) errors.push(invalid(at, wholeValue(quantity), 'must be a valid resource quantity'))
    if (nano <= 0n) errors.push(invalid(at, quantity, 'must be greater than zero'))
  }
  return errors
}

/** @param inline the spec stands in a VolumeAttachment (migrated in-tree volume): CSI alone, without capacity */
export function validateVolumeSpec(spec: PersistentVolumeSpec, path: FieldPath, inline = false): ErrorList {
  const errors: ErrorList = []
  if (inline && !spec.csi) errors.push(required(path.child('csi'), 'has to be specified in the context of inline volumes'))
  const modes = spec.accessModes ?? []
  if (modes.length === 0) errors.push(required(path.child('accessModes')))
  errors.push(...validateAccessModes(modes, path.child('accessModes')))
  if (!inline) errors.push(...validateCapacity(spec.capacity, path.child('capacity')))
  const policy = spec.persistentVolumeReclaimPolicy
  if (!inline && policy && !RECLAIM_POLICIES.includes(policy)) errors.push(notSupported(path.child('persistentVolumeReclaimPolicy'), policy, RECLAIM_POLICIES))
  if (spec.nodeAffinity) {
    const at = path.child('nodeAffinity', 'required')
    if (spec.nodeAffinity.required) errors.push(...validateNodeSelector(spec.nodeAffinity.required, at))
    else errors.push(required(at, 'must specify required node constraints'))
  }
  let found = 0
  if (!inline) {
    for (const [name, shown] of SOURCES) {
      if (spec[name] === undefined) continue
      if (found++ > 0) errors.push(forbidden(path.child(shown), 'may not specify more than 1 volume type'))
      else errors.push(...validateSource(spec, name, path))
    }
    if (found === 0) errors.push(required(path, 'must specify a volume type'))
    if (spec.hostPath?.path && policy === 'Recycle' && /^\/+(?:\.?\/*)*$/.test(spec.hostPath.path)) {
      errors.push(forbidden(path.child('persistentVolumeReclaimPolicy'), "may not be 'recycle' for a hostPath mount of '/'"))
    }
  } else if (spec.csi) errors.push(...validateCSI(spec, path.child('csi')))
  if (spec.storageClassName) {
    for (const m of isDNS1123Subdomain(spec.storageClassName)) errors.push(invalid(path.child('storageClassName'), spec.storageClassName, m))
  }
  if (spec.volumeMode !== undefined && !VOLUME_MODES.includes(spec.volumeMode)) {
    errors.push(notSupported(path.child('volumeMode'), spec.volumeMode, VOLUME_MODES))
  }
  return [...errors, ...validateAttributesClass(spec, path)]
}

function validateAttributesClass({ volumeAttributesClassName: name, csi }: PersistentVolumeSpec, path: FieldPath): ErrorList {
  if (name === undefined) return []
  const at = path.child('volumeAttributesClassName')
  const errors: ErrorList = name === '' ? [required(at, 'an empty string is disallowed')] : isDNS1123Subdomain(name).map((m) => invalid(at, name, m))
  if (!csi) errors.push(required(path.child('csi'), 'has to be specified when using volumeAttributesClassName'))
  return errors
}

export function validateVolume(volume: PersistentVolume): ErrorList {
  const errors = validateVolumeSpec(volume.spec, FieldPath.root('spec'))
  const options = volume.metadata.annotations?.[MOUNT_OPTIONS]
  if (options && !MOUNT_OPTION_SOURCES.some((name) => volume.spec[name] !== undefined)) {
    errors.push(forbidden(FieldPath.root('metadata', 'annotations', MOUNT_OPTIONS), 'may not specify mount options for this volume type'))
  }
  return errors
}

/** A secret for growing may be named once; everything else of the source stays. */
function sourceChanged(volume: PersistentVolume, old: PersistentVolume): boolean {
  const [now, before] = [sourceOf(volume.spec), sourceOf(old.spec)]
  if (now.csi?.controllerExpandSecretRef && before.csi && !before.csi.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _, ...csi } = now.csi
    return !deepEqual({ ...now, csi }, before)
  }
  return !deepEqual(now, before)
}

const BETA_LABELS: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
}

function affinityChanged({ spec }: PersistentVolume, old: PersistentVolume): boolean {
  const before = old.spec.nodeAffinity
  if (!before || deepEqual(spec.nodeAffinity, before)) return false
  const renamed = JSON.stringify(before).replace(/"key":"([^"]*)"/g, (all, key: string) =>
    Object.hasOwn(BETA_LABELS, key) ? `"key":${JSON.stringify(BETA_LABELS[key])}` : all,
  )
  return JSON.stringify(spec.nodeAffinity) !== renamed
}

export function validateVolumeUpdate(volume: PersistentVolume, old: PersistentVolume): ErrorList {
  const errors = validateVolume(volume)
  const { spec } = volume
  if (sourceChanged(volume, old)) {
    const difference = specDifference('PersistentVolumeSource', sourceOf(old.spec), sourceOf(spec))
    errors.push(forbidden(FieldPath.root('spec', 'persistentvolumesource'), `spec.persistentvolumesource is immutable after creation\n${difference}`))
  }
  if (spec.volumeMode !== old.spec.volumeMode) errors.push(invalid(FieldPath.root('volumeMode'), spec.volumeMode, 'field is immutable'))
  if (affinityChanged(volume, old)) {
    const shown = spec.nodeAffinity ? { Required: spec.nodeAffinity.required ?? null } : null
    errors.push(invalid(FieldPath.root('nodeAffinity'), shown, 'field is immutable, except for updating from beta label to GA'))
  }
  if (old.spec.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    errors.push(forbidden(FieldPath.root('spec', 'volumeAttributesClassName'), 'update from non-nil value to nil is forbidden'))
  }
  return errors
}
