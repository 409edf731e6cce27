import type { Pod } from '../../api/core/v1/types.generated.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { findPodCondition, isPodReady, isSidecar } from '../../component-helpers/pod-conditions.ts'

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'
const PHASES: Record<string, number> = { Pending: 0, Unknown: 1, Running: 2 }

/** How Pods compete for staying: sorted, the first is the first to go. */
export interface RankedPod {
  pod: Pod
  /** Number of related active Pods on the same node. */
  rank: number
}

const phaseOf = (pod: Pod): number => PHASES[pod.status?.phase ?? ''] ?? 0

function byAssignmentPhaseReady(a: Pod, b: Pod): number {
  const assigned = (a.spec.nodeName ? 1 : 0) - (b.spec.nodeName ? 1 : 0)
  if (assigned !== 0) return assigned
  const phase = phaseOf(a) - phaseOf(b)
  if (phase !== 0) return phase
  return (isPodReady(a) ? 1 : 0) - (isPodReady(b) ? 1 : 0)
}

function restarts(pod: Pod, sidecars: boolean): number {
  if (!sidecars) return Math.max(0, ...(pod.status?.containerStatuses ?? []).map((s) => s.restartCount))
  const names = new Set((pod.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name))
  return Math.max(0, ...(pod.status?.initContainerStatuses ?? []).filter((s) => names.has(s.name)).map((s) => s.restartCount))
}

const readySince = (pod: Pod): number | undefined => (isPodReady(pod) ? timeMs(findPodCondition(pod, 'Ready')?.lastTransitionTime) : undefined)
const created = (pod: Pod): number | undefined => timeMs(pod.metadata.creationTimestamp)

/** Newer first; unknown counts as newest. */
function newerFirst(a: number | undefined, b: number | undefined): number {
  if (a === b) return 0
  if (a === undefined) return -1
  if (b === undefined) return 1
  return b - a
}

/** Newer first by the power of two of the age in ns, so that ages that are alike fall to chance, here: the uid. */
function logNewerFirst(a: number | undefined, b: number | undefined, now: number, pa: Pod, pb: Pod): number {
  if (a === undefined || b === undefined) return newerFirst(a, b)
  const bucket = (t: number) => (now - t <= 0 ? 0 : Math.floor(Math.log2((now - t) * 1e6)))
  const difference = bucket(a) - bucket(b)
  if (difference !== 0) return difference
  return (pa.metadata.uid ?? '') < (pb.metadata.uid ?? '') ? -1 : 1
}

function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[DELETION_COST]
  if (text === undefined || !/^(0|-?[1-9][0-9]*)$/.test(text)) return 0
  const cost = Number(text)
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0
}

/** Order in which a ReplicaSet gives up its Pods. @param now ms since the epoch */
export function compareForDeletion(a: RankedPod, b: RankedPod, now: number): number {
  const first = byAssignmentPhaseReady(a.pod, b.pod)
  if (first !== 0) return first
  const cost = deletionCost(a.pod) - deletionCost(b.pod)
  if (cost !== 0) return cost
  if (a.rank !== b.rank) return b.rank - a.rank
  const ra = readySince(a.pod)
  const rb = readySince(b.pod)
  if (isPodReady(a.pod) && isPodReady(b.pod) && ra !== rb) {
    return logNewerFirst(ra, rb, now, a.pod, b.pod)
  }
  const restarted = restarts(b.pod, false) - restarts(a.pod, false) || restarts(b.pod, true) - restarts(a.pod, true)
  if (restarted !== 0) return restarted
  const ca = created(a.pod)
  const cb = created(b.pod)
  return ca === cb ? 0 : logNewerFirst(ca, cb, now, a.pod, b.pod)
}

/** The simpler order of Jobs and others. */
export function compareActivePods(a: Pod, b: Pod): number {
  return (
    byAssignmentPhaseReady(a, b) ||
    (isPodReady(a) && isPodReady(b) ? newerFirst(readySince(a), readySince(b)) : 0) ||
    restarts(b, false) - restarts(a, false) ||
    newerFirst(created(a), created(b))
  )
}
