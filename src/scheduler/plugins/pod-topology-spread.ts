import type { corev1 } from '../../api/index.ts'
import { matchesRequiredNodeAffinity } from '../../component-helpers/node-affinity.ts'
import { toleratesTaint } from '../../component-helpers/taints.ts'
import type { NodeInfo } from '../framework/node-info.ts'
import type { ClusterView, Plugin, Snapshot } from '../framework/plugin.ts'
import type { PodInfo } from '../framework/pod-info.ts'
import { type LabelMatcher, matchLabelSelector } from '../framework/pod-terms.ts'
import { skip, unresolvable, unschedulable } from '../framework/status.ts'
import { isSelf } from './node-checks.ts'

const HOSTNAME = 'kubernetes.io/hostname'

interface Constraint {
  maxSkew: number
  key: string
  matches: LabelMatcher
  minDomains: number
  honorAffinity: boolean
  honorTaints: boolean
}

interface FilterState {
  constraints: Constraint[]
  /** Per constraint: domain value to the number of matching Pods. */
  counts: Map<string, number>[]
}

interface ScoreState {
  constraints: Constraint[]
  counts: Map<string, number>[]
  weights: number[]
  ignored: Set<string>
}

/** Spreads Pods over domains of a topology key (KEP-895), with the system's soft defaults for Pods that say nothing. */
export function podTopologySpread(view: ClusterView): Plugin {
  const missingLabel = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
  const skewed = unschedulable("node(s) didn't match pod topology spread constraints")
  return {
    name: 'PodTopologySpread',
    events: () => [
      {
        resource: 'AssignedPod',
        actions: ['Add', 'Delete', 'UpdatePodLabel'],
        hint(pod, e) {
          const other = (e.new ?? e.old) as corev1.Pod
          if (other.metadata.namespace !== pod.pod.metadata.namespace) return false
          return own(pod.pod, 'DoNotSchedule').some((c) => [e.old, e.new].some((o) => o !== undefined && c.matches((o as corev1.Pod).metadata.labels ?? {})))
        },
      },
      { resource: 'UnschedulablePod', actions: ['UpdatePodLabel', 'UpdatePodToleration'], hint: (p, e) => isSelf(p.uid, e.new) },
      {
        resource: 'Node',
        actions: ['Add', 'Delete', 'UpdateNodeLabel', 'UpdateNodeTaint'],
        hint(pod, e) {
          const keys = own(pod.pod, 'DoNotSchedule').map((c) => c.key)
          const has = (n: unknown) => n !== undefined && keys.every((k) => (n as corev1.Node).metadata.labels?.[k] !== undefined)
          return has(e.new) || has(e.old)
        },
      },
    ],
    preFilter(state, pod, snapshot) {
      const constraints = own(pod.pod, 'DoNotSchedule')
      if (constraints.length === 0) return skip
      const counts = constraints.map(() => new Map<string, number>())
      for (const node of snapshot.nodes) {
        if (!constraints.every((c) => node.labels[c.key] !== undefined)) continue
        constraints.forEach((c, i) => {
          if (!eligible(c, pod, node)) return
          const value = node.labels[c.key] as string
          const map = counts[i] as Map<string, number>
          map.set(value, (map.get(value) ?? 0) + matching(node, c, pod.pod.metadata.namespace))
        })
      }
      state.set('PodTopologySpread', { constraints, counts } satisfies FilterState)
      return undefined
    },
    cloneState: (s) => ({ constraints: (s as FilterState).constraints, counts: (s as FilterState).counts.map((m) => new Map(m)) }),
    adjust(state, pod, other, node, sign) {
      const s = state.get('PodTopologySpread') as FilterState | undefined
      if (!s || other.pod.metadata.namespace !== pod.pod.metadata.namespace || other.pod.metadata.deletionTimestamp) return
      s.constraints.forEach((c, i) => {
        const value = node.labels[c.key]
        if (value === undefined || !eligible(c, pod, node) || !c.matches(other.pod.metadata.labels ?? {})) return
        const map = s.counts[i] as Map<string, number>
        map.set(value, (map.get(value) ?? 0) + sign)
      })
    },
    filter(state, pod, node) {
      const s = state.get('PodTopologySpread') as FilterState
      for (let i = 0; i < s.constraints.length; i++) {
        const c = s.constraints[i] as Constraint
        const value = node.labels[c.key]
        if (value === undefined) return missingLabel
        const counts = s.counts[i] as Map<string, number>
        let min = counts.size < c.minDomains ? 0 : Number.POSITIVE_INFINITY
        if (min > 0) for (const n of counts.values()) if (n < min) min = n
        if (min === Number.POSITIVE_INFINITY) min = 0
        const self = c.matches(pod.pod.metadata.labels ?? {}) ? 1 : 0
        if ((counts.get(value) ?? 0) + self - min > c.maxSkew) return skewed
      }
      return undefined
    },
    preScore(state, pod, nodes, snapshot) {
      const explicit = own(pod.pod, 'ScheduleAnyway')
      const hasOwn = (pod.pod.spec.topologySpreadConstraints?.length ?? 0) > 0
      const constraints = hasOwn ? explicit : systemDefaults(pod.pod, view)
      if (constraints.length === 0) return skip
      state.set('PodTopologySpread.score', scoreState(constraints, hasOwn, pod, nodes, snapshot))
      return undefined
    },
    score(state, pod, node) {
      const s = state.get('PodTopologySpread.score') as ScoreState
      if (s.ignored.has(node.name)) return 0
      let score = 0
      for (let i = 0; i < s.constraints.length; i++) {
        const c = s.constraints[i] as Constraint
        const value = node.labels[c.key]
        if (value === undefined) continue
        const count = c.key === HOSTNAME ? matching(node, c, pod.pod.metadata.namespace) : ((s.counts[i] as Map<string, number>).get(value) ?? 0)
        score += count * (s.weights[i] as number) + (c.maxSkew - 1)
      }
      return Math.round(score)
    },
    normalize(state, _, scores, nodes) {
      const s = state.get('PodTopologySpread.score') as ScoreState
      let min = Number.POSITIVE_INFINITY
      let max = 0
      nodes.forEach((n, i) => {
        if (s.ignored.has(n.name)) return
        min = Math.min(min, scores[i] as number)
        max = Math.max(max, scores[i] as number)
      })
      nodes.forEach((n, i) => {
        if (s.ignored.has(n.name)) scores[i] = 0
        else scores[i] = max === 0 ? 100 : Math.trunc((100 * (max + min - (scores[i] as number))) / max)
      })
    },
  }
}

