import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, TopologySelectorTerm, Volume } from '../api/core/v1/types.generated.ts'
import type { StorageClass } from '../api/storage/v1/types.generated.ts'
import { type Labels, selectorFromLabelSelector } from '../apimachinery/labels.ts'
import { quote } from '../apimachinery/quote.ts'
import { compareQuantities } from './amounts.ts'
import { matchesNodeLabels } from './node-affinity.ts'

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class'
/** On a claim or a volume: the other's name was put there by a controller, not by its owner. */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller'
/** On a claim: binding is over, from now on it is only checked. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'
/** On a claim: the node its Pod will run on; says to whoever provisions that it may begin. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
/** The provisioner of classes whose volumes are made by hand. */
export const NO_PROVISIONER = 'kubernetes.io/no-provisioner'

export const classOfClaim = (claim: PersistentVolumeClaim): string => claim.metadata.annotations?.[BETA_CLASS] ?? claim.spec.storageClassName ?? ''
export const classOfVolume = (volume: PersistentVolume): string => volume.metadata.annotations?.[BETA_CLASS] ?? volume.spec.storageClassName ?? ''
export const requestOfClaim = (claim: PersistentVolumeClaim): string | undefined => claim.spec.resources?.requests?.['storage']
export const modeOf = (spec: { volumeMode?: string }): string => spec.volumeMode || 'Filesystem'

export const waitsForConsumer = (storageClass: StorageClass | undefined): boolean => storageClass?.volumeBindingMode === 'WaitForFirstConsumer'

/** The claim names its volume, and binding is over. */
export const isFullyBound = (claim: PersistentVolumeClaim): boolean => !!claim.spec.volumeName && claim.metadata.annotations?.[BIND_COMPLETED] !== undefined

/** The claim a volume of a Pod stands for: the named one, or that of a generic ephemeral volume; undefined for all other volumes. */
export function claimNameOf(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName
  return volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined
}

/** Why a claim is not that of the Pod's generic ephemeral volume; undefined when it is. */
export function foreignClaim(pod: Pod, claim: PersistentVolumeClaim): string | undefined {
  if (claim.metadata.ownerReferences?.some((o) => o.controller && o.uid === pod.metadata.uid)) return undefined
  const { namespace, name } = claim.metadata
  return `PVC ${namespace}/${name} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`
}

/** The volume's claimRef names this claim (and no other one of the same name). */
export function isVolumeOf(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const ref = volume.spec.claimRef
  return ref?.name === claim.metadata.name && ref?.namespace === claim.metadata.namespace && (!ref?.uid || ref.uid === claim.metadata.uid)
}

/** Why the volume does not fit the claim; undefined when it does. */
export function misfit(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp) return `the volume is marked for deletion ${quote(volume.metadata.name ?? '')}`
  if (compareQuantities(volume.spec.capacity?.['storage'], requestOfClaim(claim)) < 0) return 'requested PV is too small'
  if (classOfVolume(volume) !== classOfClaim(claim)) return 'storageClassName does not match'
  if ((volume.spec.volumeAttributesClassName ?? '') !== (claim.spec.volumeAttributesClassName ?? '')) return 'volumeAttributesClassName does not match'
  if (modeOf(volume.spec) !== modeOf(claim.spec)) return 'incompatible volumeMode'
  if (!(claim.spec.accessModes ?? []).every((m) => volume.spec.accessModes?.includes(m))) return 'incompatible accessMode'
  return undefined
}

export interface VolumeSearch {
  /** Only a volume that names the claim beforehand counts: the claim waits for a Pod. */
  delayed?: boolean
  /** The volume must be usable on this node. */
  node?: Node
  /** Volumes promised to others. */
  taken?: ReadonlySet<string>
}

/** The smallest volume that fits; one that names the claim beforehand wins, or is not to be had where its node affinity does not hold. */
export function findVolume(volumes: readonly PersistentVolume[], claim: PersistentVolumeClaim, search: VolumeSearch = {}): PersistentVolume | undefined {
  const { delayed = false, node, taken } = search
  const selector = claim.spec.selector ? selectorFromLabelSelector(claim.spec.selector) : undefined
  let best: PersistentVolume | undefined
  for (const volume of volumes) {
    if (taken?.has(volume.metadata.name ?? '')) continue
    if (volume.metadata.deletionTimestamp || modeOf(volume.spec) !== modeOf(claim.spec)) continue
    if (isVolumeOf(volume, claim)) {
      if (compareQuantities(volume.spec.capacity?.['storage'], requestOfClaim(claim)) < 0) continue
      return node && !affinityHolds(volume, node.metadata.labels) ? undefined : volume
    }
    if (delayed || volume.spec.claimRef || volume.status?.phase !== 'Available' || misfit(volume, claim) !== undefined) continue
    if (selector && !selector.matches(volume.metadata.labels)) continue
    if (node && !affinityHolds(volume, node.metadata.labels)) continue
    if (!best || compareQuantities(volume.spec.capacity?.['storage'], best.spec.capacity?.['storage']) < 0) best = volume
  }
  return best
}

/** The volume's node affinity holds for a node with these labels. */
export function affinityHolds(volume: PersistentVolume, labels: Labels | undefined): boolean {
  const required = volume.spec.nodeAffinity?.required
  return !required || matchesNodeLabels(required, labels)
}

/** Any of a class's topologies holds for a node with these labels; a class without topologies goes everywhere. */
export function topologyAllowed(terms: readonly TopologySelectorTerm[] | undefined, labels: Labels | undefined): boolean {
  if (!terms?.length) return true
  const value = (key: string) => (labels && Object.hasOwn(labels, key) ? labels[key] : undefined)
  return terms.some((t) => t.matchLabelExpressions?.length && t.matchLabelExpressions.every((e) => e.values.includes(value(e.key) as string)))
}
