import type { corev1, storagev1 } from '../../api/index.ts'
import { isMigratable, isMigratedOn, migratedDriver, migratedSource } from '../../component-helpers/csi-migration.ts'
import { claimNameOf, classOfClaim, foreignClaim } from '../../component-helpers/volume-matching.ts'
import type { Plugin, VolumeView } from '../framework/plugin.ts'
import { PluginError } from '../framework/runner.ts'
import { type Status, skip, unresolvable, unschedulable } from '../framework/status.ts'
import { claimAdded } from './volume-events.ts'

/** Driver by volume, a volume being `DRIVER/HANDLE`. */
type Attachable = Map<string, string>

/** Keeps the number of a CSI driver's volumes on a node within what the driver reported in the node's CSINode. */
export function nodeVolumeLimits(view: VolumeView): Plugin {
  const exceeded = unschedulable('node(s) exceed max volume count')

  /** A claim without a volume counts for the driver of its class, under a handle of its own. */
  const byClass = (claim: corev1.PersistentVolumeClaim, csiNode: storagev1.CSINode | undefined): { driver: string; handle: string } | undefined => {
    const storageClass = view.storageClass(classOfClaim(claim))
    if (!storageClass) return undefined
    const { provisioner } = storageClass
    const migrated = migratedDriver(provisioner)
    if (migrated && !isMigratedOn(csiNode, provisioner)) return undefined
    return { driver: migrated ?? provisioner, handle: `claim:${claim.metadata.namespace}/${claim.metadata.name}` }
  }

  const ofClaim = (claim: corev1.PersistentVolumeClaim, csiNode: storagev1.CSINode | undefined) => {
    const volume = claim.spec.volumeName ? view.volumes.shown(claim.spec.volumeName) : undefined
    if (!volume) return byClass(claim, csiNode)
    const { csi } = volume.spec
    return csi ? { driver: csi.driver, handle: csi.volumeHandle } : migratedSource(volume.spec, csiNode)
  }

  /** Adds the volumes of a Pod that a driver attaches. Only of the new Pod must every claim be there. */
  const collect = (pod: corev1.Pod, csiNode: storagev1.CSINode | undefined, isNew: boolean, into: Attachable): Status | undefined => {
    for (const v of pod.spec.volumes ?? []) {
      const claimName = claimNameOf(pod, v)
      let found: { driver: string; handle: string } | undefined
      if (claimName === undefined) found = migratedSource(v, csiNode)
      else {
        const key = `${pod.metadata.namespace}/${claimName}`
        const claim = view.claims.shown(key)
        if (!claim) {
          if (isNew) return unresolvable(`looking up PVC ${key}: persistentvolumeclaim ${JSON.stringify(claimName)} not found`)
          continue
        }
        const foreign = v.ephemeral && foreignClaim(pod, claim)
        if (foreign) throw new PluginError(`running "NodeVolumeLimits" filter plugin: ${foreign}`)
        found = ofClaim(claim, csiNode)
      }
      if (found?.driver && found.handle) into.set(`${found.driver}/${found.handle}`, found.driver)
    }
    return undefined
  }

  const collectAttached = (node: string, into: Attachable): void => {
    for (const { spec } of view.attachments(node)) {
      const name = spec.source.persistentVolumeName
      const csi = name ? view.volumes.shown(name)?.spec.csi : undefined
      if (csi) into.set(`${spec.attacher}/${csi.volumeHandle}`, spec.attacher)
    }
  }

  const counts = (v: corev1.Volume) => v.persistentVolumeClaim !== undefined || v.ephemeral !== undefined || isMigratable(v)

  return {
    name: 'NodeVolumeLimits',
    events: () => [
      {
        resource: 'CSINode',
        actions: ['Add', 'Update'],
        hint(_, e) {
          if (e.old === undefined) return true
          const before = limitsOf(e.old as storagev1.CSINode)
          for (const [driver, limit] of limitsOf(e.new as storagev1.CSINode)) if (limit > (before.get(driver) ?? 0)) return true
          return false
        },
      },
      { resource: 'AssignedPod', actions: ['Delete'], hint: (_, e) => (e.old as corev1.Pod).spec.volumes?.some(counts) ?? false },
      claimAdded,
      {
        resource: 'VolumeAttachment',
        actions: ['Delete'],
        hint(pod, e) {
          const { spec } = e.old as storagev1.VolumeAttachment
          const wanted: Attachable = new Map()
          try {
            if (collect(pod.pod, view.csiNode(spec.nodeName), true, wanted)) return true
          } catch {
            return true
          }
          return [...wanted.values()].includes(spec.attacher)
        },
      },
    ],
    preFilter: (_, pod) => (pod.pod.spec.volumes?.some(counts) ? undefined : skip),
    filter(_, pod, node) {
      const csiNode = view.csiNode(node.name)
      const wanted: Attachable = new Map()
      const missing = collect(pod.pod, csiNode, true, wanted)
      if (missing || wanted.size === 0 || !csiNode) return missing
      const limits = limitsOf(csiNode)
      if (limits.size === 0) return undefined
      const there: Attachable = new Map()
      for (const other of node.pods.values()) collect(other.pod, csiNode, false, there)
      collectAttached(node.name, there)
      const total = new Map<string, number>()
      for (const driver of there.values()) total.set(driver, (total.get(driver) ?? 0) + 1)
      const added = new Set<string>()
      for (const [volume, driver] of wanted) {
        if (there.has(volume)) continue
        total.set(driver, (total.get(driver) ?? 0) + 1)
        added.add(driver)
      }
      for (const driver of added) if ((total.get(driver) as number) > (limits.get(driver) ?? Number.POSITIVE_INFINITY)) return exceeded
      return undefined
    },
  }
}

function limitsOf(csiNode: storagev1.CSINode): Map<string, number> {
  const limits = new Map<string, number>()
  for (const d of csiNode.spec.drivers ?? []) if (d.allocatable?.count !== undefined) limits.set(d.name, d.allocatable.count)
  return limits
}
