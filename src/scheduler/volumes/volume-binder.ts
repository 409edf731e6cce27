import type { corev1 } from '../../api/index.ts'
import { resources } from '../../api/index.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { deepCopy } from '../../base/index.ts'
import { volumeFitsNode } from '../../component-helpers/csi-migration.ts'
import { BOUND_BY_CONTROLLER, isFullyBound, isVolumeOf, SELECTED_NODE } from '../../component-helpers/volume-matching.ts'
import type { PluginHandle } from '../framework/plugin.ts'
import type { PodInfo } from '../framework/pod-info.ts'
import type { PodVolumes } from './pod-volumes.ts'

/** How long binding and provisioning may take. */
const BIND_TIMEOUT_MS = 600_000
const FIRST_LOOK_MS = 50
const LOOK_MS = 1000

/** Promises volumes to a Pod, writes the promises down, and waits until others have kept them. */
export class PodVolumeBinder {
  private readonly handle: PluginHandle

  constructor(handle: PluginHandle) {
    this.handle = handle
  }

  /** From now on nobody else is offered these volumes. Throws when one of the objects has changed since it was looked at. */
  assume(volumes: PodVolumes, nodeName: string): PodVolumes {
    const view = this.handle.view.volumes
    const bindings: { volume: corev1.PersistentVolume; claim: corev1.PersistentVolumeClaim }[] = []
    const provisions: corev1.PersistentVolumeClaim[] = []
    try {
      for (const { volume, claim } of volumes.bindings) {
        const next = boundTo(volume, claim)
        if (next !== volume && !view.volumes.assume(next)) throw changed('persistentvolume', volume)
        bindings.push({ volume: next, claim })
      }
      for (const claim of volumes.provisions) {
        const next = deepCopy(claim)
        next.metadata.annotations = { ...next.metadata.annotations, [SELECTED_NODE]: nodeName }
        if (!view.claims.assume(next)) throw changed('persistentvolumeclaim', claim)
        provisions.push(next)
      }
    } catch (e) {
      this.restore({ bindings, provisions })
      throw e
    }
    return { bindings, provisions }
  }

  restore(volumes: PodVolumes): void {
    const view = this.handle.view.volumes
    for (const { volume } of volumes.bindings) view.volumes.restore(volume.metadata.name ?? '')
    for (const claim of volumes.provisions) view.claims.restore(objectKey(claim))
  }