function scoreState(constraints: Constraint[], hasOwn: boolean, pod: PodInfo, nodes: readonly NodeInfo[], snapshot: Snapshot): ScoreState {
  const ignored = new Set<string>()
  const counts = constraints.map(() => new Map<string, number>())
  for (const node of nodes) {
    if (hasOwn && !constraints.every((c) => node.labels[c.key] !== undefined)) {
      ignored.add(node.name)
      continue
    }
    constraints.forEach((c, i) => {
      if (c.key !== HOSTNAME) (counts[i] as Map<string, number>).set(node.labels[c.key] ?? '', 0)
    })
  }
  const weights = constraints.map((c, i) => Math.log((c.key === HOSTNAME ? nodes.length - ignored.size : (counts[i] as Map<string, number>).size) + 2))
  for (const node of snapshot.nodes) {
    if (hasOwn && !constraints.every((c) => node.labels[c.key] !== undefined)) continue
    constraints.forEach((c, i) => {
      const value = node.labels[c.key]
      const map = counts[i] as Map<string, number>
      if (c.key === HOSTNAME || value === undefined || !map.has(value) || !eligible(c, pod, node)) return
      map.set(value, (map.get(value) as number) + matching(node, c, pod.pod.metadata.namespace))
    })
  }
  return { constraints, counts, weights, ignored }
}

function own(pod: corev1.Pod, when: 'DoNotSchedule' | 'ScheduleAnyway'): Constraint[] {
  return (pod.spec.topologySpreadConstraints ?? [])
    .filter((c) => c.whenUnsatisfiable === when)
    .map((c) => ({
      maxSkew: c.maxSkew,
      key: c.topologyKey,
      matches: matchLabelSelector(c.labelSelector),
      minDomains: c.minDomains ?? 1,
      honorAffinity: (c.nodeAffinityPolicy ?? 'Honor') === 'Honor',
      honorTaints: c.nodeTaintsPolicy === 'Honor',
    }))
}

function systemDefaults(pod: corev1.Pod, view: ClusterView): Constraint[] {
  const matches = view.defaultSpreadSelector(pod)
  if (!matches) return []
  const base = { matches, minDomains: 1, honorAffinity: true, honorTaints: false }
  return [
    { ...base, key: HOSTNAME, maxSkew: 3 },
    { ...base, key: 'topology.kubernetes.io/zone', maxSkew: 5 },
  ]
}

function eligible(c: Constraint, pod: PodInfo, node: NodeInfo): boolean {
  if (!node.node) return false
  if (c.honorAffinity && !matchesRequiredNodeAffinity(pod.pod, node.node)) return false
  if (c.honorTaints) {
    const tolerations = pod.pod.spec.tolerations ?? []
    for (const t of node.taints) if ((t.effect === 'NoSchedule' || t.effect === 'NoExecute') && !tolerations.some((x) => toleratesTaint(x, t))) return false
  }
  return true
}

function matching(node: NodeInfo, c: Constraint, namespace: string | undefined): number {
  let n = 0
  for (const info of node.pods.values()) {
    const { metadata } = info.pod
    if (metadata.namespace === namespace && !metadata.deletionTimestamp && c.matches(metadata.labels ?? {})) n++
  }
  return n
}
