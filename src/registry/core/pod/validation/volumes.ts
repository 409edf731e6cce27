import type { KeyToPath, LocalObjectReference, Volume } from '../../../../api/core/v1/types.generated.ts'
import { duplicate, type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isDNS1123Label } from '../../../../apimachinery/validation/index.ts'
import { parseAmount } from '../../../../component-helpers/amounts.ts'
import { validateBackendVolume } from './backend-volumes.ts'
import { validateEphemeralClaim } from './ephemeral-claim.ts'
import type { PodValidationOptions } from './options.ts'
import { validateFileMode, validateKeyToPath, validateLocalNonReservedPath, validatePathNoBacksteps } from './paths.ts'
import { validateDownwardAPIFile, validateProjected } from './projected.ts'

const HOST_PATH_TYPES = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket']
export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never']

/** In the order in which a second source is noticed; the name is the one messages use for that. */
const SOURCES: [keyof Volume, string][] = [
  ['emptyDir', 'emptyDir'],
  ['hostPath', 'hostPath'],
  ['gitRepo', 'gitRepo'],
  ['gcePersistentDisk', 'gcePersistentDisk'],
  ['awsElasticBlockStore', 'awsElasticBlockStore'],
  ['secret', 'secret'],
  ['nfs', 'nfs'],
  ['iscsi', 'iscsi'],
  ['glusterfs', 'glusterfs'],
  ['flocker', 'flocker'],
  ['persistentVolumeClaim', 'persistentVolumeClaim'],
  ['rbd', 'rbd'],
  ['cinder', 'cinder'],
  ['cephfs', 'cephFS'],
  ['quobyte', 'quobyte'],
  ['downwardAPI', 'downwarAPI'],
  ['fc', 'fc'],
  ['flexVolume', 'flexVolume'],
  ['configMap', 'configMap'],
  ['azureFile', 'azureFile'],
  ['vsphereVolume', 'vsphereVolume'],
  ['photonPersistentDisk', 'photonPersistentDisk'],
  ['portworxVolume', 'portworxVolume'],
  ['azureDisk', 'azureDisk'],
  ['storageos', 'storageos'],
  ['projected', 'projected'],
  ['scaleIO', 'scaleIO'],
  ['csi', 'csi'],
  ['ephemeral', 'ephemeral'],
  ['image', 'image'],
]

function validateFiles(source: { defaultMode?: number; items?: KeyToPath[] }, path: FieldPath): ErrorList {
  const errs = validateFileMode(source.defaultMode, path.child('defaultMode'))
  source.items?.forEach((item, i) => {
    errs.push(...validateKeyToPath(item, path.child('items').index(i)))
  })
  return errs
}

export const requiredName = (ref: LocalObjectReference | undefined, path: FieldPath): ErrorList => (ref && !ref.name ? [required(path.child('name'))] : [])

/** One source of a volume. Sources of single storage systems are in backend-volumes.ts. */
function validateSource(volume: Volume, kind: keyof Volume, path: FieldPath, options: PodValidationOptions): ErrorList {
  switch (kind) {
    case 'emptyDir': {
      const limit = volume.emptyDir?.sizeLimit
      return limit !== undefined && parseAmount(limit).nano < 0n
        ? [forbidden(path.child('emptyDir', 'sizeLimit'), 'SizeLimit field must be a valid resource quantity')]
        : []
    }
    case 'hostPath': {
      const at = path.child('hostPath')
      const { path: file = '', type } = volume.hostPath ?? {}
      if (file === '') return [required(at.child('path'))]
      const errs = validatePathNoBacksteps(file, at.child('path'))
      if (type !== undefined && !HOST_PATH_TYPES.includes(type)) errs.push(notSupported(at.child('type'), type, HOST_PATH_TYPES))
      return errs
    }
    case 'gitRepo': {
      const at = path.child('gitRepo')
      const errs: ErrorList = volume.gitRepo?.repository ? [] : [required(at.child('repository'))]
      return [...errs, ...validateLocalNonReservedPath(volume.gitRepo?.directory ?? '', at.child('directory'))]
    }
    case 'secret': {
      const at = path.child('secret')
      const errs: ErrorList = volume.secret?.secretName ? [] : [required(at.child('secretName'))]
      return [...errs, ...validateFiles(volume.secret ?? {}, at)]
    }
    case 'configMap': {
      const at = path.child('configMap')
      const errs: ErrorList = volume.configMap?.name ? [] : [required(at.child('name'))]
      return [...errs, ...validateFiles(volume.configMap ?? {}, at)]
    }
    case 'persistentVolumeClaim':
      return volume.persistentVolumeClaim?.claimName ? [] : [required(path.child('persistentVolumeClaim', 'claimName'))]
    case 'downwardAPI': {
      const at = path.child('downwardAPI')
      const errs = validateFileMode(volume.downwardAPI?.defaultMode, at.child('defaultMode'))
      for (const file of volume.downwardAPI?.items ?? []) errs.push(...validateDownwardAPIFile(file, at))
      return errs
    }
    case 'projected':
      return volume.projected ? validateProjected(volume.projected, path.child('projected')) : []
    case 'ephemeral':
      return volume.ephemeral ? validateEphemeralClaim(volume.ephemeral, path.child('ephemeral')) : []
    case 'image': {
      const at = path.child('image')
      const errs: ErrorList = options.isPod && !volume.image?.reference ? [required(at.child('reference'))] : []
      const policy = volume.image?.pullPolicy
      if (!policy || !PULL_POLICIES.includes(policy))
        errs.push(policy ? notSupported(at.child('pullPolicy'), policy, PULL_POLICIES) : required(at.child('pullPolicy')))
      return errs
    }
    default:
      return validateBackendVolume(volume, kind, path)
  }
}

function validateVolumeSource(volume: Volume, path: FieldPath, options: PodValidationOptions): ErrorList {
  const errs: ErrorList = []
  let sources = 0
  for (const [kind, shown] of SOURCES) {
    if (volume[kind] === undefined) continue
    if (sources > 0) errs.push(forbidden(path.child(shown), 'may not specify more than 1 volume type'))
    else errs.push(...validateSource(volume, kind, path, options))
    sources++
  }
  if (sources === 0) errs.push(required(path, 'must specify a volume type'))
  return errs
}

/** Returns the valid volumes by name along with the errors: mounts of invalid ones are reported as not found. */
export function validateVolumes(
  volumes: readonly Volume[] | undefined,
  path: FieldPath,
  options: PodValidationOptions,
): { errs: ErrorList; valid: Map<string, Volume> } {
  const errs: ErrorList = []
  const valid = new Map<string, Volume>()
  volumes?.forEach((volume, i) => {
    const at = path.index(i)
    const own = validateVolumeSource(volume, at, options)
    if (!volume.name) own.push(required(at.child('name')))
    else for (const m of isDNS1123Label(volume.name)) own.push(invalid(at.child('name'), volume.name, m))
    if (valid.has(volume.name)) own.push(duplicate(at.child('name'), volume.name))
    if (own.length === 0) valid.set(volume.name, volume)
    else errs.push(...own)
  })
  return { errs, valid }
}
