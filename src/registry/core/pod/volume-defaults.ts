import type { DownwardAPIVolumeFile, ObjectFieldSelector, PersistentVolumeClaimSpec, Volume } from '../../../api/core/v1/types.generated.ts'
import { defaultPullPolicy } from '../../../component-helpers/image-reference.ts'
import { setResourceListDefaults } from './resource-defaults.ts'

const FILE_MODE = 0o644

export function setFieldRefDefaults(ref: ObjectFieldSelector | undefined): void {
  if (ref) ref.apiVersion ||= 'v1'
}

function setItemDefaults(items: DownwardAPIVolumeFile[] | undefined): void {
  for (const item of items ?? []) setFieldRefDefaults(item.fieldRef)
}

export function setClaimSpecDefaults(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem'
  setResourceListDefaults(spec.resources?.limits)
  setResourceListDefaults(spec.resources?.requests)
}

const hasSource = (volume: Volume): boolean => Object.keys(volume).some((k) => k !== 'name' && volume[k as keyof Volume] !== undefined)

/** A volume without a source is an emptyDir; modes, types and drivers' old fields get their traditional values. */
export function setVolumeDefaults(volume: Volume): void {
  if (!hasSource(volume)) {
    volume.emptyDir = {}
    return
  }
  if (volume.hostPath) volume.hostPath.type ??= ''
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected]) if (source) source.defaultMode ??= FILE_MODE
  setItemDefaults(volume.downwardAPI?.items)
  for (const source of volume.projected?.sources ?? []) {
    setItemDefaults(source.downwardAPI?.items)
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600
    if (source.podCertificate) source.podCertificate.maxExpirationSeconds ??= 86400
  }
  if (volume.image) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference)
  if (volume.iscsi) volume.iscsi.iscsiInterface ||= 'default'
  if (volume.rbd) {
    volume.rbd.pool ||= 'rbd'
    volume.rbd.user ||= 'admin'
    volume.rbd.keyring ||= '/etc/ceph/keyring'
  }
  if (volume.azureDisk) {
    volume.azureDisk.cachingMode ??= 'ReadWrite'
    volume.azureDisk.kind ??= 'Shared'
    volume.azureDisk.fsType ??= 'ext4'
    volume.azureDisk.readOnly ??= false
  }
  if (volume.scaleIO) {
    volume.scaleIO.storageMode ||= 'ThinProvisioned'
    volume.scaleIO.fsType ||= 'xfs'
  }
  if (volume.ephemeral?.volumeClaimTemplate) setClaimSpecDefaults(volume.ephemeral.volumeClaimTemplate.spec)
}
