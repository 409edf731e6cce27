import type { DaemonSet, DaemonSetStatus } from '../../api/apps/v1/types.generated.ts'
import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { isPodAvailable, isPodReady } from '../../component-helpers/pod-conditions.ts'
import { placementOn } from './placement.ts'
import { isUpdated } from './rolling-update.ts'

/** Assigned Pods first, then the oldest, then by name: the one that stands for its node. */
export function standingFirst(a: Pod, b: Pod): number {
  const assigned = (b.spec.nodeName ? 1 : 0) - (a.spec.nodeName ? 1 : 0)
  if (assigned !== 0) return assigned
  const [ta, tb] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
  if (ta !== tb) return ta < tb ? -1 : 1
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
}

export function daemonSetStatus(
  set: DaemonSet,
  nodes: readonly Node[],
  podsOn: ReadonlyMap<string, readonly Pod[]>,
  options: { hash: string; observe: boolean; now: number },
): DaemonSetStatus {
  let desired = 0
  let current = 0
  let misscheduled = 0
  let ready = 0
  let available = 0
  let updated = 0
  for (const node of nodes) {
    const { shouldRun } = placementOn(set, node)
    const pods = podsOn.get(node.metadata.name ?? '') ?? []
    if (!shouldRun) {
      if (pods.length > 0) misscheduled++
      continue
    }
    desired++
    if (pods.length === 0) continue
    current++
    const pod = [...pods].sort(standingFirst)[0] as Pod
    if (isPodReady(pod)) {
      ready++
      if (isPodAvailable(pod, set.spec.minReadySeconds ?? 0, options.now)) available++
    }
    if (isUpdated(pod, set, options.hash)) updated++
  }
  const unavailable = desired - available
  const observed = options.observe ? set.metadata.generation : set.status.observedGeneration
  return {
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    ...(observed ? { observedGeneration: observed } : {}),
    ...(updated ? { updatedNumberScheduled: updated } : {}),
    ...(available ? { numberAvailable: available } : {}),
    ...(unavailable ? { numberUnavailable: unavailable } : {}),
    ...(set.status.collisionCount === undefined ? {} : { collisionCount: set.status.collisionCount }),
    ...(set.status.conditions?.length ? { conditions: set.status.conditions } : {}),
  }
}
