import type { corev1, storagev1 } from '../../api/index.ts'
import { labelValues } from '../../component-helpers/csi-migration.ts'
import { classOfClaim, waitsForConsumer } from '../../component-helpers/volume-matching.ts'
import type { Plugin, VolumeView } from '../framework/plugin.ts'
import type { PodInfo } from '../framework/pod-info.ts'
import { isRejected, type Status, skip, unresolvable } from '../framework/status.ts'
import { claimChanged } from './volume-events.ts'

/** Keys of zones and regions, each with its other spelling. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
  ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
])

interface Topology {
  readonly key: string
  readonly values: ReadonlySet<string>
}

/** Keeps Pods in the zones and regions that their volumes' labels name. */
export function volumeZone(view: VolumeView): Plugin {
  const name = 'VolumeZone'
  const rejected = unresolvable('node(s) had no available volume zone')

  const topologiesOf = (volume: corev1.PersistentVolume): Topology[] => {
    const out: Topology[] = []
    const labels = volume.metadata.labels ?? {}
    for (const key of KEYS.keys()) {
      const values = Object.hasOwn(labels, key) ? labelValues(labels[key] as string) : undefined
      if (values) out.push({ key, values })
    }
    return out
  }

  const topologies = (pod: PodInfo): Topology[] | Status => {
    const out: Topology[] = []
    for (const key of pod.claims) {
      const claimName = key.slice(key.indexOf('/') + 1)
      if (!claimName) return unresolvable('PersistentVolumeClaim had no name')
      const claim = view.claims.shown(key)
      if (!claim) return unresolvable(`persistentvolumeclaim ${JSON.stringify(claimName)} not found`)
      if (!claim.spec.volumeName) {
        const className = classOfClaim(claim)
        if (!className) return unresolvable('PersistentVolumeClaim had no pv name and storageClass name')
        const storageClass = view.storageClass(className)
        if (!storageClass) return unresolvable(`storageclass.storage.k8s.io ${JSON.stringify(className)} not found`)
        if (!storageClass.volumeBindingMode) return unresolvable(`VolumeBindingMode not set for StorageClass ${JSON.stringify(className)}`)
        if (!waitsForConsumer(storageClass)) return unresolvable('PersistentVolume had no name')
        continue
      }
      const volume = view.volumes.shown(claim.spec.volumeName)
      if (!volume) return unresolvable(`persistentvolume ${JSON.stringify(claim.spec.volumeName)} not found`)
      out.push(...topologiesOf(volume))
    }
    return out
  }

  return {
    name,
    events: () => [
      { resource: 'StorageClass', actions: ['Add'], hint: (_, e) => waitsForConsumer(e.new as storagev1.StorageClass) },
      { resource: 'Node', actions: ['Add', 'UpdateNodeLabel'] },
      claimChanged,
      {
        resource: 'PersistentVolume',
        actions: ['Add', 'Update'],
        hint(_, e) {
          if (e.old === undefined) return true
          const before = (e.old as corev1.PersistentVolume).metadata.labels ?? {}
          const after = (e.new as corev1.PersistentVolume).metadata.labels ?? {}
          return [...KEYS.keys()].some((k) => before[k] !== after[k])
        },
      },
    ],
    preFilter(state, pod) {
      if (pod.claims.length === 0) return skip
      const found = topologies(pod)
      if (!Array.isArray(found)) return found
      if (found.length === 0) return skip
      state.set(name, found)
      return undefined
    },
    filter(state, pod, node) {
      const labels = node.labels
      if (![...KEYS.keys()].some((k) => Object.hasOwn(labels, k))) return undefined
      // Without a PreFilter of this cycle the volumes are looked up now.
      const found = (state.get(name) as Topology[] | undefined) ?? topologies(pod)
      if (!Array.isArray(found)) return isRejected(found) ? found : undefined
      for (const { key, values } of found) {
        const value = Object.hasOwn(labels, key) ? labels[key] : labels[KEYS.get(key) as string]
        if (value === undefined || !values.has(value)) return rejected
      }
      return undefined
    },
  }
}
