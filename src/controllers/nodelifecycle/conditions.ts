import type { Node, NodeCondition, Taint } from '../../api/core/v1/types.generated.ts'
import { formatTime } from '../../apimachinery/time.ts'

export const NOT_READY = 'node.kubernetes.io/not-ready'
export const UNREACHABLE = 'node.kubernetes.io/unreachable'
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable'

/** The taint, effect NoSchedule, that a condition's status calls for. */
const BY_CONDITION: Record<string, Record<string, string>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
}
const OURS = new Set([...Object.values(BY_CONDITION).flatMap((m) => Object.values(m)), UNSCHEDULABLE])
const WATCHED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

export function conditionOf(node: Node, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((c) => c.type === type)
}

/** The taints the node should have, from those it has: NoSchedule ones of conditions are ours to add and take. */
export function noScheduleTaints(node: Node, taints: readonly Taint[], now: number): Taint[] {
  const wanted = new Set<string>()
  for (const c of node.status?.conditions ?? []) {
    const key = BY_CONDITION[c.type]?.[c.status]
    if (key) wanted.add(key)
  }
  if (node.spec?.unschedulable) wanted.add(UNSCHEDULABLE)
  const kept = taints.filter((t) => t.effect !== 'NoSchedule' || !OURS.has(t.key) || wanted.delete(t.key))
  return [...kept, ...[...wanted].map((key): Taint => ({ key, effect: 'NoSchedule', timeAdded: formatTime(now) }))]
}

/** The NoExecute taint readiness calls for; at most one of the two is there. */
export function noExecuteTaints(key: string | undefined, taints: readonly Taint[], now: number): Taint[] {
  const isOurs = (t: Taint) => t.effect === 'NoExecute' && (t.key === NOT_READY || t.key === UNREACHABLE)
  if (key === undefined) return taints.filter((t) => !isOurs(t))
  const kept = taints.filter((t) => !isOurs(t) || t.key === key)
  return kept.some((t) => isOurs(t)) ? kept : [...kept, { key, effect: 'NoExecute', timeAdded: formatTime(now) }]
}

/** The conditions of a node that has been silent for too long; undefined when they say so already. */
export function silentConditions(node: Node, now: number): NodeCondition[] | undefined {
  const time = formatTime(now)
  const conditions = [...(node.status?.conditions ?? [])]
  let changed = false
  for (const type of WATCHED) {
    const i = conditions.findIndex((c) => c.type === type)
    const old = conditions[i]
    if (!old) {
      conditions.push({
        type,
        status: 'Unknown',
        ...(node.metadata.creationTimestamp ? { lastHeartbeatTime: node.metadata.creationTimestamp } : {}),
        lastTransitionTime: time,
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
      })
      changed = true
    } else if (old.status !== 'Unknown') {
      conditions[i] = { ...old, status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.', lastTransitionTime: time }
      changed = true
    }
  }
  return changed ? conditions : undefined
}
