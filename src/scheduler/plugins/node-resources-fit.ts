import type { corev1 } from '../../api/index.ts'
import type { NodeInfo } from '../framework/node-info.ts'
import type { Plugin } from '../framework/plugin.ts'
import { type PodInfo, podInfo } from '../framework/pod-info.ts'
import { Resources } from '../framework/resources.ts'
import type { Status } from '../framework/status.ts'
import { isSelf } from './node-checks.ts'

export interface ScoredResource {
  name: string
  weight: number
}

export interface FitArgs {
  strategy: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio'
  resources: readonly ScoredResource[]
  /** For RequestedToCapacityRatio: utilization 0..100 to score 0..10, ascending. */
  shape?: readonly { utilization: number; score: number }[]
  ignoredResources?: readonly string[]
  ignoredResourceGroups?: readonly string[]
}

export const DEFAULT_RESOURCES: readonly ScoredResource[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]

/** Refuses nodes without room; scores what room is left (or filled, by strategy). */
export function nodeResourcesFit(args: FitArgs = { strategy: 'LeastAllocated', resources: DEFAULT_RESOURCES }): Plugin {
  const ignored = (name: string) =>
    name.includes('/') &&
    ((args.ignoredResources?.includes(name) ?? false) || (args.ignoredResourceGroups?.includes(name.slice(0, name.indexOf('/'))) ?? false))
  return {
    name: 'NodeResourcesFit',
    events: () => [
      {
        resource: 'AssignedPod',
        actions: ['Delete', 'UpdatePodScaleDown'],
        hint(pod, e) {
          if (e.action === 'Delete') {
            const gone = e.old as corev1.Pod
            return !!(gone.spec.nodeName || gone.status.nominatedNodeName)
          }
          const before = podInfo(e.old as corev1.Pod).requests
          const after = podInfo(e.new as corev1.Pod).requests
          for (const [name] of pod.requests.entries()) if (after.get(name) < before.get(name)) return true
          return false
        },
      },
      { resource: 'UnschedulablePod', actions: ['UpdatePodScaleDown'], hint: (p, e) => isSelf(p.uid, e.new) },
      {
        resource: 'Node',
        actions: ['Add', 'UpdateNodeAllocatable'],
        hint(pod, e) {
          const now = Resources.of((e.new as corev1.Node).status.allocatable)
          for (const [name, want] of pod.requests.entries()) if (want > now.get(name) && !ignored(name)) return false
          if (now.pods < 1) return false
          if (e.old === undefined) return true
          const before = Resources.of((e.old as corev1.Node).status.allocatable)
          if (now.pods > before.pods) return true
          for (const [name] of pod.requests.entries()) if (now.get(name) > before.get(name)) return true
          return false
        },
      },
    ],
    filter: (_, pod, node) => fits(pod, node, ignored),
    score: (_, pod, node) => allocationScore(args, pod, node),
  }
}

/** Undefined when the Pod has room on the node, else all that is lacking. */
export function fits(pod: PodInfo, node: NodeInfo, ignored: (name: string) => boolean = () => false): Status | undefined {
  let reasons: string[] | undefined
  let unresolvable = false
  if (node.pods.size + 1 > node.allocatable.pods) reasons = ['Too many pods']
  const { requests } = pod
  const check = (name: string, want: number, allocatable: number, used: number) => {
    if (want > 0 && want > allocatable - used) {
      reasons ??= []
      reasons.push(`Insufficient ${name}`)
      if (want > allocatable) unresolvable = true
    }
  }
  check('cpu', requests.milliCpu, node.allocatable.milliCpu, node.requested.milliCpu)
  check('memory', requests.memory, node.allocatable.memory, node.requested.memory)
  check('ephemeral-storage', requests.ephemeralStorage, node.allocatable.ephemeralStorage, node.requested.ephemeralStorage)
  for (const [name, want] of requests.scalar) if (!ignored(name)) check(name, want, node.allocatable.get(name), node.requested.get(name))
  return reasons ? { code: unresolvable ? 'unresolvable' : 'unschedulable', reasons } : undefined
}

function allocationScore(args: FitArgs, pod: PodInfo, node: NodeInfo): number {
  let total = 0
  let weights = 0
  for (const { name, weight } of args.resources) {
    const allocatable = node.allocatable.get(name)
    if (allocatable === 0) continue
    const counted = name === 'cpu' || name === 'memory'
    if (!counted && name !== 'ephemeral-storage' && pod.requests.get(name) === 0) continue
    const requested = (counted ? node.nonZeroRequested : node.requested).get(name) + (counted ? pod.nonZero : pod.requests).get(name)
    if (args.strategy === 'LeastAllocated') total += weight * (requested > allocatable ? 0 : Math.trunc(((allocatable - requested) * 100) / allocatable))
    else if (args.strategy === 'MostAllocated') total += weight * Math.trunc((Math.min(requested, allocatable) * 100) / allocatable)
    else {
      const score = interpolate(args.shape ?? [], requested > allocatable ? 100 : Math.trunc((requested * 100) / allocatable))
      if (score <= 0) continue
      total += weight * score
    }
    weights += weight
  }
  if (weights === 0) return 0
  return args.strategy === 'RequestedToCapacityRatio' ? Math.round(total / weights) : Math.trunc(total / weights)
}

function interpolate(shape: readonly { utilization: number; score: number }[], utilization: number): number {
  for (let i = 0; i < shape.length; i++) {
    const point = shape[i] as { utilization: number; score: number }
    if (utilization > point.utilization) continue
    if (i === 0) return point.score * 10
    const before = shape[i - 1] as { utilization: number; score: number }
    return Math.trunc(before.score * 10 + ((point.score - before.score) * 10 * (utilization - before.utilization)) / (point.utilization - before.utilization))
  }
  return (shape.at(-1)?.score ?? 0) * 10
}

/** Prefers nodes whose resources a Pod leaves better balanced than they were. */
export function balancedAllocation(resources: readonly ScoredResource[] = DEFAULT_RESOURCES): Plugin {
  const fractionsSpread = (node: NodeInfo, pod: PodInfo, withPod: boolean): number => {
    const fractions: number[] = []
    for (const { name } of resources) {
      const allocatable = node.allocatable.get(name)
      if (allocatable === 0) continue
      if (name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage' && pod.requests.get(name) === 0) continue
      const used = node.requested.get(name) + (withPod ? pod.requests.get(name) : 0)
      fractions.push(Math.min(1, used / allocatable))
    }
    if (fractions.length < 2) return 0
    if (fractions.length === 2) return Math.abs((fractions[0] as number) - (fractions[1] as number)) / 2
    const mean = fractions.reduce((a, b) => a + b, 0) / fractions.length
    return Math.sqrt(fractions.reduce((a, f) => a + (f - mean) ** 2, 0) / fractions.length)
  }
  return {
    name: 'NodeResourcesBalancedAllocation',
    preScore: (_, pod) => (resources.some((r) => pod.requests.get(r.name) > 0) ? undefined : { code: 'skip', reasons: [] }),
    score(_, pod, node) {
      const after = Math.trunc((1 - fractionsSpread(node, pod, true)) * 100)
      const before = Math.trunc((1 - fractionsSpread(node, pod, false)) * 100)
      return 50 + Math.trunc((50 + after - before) / 2)
    },
  }
}
