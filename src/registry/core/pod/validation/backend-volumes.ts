import type {
  AzureDiskVolumeSource,
  CSIVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  ISCSIVolumeSource,
  QuobyteVolumeSource,
  Volume,
} from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, invalid, notSupported, required, tooLong } from '../../../../apimachinery/field.ts'
import { inclusiveRange, isDNS1123Label, isDNS1123Subdomain, longerThan, sortedKeys } from '../../../../apimachinery/validation/index.ts'

/** Volumes of single storage systems: most only need their names. */
export function validateBackendVolume(volume: Volume, kind: keyof Volume, path: FieldPath): ErrorList {
  const need = (at: FieldPath, source: object | undefined, ...names: string[]): ErrorList =>
    names.filter((n) => !(source as Record<string, unknown> | undefined)?.[n]).map((n) => required(at.child(n)))
  switch (kind) {
    case 'gcePersistentDisk': {
      const at = path.child('persistentDisk')
      return [...need(at, volume.gcePersistentDisk, 'pdName'), ...validatePartition(volume.gcePersistentDisk?.partition, at)]
    }
    case 'awsElasticBlockStore': {
      const at = path.child('awsElasticBlockStore')
      return [...need(at, volume.awsElasticBlockStore, 'volumeID'), ...validatePartition(volume.awsElasticBlockStore?.partition, at)]
    }
    case 'nfs': {
      const at = path.child('nfs')
      const errs = need(at, volume.nfs, 'server', 'path')
      const file = volume.nfs?.path ?? ''
      if (!file.startsWith('/')) errs.push(invalid(at.child('path'), file, 'must be an absolute path'))
      return errs
    }
    case 'iscsi':
      return validateISCSI(volume.iscsi as ISCSIVolumeSource, path.child('iscsi'))
    case 'glusterfs':
      return need(path.child('glusterfs'), volume.glusterfs, 'endpoints', 'path')
    case 'flocker': {
      const at = path.child('flocker')
      const { datasetName = '', datasetUUID = '' } = volume.flocker ?? {}
      if (datasetName === '' && datasetUUID === '') return [required(at, 'one of datasetName and datasetUUID is required')]
      const errs: ErrorList = []
      if (datasetName !== '' && datasetUUID !== '') errs.push(invalid(at, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'))
      if (datasetName.includes('/')) errs.push(invalid(at.child('datasetName'), datasetName, "must not contain '/'"))
      return errs
    }
    case 'rbd': {
      const at = path.child('rbd')
      return [...(volume.rbd?.monitors?.length ? [] : [required(at.child('monitors'))]), ...need(at, volume.rbd, 'image')]
    }
    case 'cinder': {
      const at = path.child('cinder')
      return [...need(at, volume.cinder, 'volumeID'), ...secretName(volume.cinder?.secretRef, at.child('secretRef'))]
    }
    case 'cephfs':
      return volume.cephfs?.monitors?.length ? [] : [required(path.child('cephfs', 'monitors'))]
    case 'quobyte':
      return validateQuobyte(volume.quobyte as QuobyteVolumeSource, path.child('quobyte'))
    case 'fc':
      return validateFC(volume.fc as FCVolumeSource, path.child('fc'))
    case 'flexVolume':
      return validateFlex(volume.flexVolume as FlexVolumeSource, path.child('flexVolume'))
    case 'azureFile':
      return need(path.child('azureFile'), volume.azureFile, 'secretName', 'shareName')
    case 'vsphereVolume':
      return need(path.child('vsphereVolume'), volume.vsphereVolume, 'volumePath')
    case 'photonPersistentDisk':
      return need(path.child('photonPersistentDisk'), volume.photonPersistentDisk, 'pdID')
    case 'portworxVolume':
      return need(path.child('portworxVolume'), volume.portworxVolume, 'volumeID')
    case 'azureDisk':
      return validateAzureDisk(volume.azureDisk as AzureDiskVolumeSource, path.child('azureDisk'))
    case 'storageos': {
      const at = path.child('storageos')
      const { volumeName = '', volumeNamespace = '', secretRef } = volume.storageos ?? {}
      const errs: ErrorList =
        volumeName === '' ? [required(at.child('volumeName'))] : isDNS1123Label(volumeName).map((m) => invalid(at.child('volumeName'), volumeName, m))
      if (volumeNamespace !== '') for (const m of isDNS1123Label(volumeNamespace)) errs.push(invalid(at.child('volumeNamespace'), volumeNamespace, m))
      return [...errs, ...secretName(secretRef, at.child('secretRef'))]
    }
    case 'scaleIO':
      return need(path.child('scaleIO'), volume.scaleIO, 'gateway', 'system', 'volumeName')
    case 'csi':
      return validateCSI(volume.csi as CSIVolumeSource, path.child('csi'))
    default:
      return []
  }
}

const secretName = (ref: { name?: string } | undefined, path: FieldPath): ErrorList => (ref && !ref.name ? [required(path.child('name'))] : [])

function validatePartition(partition: number | undefined, path: FieldPath): ErrorList {
  const value = partition ?? 0
  return value < 0 || value > 255 ? [invalid(path.child('partition'), value, inclusiveRange(1, 255))] : []
}

const ISCSI_PREFIX = /^(?:iqn|eui|naa)/
const IQN = /^iqn\.\d{4}-\d{2}\.[^:\s]*(?::[^\s]*)?$/
const EUI = /^eui\.[0-9A-Fa-f]{16}$/
const NAA = /^naa\.[0-9A-Fa-f]{32}$/

function validateISCSIName(name: string, path: FieldPath): ErrorList {
  if (!ISCSI_PREFIX.test(name)) return [invalid(path, name, 'must be valid format starting with iqn, eui, or naa')]
  const form = name.startsWith('iqn') ? IQN : name.startsWith('eui') ? EUI : NAA
  return form.test(name) ? [] : [invalid(path, name, 'must be valid format')]
}

function validateISCSI(source: ISCSIVolumeSource, path: FieldPath): ErrorList {
  const errs: ErrorList = source.targetPortal ? [] : [required(path.child('targetPortal'))]
  if (!source.iqn) errs.push(required(path.child('iqn')))
  else errs.push(...validateISCSIName(source.iqn, path.child('iqn')))
  if (source.lun < 0 || source.lun > 255) errs.push(invalid(path.child('lun'), source.lun, inclusiveRange(0, 255)))
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef) errs.push(required(path.child('secretRef')))
  if (source.initiatorName !== undefined) errs.push(...validateISCSIName(source.initiatorName, path.child('initiatorname')))
  return errs
}

function validateQuobyte(source: QuobyteVolumeSource, path: FieldPath): ErrorList {
  const text = 'must be a host:port pair or multiple pairs separated by commas'
  const errs: ErrorList = []
  if (!source.registry) errs.push(required(path.child('registry'), text))
  else if (!source.registry.split(',').every((pair) => /^[^:]*:[^:]+$/.test(pair))) errs.push(invalid(path.child('registry'), source.registry, text))
  if ((source.tenant ?? '').length >= 65) errs.push(required(path.child('tenant'), 'must be a UUID and may not exceed a length of 64 characters'))
  if (!source.volume) errs.push(required(path.child('volume')))
  return errs
}

function validateFC(source: FCVolumeSource, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const wwns = source.targetWWNs?.length ?? 0
  const wwids = source.wwids?.length ?? 0
  if (wwns === 0 && wwids === 0) errs.push(required(path.child('targetWWNs'), 'must specify either targetWWNs or wwids, but not both'))
  if (wwns > 0 && wwids > 0) errs.push(invalid(path.child('targetWWNs'), source.targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'))
  if (wwns > 0) {
    if (source.lun === undefined) errs.push(required(path.child('lun'), 'lun is required if targetWWNs is specified'))
    else if (source.lun < 0 || source.lun > 255) errs.push(invalid(path.child('lun'), source.lun, inclusiveRange(0, 255)))
  }
  return errs
}

function validateFlex(source: FlexVolumeSource, path: FieldPath): ErrorList {
  const errs: ErrorList = source.driver ? [] : [required(path.child('driver'))]
  for (const key of sortedKeys(source.options)) {
    const domain = key.split('/')[0] as string
    const reserved = key.includes('/') && /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(domain)
    if (reserved) errs.push(invalid(path.child('options').key(key), key, 'prefixes with *.kubernetes.io and *.k8s.io are reserved'))
  }
  return errs
}

const CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite']
const DISK_KINDS = ['Dedicated', 'Managed', 'Shared']

function validateAzureDisk(source: AzureDiskVolumeSource, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!source.diskName) errs.push(required(path.child('diskName')))
  if (!source.diskURI) errs.push(required(path.child('diskURI')))
  if (source.cachingMode !== undefined && !CACHING_MODES.includes(source.cachingMode))
    errs.push(notSupported(path.child('cachingMode'), source.cachingMode, CACHING_MODES))
  if (source.kind !== undefined && !DISK_KINDS.includes(source.kind)) errs.push(notSupported(path.child('kind'), source.kind, DISK_KINDS))
  const uri = source.diskURI ?? ''
  if (source.kind === 'Managed' && !uri.startsWith('/subscriptions/'))
    errs.push(notSupported(path.child('diskURI'), uri, ['/subscriptions/{sub-id}/resourceGroups/{group-name}/providers/Microsoft.Compute/disks/{disk-id}']))
  if (source.kind !== 'Managed' && !uri.startsWith('https://'))
    errs.push(notSupported(path.child('diskURI'), uri, ['https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd']))
  return errs
}

/** Names of CSI drivers as other objects use them. */
export function validateCSIDriverName(name: string, path: FieldPath): ErrorList {
  if (name === '') return [required(path)]
  const errs: ErrorList = longerThan(name, 63) ? [tooLong(path, 63)] : []
  for (const m of isDNS1123Subdomain(name.toLowerCase())) errs.push(invalid(path, name, m))
  return errs
}

function validateCSI(source: CSIVolumeSource, path: FieldPath): ErrorList {
  const errs = validateCSIDriverName(source.driver ?? '', path.child('driver'))
  const secret = source.nodePublishSecretRef
  if (!secret) return errs
  const at = path.child('nodePublishSecretRef')
  if (!secret.name) errs.push(required(at.child('name')))
  else for (const m of isDNS1123Subdomain(secret.name)) errs.push(invalid(at.child('name'), secret.name, m))
  return errs
}
