import type { corev1, storagev1 } from '../../api/index.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { compareQuantities } from '../../component-helpers/amounts.ts'
import { volumeFitsNode } from '../../component-helpers/csi-migration.ts'
import {
  claimNameOf,
  classOfClaim,
  findVolume,
  isFullyBound,
  NO_PROVISIONER,
  requestOfClaim,
  SELECTED_NODE,
  topologyAllowed,
  waitsForConsumer,
} from '../../component-helpers/volume-matching.ts'
import type { VolumeView } from '../framework/plugin.ts'

type Claim = corev1.PersistentVolumeClaim

/** The claims of a Pod by what is left to do for them. */
export interface PodClaims {
  readonly bound: readonly Claim[]
  /** Not bound, and nothing the scheduler does will change that. */
  readonly immediate: readonly Claim[]
  /** Wait for the scheduler's word. */
  readonly delayed: readonly Claim[]
}

/** What has to be written so that the Pod's claims get volumes on a node. */
export interface PodVolumes {
  readonly bindings: readonly { readonly volume: corev1.PersistentVolume; readonly claim: Claim }[]
  readonly provisions: readonly Claim[]
}

export const NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
export const BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
export const NOT_ENOUGH_SPACE = 'node(s) did not have enough free storage'
export const VOLUME_GONE = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'

/** Throws when an object that must be there is not. */
export function claimsOf(view: VolumeView, pod: corev1.Pod): PodClaims {
  const bound: Claim[] = []
  const immediate: Claim[] = []
  const delayed: Claim[] = []
  const names = new Set<string>()
  for (const v of pod.spec.volumes ?? []) {
    const name = claimNameOf(pod, v)
    if (name !== undefined) names.add(name)
  }
  for (const name of names) {
    const claim = view.claims.get(`${pod.metadata.namespace}/${name}`)
    if (!claim) throw new Error(`error getting PVC ${JSON.stringify(`${pod.metadata.namespace}/${name}`)}: could not find it`)
    if (isFullyBound(claim)) {
      bound.push(claim)
      continue
    }
    const storageClass = view.storageClass(classOfClaim(claim))
    if (storageClass && !storageClass.volumeBindingMode) throw new Error(`VolumeBindingMode not set for StorageClass ${JSON.stringify(classOfClaim(claim))}`)
    // A claim that names its volume is bound by the controller alone.
    if (waitsForConsumer(storageClass) && !claim.spec.volumeName) delayed.push(claim)
    else immediate.push(claim)
  }
  return { bound, immediate, delayed }
}

/** What a node would need, or the reasons why it is no place for the Pod. Throws when an object that must be there is not. */
export function findPodVolumes(view: VolumeView, claims: PodClaims, node: corev1.Node): PodVolumes | string[] {
  const reasons: string[] = []
  let volumeGone = false
  if (claims.bound.length > 0) {
    const csiNode = view.csiNode(node.metadata.name ?? '')
    for (const claim of claims.bound) {
      const volume = view.volumes.get(claim.spec.volumeName ?? '')
      if (!volume) volumeGone = true
      else if (!volumeFitsNode(volume, node.metadata.labels, csiNode)) reasons.push(NODE_CONFLICT)
      else continue
      break
    }
  }
  const found = claims.delayed.length > 0 ? findDelayed(view, claims.delayed, node) : NOTHING
  if (typeof found === 'string') reasons.push(found)
  if (volumeGone) reasons.push(VOLUME_GONE)
  return reasons.length > 0 || typeof found === 'string' ? reasons : found
}

const NOTHING: PodVolumes = Object.freeze({ bindings: [], provisions: [] })

function findDelayed(view: VolumeView, claims: readonly Claim[], node: corev1.Node): PodVolumes | string {
  const toMatch: Claim[] = []
  const toProvision: Claim[] = []
  for (const claim of claims) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE]
    if (selected === undefined) toMatch.push(claim)
    else if (selected === node.metadata.name) toProvision.push(claim)
    else return BIND_CONFLICT
  }
  // The smallest claims choose first, so that none takes a volume that only a larger one needs.
  toMatch.sort((a, b) => compareQuantities(requestOfClaim(a), requestOfClaim(b)))
  const bindings: { volume: corev1.PersistentVolume; claim: Claim }[] = []
  const taken = new Set<string>()
  for (const claim of toMatch) {
    const volume = findVolume(view.volumesOfClass(classOfClaim(claim)), claim, { node, taken })
    if (!volume) {
      toProvision.push(claim)
      continue
    }
    taken.add(volume.metadata.name ?? '')
    bindings.push({ volume, claim })
  }
  for (const claim of toProvision) {
    const conflict = cannotProvision(view, claim, node)
    if (conflict) return conflict
  }
  return { bindings, provisions: toProvision }
}

function cannotProvision(view: VolumeView, claim: Claim, node: corev1.Node): string | undefined {
  const className = classOfClaim(claim)
  const key = `${claim.metadata.namespace}/${claim.metadata.name}`
  if (!className) throw new Error(`no class for claim ${JSON.stringify(key)}`)
  const storageClass = view.storageClass(className)
  if (!storageClass) throw new Error(`failed to find storage class ${JSON.stringify(className)}`)
  if (!storageClass.provisioner || storageClass.provisioner === NO_PROVISIONER) return BIND_CONFLICT
  if (!topologyAllowed(storageClass.allowedTopologies, node.metadata.labels)) return BIND_CONFLICT
  return hasSpace(view, claim, storageClass, node) ? undefined : NOT_ENOUGH_SPACE
}

/** Only drivers that publish their capacity are asked (KEP-1472). */
function hasSpace(view: VolumeView, claim: Claim, storageClass: storagev1.StorageClass, node: corev1.Node): boolean {
  const request = requestOfClaim(claim)
  if (request === undefined || !view.csiDriver(storageClass.provisioner)?.spec.storageCapacity) return true
  return view.capacities(storageClass.metadata.name ?? '').some((c) => {
    const limit = largestVolume(c)
    if (limit === undefined || compareQuantities(limit, request) < 0 || !c.nodeTopology) return false
    return selectorFromLabelSelector(c.nodeTopology).matches(node.metadata.labels ?? {})
  })
}

/** The size of the largest volume that a capacity has room for. */
export const largestVolume = (capacity: storagev1.CSIStorageCapacity): string | undefined => capacity.maximumVolumeSize ?? capacity.capacity
