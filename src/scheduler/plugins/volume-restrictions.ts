import type { corev1 } from '../../api/index.ts'
import type { Plugin, VolumeView } from '../framework/plugin.ts'
import { podInfo } from '../framework/pod-info.ts'
import { skip, unresolvable, unschedulable } from '../framework/status.ts'
import { claimAdded } from './volume-events.ts'

interface State {
  /** The Pod's claims that only one Pod may use. */
  readonly exclusive: ReadonlySet<string>
  /** How many of them others use; goes down as victims are tried off. */
  inUse: number
}

/** Volumes that allow only one user: claims of access mode ReadWriteOncePod, and disks written straight into Pods. */
export function volumeRestrictions(view: VolumeView): Plugin {
  const name = 'VolumeRestrictions'
  const diskTaken = unschedulable('node(s) had no available disk')
  const claimTaken = unschedulable('node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod')
  return {
    name,
    events: () => [
      {
        resource: 'AssignedPod',
        actions: ['Delete'],
        hint(pod, e) {
          const gone = e.old as corev1.Pod
          if (gone.metadata.namespace !== pod.pod.metadata.namespace) return false
          return disksConflict(pod.pod, gone) || podInfo(gone).claims.some((c) => pod.claims.includes(c))
        },
      },
      { resource: 'Node', actions: ['Add'] },
      claimAdded,
    ],
    preFilter(state, pod, snapshot) {
      const exclusive = new Set<string>()
      for (const key of pod.claims) {
        const claim = view.claims.shown(key)
        if (!claim) return unresolvable(`persistentvolumeclaim ${JSON.stringify(key.slice(key.indexOf('/') + 1))} not found`)
        if (claim.spec.accessModes?.includes('ReadWriteOncePod')) exclusive.add(key)
      }
      let inUse = 0
      for (const key of exclusive) if (snapshot.claimInUse(key)) inUse++
      if (inUse === 0 && !hasDisks(pod.pod)) return skip
      state.set(name, { exclusive, inUse } satisfies State)
      return undefined
    },
    adjust(state, _, other, __, sign) {
      const own = state.get(name) as State | undefined
      if (own) for (const key of other.claims) if (own.exclusive.has(key)) own.inUse += sign
    },
    cloneState: (state) => ({ ...(state as State) }),
    filter(state, pod, node) {
      if (hasDisks(pod.pod)) for (const other of node.pods.values()) if (disksConflict(pod.pod, other.pod)) return diskTaken
      return ((state.get(name) as State | undefined)?.inUse ?? 0) > 0 ? claimTaken : undefined
    },
  }
}

const isDisk = (v: corev1.Volume) => v.gcePersistentDisk !== undefined || v.awsElasticBlockStore !== undefined || v.rbd !== undefined || v.iscsi !== undefined
const hasDisks = (pod: corev1.Pod) => pod.spec.volumes?.some(isDisk) ?? false

function disksConflict(pod: corev1.Pod, other: corev1.Pod): boolean {
  return (pod.spec.volumes ?? []).some((v) => isDisk(v) && (other.spec.volumes ?? []).some((o) => sameDisk(v, o)))
}

/** One disk, and not both only read it (which EBS never allows). */
function sameDisk(a: corev1.Volume, b: corev1.Volume): boolean {
  const writes = (x: { readOnly?: boolean }, y: { readOnly?: boolean }) => !(x.readOnly && y.readOnly)
  if (a.gcePersistentDisk && b.gcePersistentDisk) {
    if (a.gcePersistentDisk.pdName === b.gcePersistentDisk.pdName && writes(a.gcePersistentDisk, b.gcePersistentDisk)) return true
  }
  if (a.awsElasticBlockStore && b.awsElasticBlockStore && a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID) return true
  if (a.iscsi && b.iscsi && a.iscsi.iqn === b.iscsi.iqn && writes(a.iscsi, b.iscsi)) return true
  const [x, y] = [a.rbd, b.rbd]
  return x !== undefined && y !== undefined && x.pool === y.pool && x.image === y.image && x.monitors.some((m) => y.monitors.includes(m)) && writes(x, y)
}
