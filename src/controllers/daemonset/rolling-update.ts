import type { DaemonSet } from '../../api/apps/v1/types.generated.ts'
import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { scaledValue } from '../../apimachinery/intstr.ts'
import { isPodAvailable } from '../../component-helpers/pod-conditions.ts'
import { GENERATION_LABEL, HASH_LABEL, placementOn, templateGeneration } from './placement.ts'

export function isUpdated(pod: Pod, set: DaemonSet, hash: string): boolean {
  const generation = templateGeneration(set)
  const labels = pod.metadata.labels ?? {}
  return (hash !== '' && labels[HASH_LABEL] === hash) || (generation !== undefined && labels[GENERATION_LABEL] === generation)
}

export function allowsSurge(set: DaemonSet): boolean {
  if (set.spec.updateStrategy.type !== 'RollingUpdate') return false
  const surge = set.spec.updateStrategy.rollingUpdate?.maxSurge
  return surge !== undefined && scaledValue(surge, 100, true) > 0
}

/** The one live Pod of each side on a node; undefined when there are several of one side. */
export function splitPods(pods: readonly Pod[], set: DaemonSet, hash: string): { updated: Pod | undefined; old: Pod | undefined } | undefined {
  let updated: Pod | undefined
  let old: Pod | undefined
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp) continue
    if (isUpdated(pod, set, hash)) {
      if (updated) return undefined
      updated = pod
    } else {
      if (old) return undefined
      old = pod
    }
  }
  return { updated, old }
}

export interface RollInput {
  set: DaemonSet
  hash: string
  nodes: readonly Node[]
  podsOn: ReadonlyMap<string, readonly Pod[]>
  now: number
}

export interface RollStep {
  remove: Pod[]
  createOn: string[]
}

/** What the next step of a rolling update deletes and creates. */
export function rollingUpdateStep(input: RollInput): RollStep {
  const { set, nodes } = input
  const desired = nodes.filter((n) => placementOn(set, n).shouldRun).length
  const strategy = set.spec.updateStrategy.rollingUpdate
  let maxUnavailable = scaledValue(strategy?.maxUnavailable ?? 1, desired, true)
  const maxSurge = scaledValue(strategy?.maxSurge ?? 0, desired, true)
  if (desired > 0 && maxUnavailable === 0 && maxSurge === 0) maxUnavailable = 1
  return maxSurge === 0 ? replaceStep(input, maxUnavailable) : surgeStep(input, maxSurge, desired)
}

const byNode = (podsOn: ReadonlyMap<string, readonly Pod[]>) => [...podsOn].sort(([a], [b]) => (a < b ? -1 : 1))

function replaceStep({ set, hash, podsOn, now }: RollInput, maxUnavailable: number): RollStep {
  const available = (pod: Pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)
  const broken: Pod[] = []
  const candidates: Pod[] = []
  let unavailable = 0
  for (const [, pods] of byNode(podsOn)) {
    const sides = splitPods(pods, set, hash)
    if (!sides || (!sides.updated && !sides.old) || (sides.updated && sides.old)) unavailable++
    else if (sides.updated) {
      if (!available(sides.updated)) unavailable++
    } else if (sides.old) {
      if (!available(sides.old)) {
        // It serves nobody: replacing it costs nothing.
        broken.push(sides.old)
        unavailable++
      } else if (unavailable < maxUnavailable) candidates.push(sides.old)
    }
  }
  return { remove: [...broken, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))], createOn: [] }
}

function surgeStep({ set, hash, nodes, podsOn, now }: RollInput, maxSurge: number, desired: number): RollStep {
  const available = (pod: Pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)
  const nodeByName = new Map(nodes.map((n) => [n.metadata.name ?? '', n]))
  const shouldRun = (name: string) => {
    const node = nodeByName.get(name)
    return node !== undefined && placementOn(set, node).shouldRun
  }
  const remove: Pod[] = []
  const leaving: Pod[] = []
  const allowed: string[] = []
  const candidates: string[] = []
  let surging = 0
  let numAvailable = 0
  for (const [name, pods] of byNode(podsOn)) {
    const sides = splitPods(pods, set, hash)
    if (!sides) {
      surging++
      continue
    }
    const { updated, old } = sides
    const serving = old ?? updated
    if (serving && available(serving)) numAvailable++
    if (!old) continue
    if (!updated) {
      if (!shouldRun(name)) (available(old) ? leaving : remove).push(old)
      else if (!available(old)) allowed.push(name)
      else if (surging < maxSurge) candidates.push(name)
    } else if (available(updated)) remove.push(old)
    else surging++
  }
  const spare = Math.max(0, numAvailable - desired)
  return {
    remove: [...remove, ...leaving.slice(0, spare)],
    createOn: [...allowed, ...candidates.slice(0, Math.max(0, maxSurge - surging))],
  }
}
