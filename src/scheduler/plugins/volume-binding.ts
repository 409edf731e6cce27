import type { corev1, storagev1 } from '../../api/index.ts'
import { deepEqual } from '../../base/index.ts'
import { compareQuantities } from '../../component-helpers/amounts.ts'
import { MIGRATED_PLUGINS } from '../../component-helpers/csi-migration.ts'
import { claimNameOf, foreignClaim } from '../../component-helpers/volume-matching.ts'
import type { EventRegistration, Plugin, PluginHandle } from '../framework/plugin.ts'
import type { PodInfo } from '../framework/pod-info.ts'
import { errorStatus, type Status, skip, unresolvable } from '../framework/status.ts'
import { claimsOf, findPodVolumes, largestVolume, type PodClaims, type PodVolumes } from '../volumes/pod-volumes.ts'
import { PodVolumeBinder } from '../volumes/volume-binder.ts'
import { claimChanged } from './volume-events.ts'

interface State {
  readonly claims: PodClaims
  /** What each node that passed would need. */
  readonly byNode: Map<string, PodVolumes>
  reserved: PodVolumes | undefined
}

/**
 * Finds nodes on which the Pod's claims are, or can be, bound; promises them the volumes of the chosen one and waits, before the Pod is
 * bound, until the claims are. Classes that wait for a consumer learn of the node from here.
 */
export function volumeBinding(handle: PluginHandle): Plugin {
  const name = 'VolumeBinding'
  const view = handle.view.volumes
  const binder = new PodVolumeBinder(handle)
  const unbound = unresolvable('pod has unbound immediate PersistentVolumeClaims')

  /** undefined: all claims are there; skip: there are none. */
  const checkClaims = (pod: corev1.Pod): Status | undefined => {
    let any = false
    for (const v of pod.spec.volumes ?? []) {
      const claimName = claimNameOf(pod, v)
      if (claimName === undefined) continue
      any = true
      const claim = view.claims.shown(`${pod.metadata.namespace}/${claimName}`)
      const quoted = JSON.stringify(claimName)
      if (!claim) {
        return unresolvable(
          v.ephemeral ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted}` : `persistentvolumeclaim ${quoted} not found`,
        )
      }
      if (claim.status?.phase === 'Lost') {
        return unresolvable(`persistentvolumeclaim ${quoted} bound to non-existent persistentvolume ${JSON.stringify(claim.spec.volumeName ?? '')}`)
      }
      if (claim.metadata.deletionTimestamp) return unresolvable(`persistentvolumeclaim ${quoted} is being deleted`)
      const foreign = v.ephemeral && foreignClaim(pod, claim)
      if (foreign) return unresolvable(foreign)
    }
    return any ? undefined : skip
  }

  const stateOf = (state: ReadonlyMap<string, unknown>) => state.get(name) as State | undefined

  return {
    name,
    events,
    preFilter(state, pod) {
      const refused = checkClaims(pod.pod)
      if (refused) return refused
      const claims = claimsOf(view, pod.pod)
      if (claims.immediate.length > 0) return unbound
      state.set(name, { claims, byNode: new Map(), reserved: undefined } satisfies State)
      return undefined
    },
    filter(state, _, node) {
      const own = stateOf(state)
      if (!own || !node.node) return undefined
      try {
        const found = findPodVolumes(view, own.claims, node.node)
        if (Array.isArray(found)) return unresolvable(...found)
        own.byNode.set(node.name, found)
        return undefined
      } catch (e) {
        return errorStatus(e)
      }
    },
    // Scores only with storage capacity scoring (KEP-1472), which is off.
    reserve(state, _, nodeName) {
      const own = stateOf(state)
      const volumes = own?.byNode.get(nodeName)
      if (!own || !volumes || isEmpty(volumes)) return undefined
      try {
        own.reserved = binder.assume(volumes, nodeName)
        return undefined
      } catch (e) {
        return errorStatus(e)
      }
    },
    unreserve(state) {
      const own = stateOf(state)
      if (own?.reserved) binder.restore(own.reserved)
    },
    preBindNeeded: (state) => stateOf(state)?.reserved !== undefined,
    async preBind(state, pod: PodInfo, nodeName, signal) {
      const reserved = stateOf(state)?.reserved
      if (reserved) await binder.bind(pod, reserved, nodeName, signal)
      return undefined
    },
  }
}

const isEmpty = (volumes: PodVolumes) => volumes.bindings.length === 0 && volumes.provisions.length === 0

function events(): EventRegistration[] {
  return [
    {
      resource: 'StorageClass',
      actions: ['Add', 'Update'],
      hint: (_, e) =>
        e.old === undefined || !deepEqual((e.old as storagev1.StorageClass).allowedTopologies ?? [], (e.new as storagev1.StorageClass).allowedTopologies ?? []),
    },
    claimChanged,
    { resource: 'PersistentVolume', actions: ['Add', 'Update'] },
    { resource: 'Node', actions: ['Add', 'UpdateNodeLabel'] },
    {
      resource: 'CSINode',
      actions: ['Add', 'Update'],
      hint: (_, e) => {
        const migrated = (n: unknown) => (n as storagev1.CSINode).metadata.annotations?.[MIGRATED_PLUGINS]
        return e.old === undefined || migrated(e.old) !== migrated(e.new)
      },
    },
    {
      resource: 'CSIDriver',
      actions: ['Update'],
      hint: (_, e) => !!(e.old as storagev1.CSIDriver).spec.storageCapacity && !(e.new as storagev1.CSIDriver).spec.storageCapacity,
    },
    {
      resource: 'CSIStorageCapacity',
      actions: ['Add', 'Update'],
      hint(_, e) {
        if (e.old === undefined) return true
        const before = largestVolume(e.old as storagev1.CSIStorageCapacity)
        const after = largestVolume(e.new as storagev1.CSIStorageCapacity)
        return after !== undefined && (before === undefined || compareQuantities(after, before) > 0)
      },
    },
  ]
}
