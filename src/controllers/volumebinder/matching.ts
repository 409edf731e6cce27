import type { PersistentVolume, PersistentVolumeClaim } from '../../api/core/v1/types.generated.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { quote } from '../../apimachinery/quote.ts'
import { compareQuantities } from '../../component-helpers/amounts.ts'

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class'

export const classOfClaim = (claim: PersistentVolumeClaim): string => claim.metadata.annotations?.[BETA_CLASS] ?? claim.spec.storageClassName ?? ''
export const classOfVolume = (volume: PersistentVolume): string => volume.metadata.annotations?.[BETA_CLASS] ?? volume.spec.storageClassName ?? ''
const requestOf = (claim: PersistentVolumeClaim): string | undefined => claim.spec.resources?.requests?.['storage']
const modeOf = (spec: { volumeMode?: string }): string => spec.volumeMode || 'Filesystem'

/** The volume's claimRef names this claim (and no other one of the same name). */
export function isVolumeOf(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const ref = volume.spec.claimRef
  return ref?.name === claim.metadata.name && ref?.namespace === claim.metadata.namespace && (!ref?.uid || ref.uid === claim.metadata.uid)
}

/** Why the volume does not fit the claim; undefined when it does. */
export function misfit(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp) return `the volume is marked for deletion ${quote(volume.metadata.name ?? '')}`
  if (compareQuantities(volume.spec.capacity?.['storage'], requestOf(claim)) < 0) return 'requested PV is too small'
  if (classOfVolume(volume) !== classOfClaim(claim)) return 'storageClassName does not match'
  if ((volume.spec.volumeAttributesClassName ?? '') !== (claim.spec.volumeAttributesClassName ?? '')) return 'volumeAttributesClassName does not match'
  if (modeOf(volume.spec) !== modeOf(claim.spec)) return 'incompatible volumeMode'
  if (!(claim.spec.accessModes ?? []).every((m) => volume.spec.accessModes?.includes(m))) return 'incompatible accessMode'
  return undefined
}

/** The smallest volume that fits; one that names the claim beforehand wins. Without it nothing is bound for claims that wait for a Pod. */
export function findVolume(volumes: readonly PersistentVolume[], claim: PersistentVolumeClaim, delayed: boolean): PersistentVolume | undefined {
  const selector = claim.spec.selector ? selectorFromLabelSelector(claim.spec.selector) : undefined
  let best: PersistentVolume | undefined
  for (const volume of volumes) {
    if (volume.metadata.deletionTimestamp || modeOf(volume.spec) !== modeOf(claim.spec)) continue
    if (isVolumeOf(volume, claim)) return compareQuantities(volume.spec.capacity?.['storage'], requestOf(claim)) >= 0 ? volume : undefined
    if (delayed || volume.spec.claimRef || volume.status?.phase !== 'Available' || misfit(volume, claim) !== undefined) continue
    if (selector && !selector.matches(volume.metadata.labels)) continue
    if (!best || compareQuantities(volume.spec.capacity?.['storage'], best.spec.capacity?.['storage']) < 0) best = volume
  }
  return best
}
