import type { Pod, PodCondition, PodStatus } from '../../api/core/v1/types.generated.ts'
import { deepEqual } from '../../base/index.ts'

export const OWNED_CONDITIONS = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
  'DisruptionTarget',
])

const FIELDS = [
  'observedGeneration',
  'phase',
  'message',
  'reason',
  'hostIP',
  'podIP',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'qosClass',
  'resources',
  'allocatedResources',
] as const

/**
 * The strategic merge patch that brings a Pod's status in the API to what the kubelet holds; undefined when there is nothing to
 * change. Conditions of others and fields the kubelet does not write stay as they are.
 */
export function statusPatch(pod: Pod, want: PodStatus): Record<string, unknown> | undefined {
  const have: PodStatus = pod.status ?? {}
  const status: Record<string, unknown> = {}
  for (const field of FIELDS) {
    const next = want[field]
    const now = have[field]
    const empty = next === undefined || next === '' || (Array.isArray(next) && next.length === 0)
    if (empty) {
      if (now !== undefined && now !== '' && now !== null && !(Array.isArray(now) && now.length === 0)) status[field] = null
    } else if (!same(next, now)) status[field] = next
  }
  for (const field of ['podIPs', 'hostIPs'] as const) {
    const next = want[field] ?? []
    const now = have[field] ?? []
    if (deepEqual(next, now)) continue
    const gone = now.filter((a) => !next.some((b) => b.ip === a.ip)).map((a) => ({ $patch: 'delete', ip: a.ip }))
    status[field] = [...next, ...gone]
    status[`$setElementOrder/${field}`] = next
  }
  const conditions = mergeConditions(have.conditions ?? [], want.conditions ?? [])
  const changed: unknown[] = []
  for (const c of conditions) {
    const old = have.conditions?.find((x) => x.type === c.type)
    if (!old || !same(old, c)) changed.push({ ...c, ...(c.lastProbeTime ? {} : { lastProbeTime: null }), ...removed(old, c) })
  }
  for (const old of have.conditions ?? []) if (!conditions.some((c) => c.type === old.type)) changed.push({ $patch: 'delete', type: old.type })
  const sameOrder = deepEqual(
    conditions.map((c) => c.type),
    (have.conditions ?? []).map((c) => c.type),
  )
  if (changed.length > 0 || !sameOrder) {
    if (changed.length > 0) status['conditions'] = changed
    status['$setElementOrder/conditions'] = conditions.map((c) => ({ type: c.type }))
  }
  if (Object.keys(status).length === 0) return undefined
  return { metadata: { uid: pod.metadata.uid }, status }
}

/** Others' conditions first, as they are; then the kubelet's in its own order. */
export function mergeConditions(have: readonly PodCondition[], want: readonly PodCondition[]): PodCondition[] {
  return [...have.filter((c) => !OWNED_CONDITIONS.has(c.type) && !want.some((w) => w.type === c.type)), ...want]
}

function removed(old: PodCondition | undefined, next: PodCondition): Record<string, null> {
  const out: Record<string, null> = {}
  if (old?.reason && !next.reason) out['reason'] = null
  if (old?.message && !next.message) out['message'] = null
  return out
}

/** Structural equality where nulls and absent fields are the same thing. */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (a === null || a === undefined) return b === null || b === undefined
  if (b === null || b === undefined || typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((x, i) => same(x, b[i]))
  const x = a as Record<string, unknown>
  const y = b as Record<string, unknown>
  for (const k of Object.keys(x)) if (!same(x[k], Object.hasOwn(y, k) ? y[k] : undefined)) return false
  for (const k of Object.keys(y)) if (!Object.hasOwn(x, k) && y[k] !== null && y[k] !== undefined) return false
  return true
}