  /** Writes what was assumed and waits until the controller, or a provisioner, has bound all claims. */
  async bind(pod: PodInfo, volumes: PodVolumes, nodeName: string, signal: AbortSignal): Promise<void> {
    const { clock, client } = this.handle
    const written: { bindings: { volume: corev1.PersistentVolume; claim: corev1.PersistentVolumeClaim }[]; provisions: corev1.PersistentVolumeClaim[] } = {
      bindings: [],
      provisions: [],
    }
    for (const { volume, claim } of volumes.bindings) {
      written.bindings.push({ volume: await client.resource(resources.corev1.persistentvolumes).update(volume), claim })
    }
    for (const claim of volumes.provisions) {
      written.provisions.push(await client.resource(resources.corev1.persistentvolumeclaims).namespace(claim.metadata.namespace).update(claim))
    }
    const end = clock.monotonic() + BIND_TIMEOUT_MS
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(LOOK_MS, pause * 2)) {
      await clock.sleep(pause, signal)
      try {
        if (this.isBound(pod, written, nodeName)) break
        if (clock.monotonic() >= end) throw new Error('context deadline exceeded')
      } catch (e) {
        throw new Error(`binding volumes: ${(e as Error).message}`, { cause: e })
      }
    }
    // The watch has shown newer versions by now.
    this.restore(written)
  }

  /** False: not yet. Throws when it will not come to be, and another node must be looked for. */
  private isBound(pod: PodInfo, written: PodVolumes, nodeName: string): boolean {
    const { view } = this.handle
    const node = this.handle.snapshot().get(nodeName)?.node
    if (!node) throw new Error(`failed to get node ${JSON.stringify(nodeName)}: node ${JSON.stringify(nodeName)} not found`)
    if (view.pod(pod.key)?.metadata.uid !== pod.uid) {
      throw new Error(`pod does not exist any more: pod ${JSON.stringify(pod.pod.metadata.name)} not found`)
    }
    const csiNode = view.volumes.csiNode(nodeName)
    const checkNode = (volume: corev1.PersistentVolume) => {
      if (!volumeFitsNode(volume, node.metadata.labels, csiNode))
        throw new Error(
          `pv ${JSON.stringify(volume.metadata.name)} node affinity doesn't match node ${JSON.stringify(nodeName)}: no matching NodeSelectorTerms`,
        )
    }
    for (const { volume, claim } of written.bindings) {
      const name = volume.metadata.name ?? ''
      const shown = view.volumes.volumes.shown(name)
      if (!shown) throw new Error(`failed to check binding: could not find v1.PersistentVolume ${JSON.stringify(name)}`)
      const shownClaim = view.volumes.claims.shown(objectKey(claim))
      if (!shownClaim) throw new Error(`failed to check binding: could not find v1.PersistentVolumeClaim ${JSON.stringify(objectKey(claim))}`)
      if (isOlder(shown, volume)) return false
      checkNode(shown)
      if (!shown.spec.claimRef?.uid) throw new Error(`ClaimRef got reset for pv ${JSON.stringify(name)}`)
      if (!isFullyBound(shownClaim)) return false
    }
    for (const claim of written.provisions) {
      const name = claim.metadata.name ?? ''
      const shown = view.volumes.claims.shown(objectKey(claim))
      if (!shown) throw new Error(`failed to check provisioning pvc: could not find v1.PersistentVolumeClaim ${JSON.stringify(objectKey(claim))}`)
      if (isOlder(shown, claim)) return false
      const annotations = shown.metadata.annotations
      if (!annotations) throw new Error(`selectedNode annotation reset for PVC ${JSON.stringify(name)}`)
      // A provisioner that gives up takes the annotation away, so that another node is tried.
      if (annotations[SELECTED_NODE] !== nodeName) throw new Error(`provisioning failed for PVC ${JSON.stringify(name)}`)
      if (shown.spec.volumeName) {
        const volume = view.volumes.volumes.shown(shown.spec.volumeName)
        if (!volume) return false
        checkNode(volume)
      }
      if (!isFullyBound(shown)) return false
    }
    return true
  }
}

/** Resource versions of one resource grow; the object that was written is not shown yet while a smaller one is. */
function isOlder(shown: { metadata: { resourceVersion?: string } }, written: { metadata: { resourceVersion?: string } }): boolean {
  return BigInt(shown.metadata.resourceVersion ?? 0) < BigInt(written.metadata.resourceVersion ?? 0)
}

function changed(what: string, object: { metadata: { name?: string } }): Error {
  return new Error(`${what} ${JSON.stringify(object.metadata.name)} was changed meanwhile`)
}

/** The volume with the claim in its claimRef; the volume itself when its owner has already named this very claim. */
function boundTo(volume: corev1.PersistentVolume, claim: corev1.PersistentVolumeClaim): corev1.PersistentVolume {
  const ref = volume.spec.claimRef
  if (ref?.uid === claim.metadata.uid && isVolumeOf(volume, claim)) return volume
  const next = deepCopy(volume)
  const { namespace, name, uid, resourceVersion } = claim.metadata
  next.spec.claimRef = { kind: 'PersistentVolumeClaim', namespace, name, uid, apiVersion: 'v1', resourceVersion } as corev1.ObjectReference
  if (!isVolumeOf(volume, claim)) next.metadata.annotations = { ...next.metadata.annotations, [BOUND_BY_CONTROLLER]: 'yes' }
  return next
}
