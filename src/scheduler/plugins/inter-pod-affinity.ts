import type { corev1 } from '../../api/index.ts'
import type { NodeInfo } from '../framework/node-info.ts'
import type { ClusterView, Plugin, Snapshot } from '../framework/plugin.ts'
import { type PodInfo, podInfo } from '../framework/pod-info.ts'
import { type PodTerm, termMatches } from '../framework/pod-terms.ts'
import { skip, unresolvable, unschedulable } from '../framework/status.ts'

/** Counts of matching Pods by `key=value` of a topology. */
type Counts = Map<string, number>

interface FilterState {
  /** Existing Pods whose anti-affinity the new Pod would violate. */
  existingAnti: Counts
  affinity: Counts
  antiAffinity: Counts
}

const at = (key: string, value: string) => `${key}\0${value}`
const bump = (counts: Counts, key: string, by: number) => {
  const n = (counts.get(key) ?? 0) + by
  if (n === 0) counts.delete(key)
  else counts.set(key, n)
}

/** Pod affinity and anti-affinity, both ways: what the new Pod wants, and what Pods already there will not have. */
export function interPodAffinity(
  view: ClusterView,
  args: { hardPodAffinityWeight: number; ignorePreferredTermsOfExistingPods: boolean } = {
    hardPodAffinityWeight: 1,
    ignorePreferredTermsOfExistingPods: false,
  },
): Plugin {
  const matches = (term: PodTerm, pod: corev1.Pod) => termMatches(term, pod, (ns) => view.namespaceLabels(ns))
  const matchesAll = (terms: readonly PodTerm[], pod: corev1.Pod) => terms.length > 0 && terms.every((t) => matches(t, pod))
  const noAffinity = unresolvable("node(s) didn't match pod affinity rules")
  const ownAnti = unschedulable("node(s) didn't match pod anti-affinity rules")
  const othersAnti = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

  const count = (state: FilterState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: number) => {
    for (const t of other.requiredAntiAffinity) {
      const value = node.labels[t.topologyKey]
      if (value !== undefined && matches(t, pod.pod)) bump(state.existingAnti, at(t.topologyKey, value), sign)
    }
    if (matchesAll(pod.requiredAffinity, other.pod)) {
      for (const t of pod.requiredAffinity) {
        const value = node.labels[t.topologyKey]
        if (value !== undefined) bump(state.affinity, at(t.topologyKey, value), sign)
      }
    }
    for (const t of pod.requiredAntiAffinity) {
      const value = node.labels[t.topologyKey]
      if (value !== undefined && matches(t, other.pod)) bump(state.antiAffinity, at(t.topologyKey, value), sign)
    }
  }

  return {
    name: 'InterPodAffinity',
    events: () => [
      {
        resource: 'AssignedPod',
        actions: ['Add', 'UpdatePodLabel', 'Delete'],
        hint(pod, e) {
          const now = e.new as corev1.Pod | undefined
          const before = e.old as corev1.Pod | undefined
          if (now && matchesAll(pod.requiredAffinity, now) && !(before && matchesAll(pod.requiredAffinity, before))) return true
          if (before && pod.requiredAntiAffinity.some((t) => matches(t, before)) && !(now && pod.requiredAntiAffinity.some((t) => matches(t, now)))) return true
          return e.action === 'Delete' && before !== undefined && podInfo(before).requiredAntiAffinity.some((t) => matches(t, pod.pod))
        },
      },
      {
        resource: 'Node',
        actions: ['Add', 'UpdateNodeLabel'],
        hint(pod, e) {
          const terms = [...pod.requiredAffinity, ...pod.requiredAntiAffinity]
          if (terms.length === 0) return true
          const label = (n: unknown, k: string) => (n as corev1.Node | undefined)?.metadata.labels?.[k]
          return terms.some((t) => label(e.new, t.topologyKey) !== label(e.old, t.topologyKey))
        },
      },
    ],
    preFilter(state, pod, snapshot) {
      const s: FilterState = { existingAnti: new Map(), affinity: new Map(), antiAffinity: new Map() }
      const wantsAll = pod.requiredAffinity.length > 0 || pod.requiredAntiAffinity.length > 0
      for (const node of wantsAll ? snapshot.nodes : snapshot.nodesWithRequiredAntiAffinity()) {
        for (const other of (wantsAll ? node.pods : node.podsWithRequiredAntiAffinity).values()) count(s, pod, other, node, 1)
      }
      if (!wantsAll && s.existingAnti.size === 0) return skip
      state.set('InterPodAffinity', s)
      return undefined
    },
    cloneState(state) {
      const s = state as FilterState
      return { existingAnti: new Map(s.existingAnti), affinity: new Map(s.affinity), antiAffinity: new Map(s.antiAffinity) }
    },
    adjust(state, pod, other, node, sign) {
      const s = state.get('InterPodAffinity') as FilterState | undefined
      if (s) count(s, pod, other, node, sign)
    },
    filter(state, pod, node) {
      const s = state.get('InterPodAffinity') as FilterState
      if (pod.requiredAffinity.length > 0) {
        let all = true
        for (const t of pod.requiredAffinity) {
          const value = node.labels[t.topologyKey]
          if (value === undefined) return noAffinity
          if ((s.affinity.get(at(t.topologyKey, value)) ?? 0) <= 0) all = false
        }
        // The first of a group that wants its own company may start it.
        if (!all && !(s.affinity.size === 0 && matchesAll(pod.requiredAffinity, pod.pod))) return noAffinity
      }
      for (const t of pod.requiredAntiAffinity) {
        const value = node.labels[t.topologyKey]
        if (value !== undefined && (s.antiAffinity.get(at(t.topologyKey, value)) ?? 0) > 0) return ownAnti
      }
      if (s.existingAnti.size > 0)
        for (const key of Object.keys(node.labels)) if ((s.existingAnti.get(at(key, node.labels[key] as string)) ?? 0) > 0) return othersAnti
      return undefined
    },
    preScore(state, pod, _, snapshot) {
      const preferred = pod.preferredAffinity.length > 0 || pod.preferredAntiAffinity.length > 0
      if (args.ignorePreferredTermsOfExistingPods && !preferred) return skip
      const sums = preferenceSums(pod, snapshot, preferred)
      if (sums.size === 0) return skip
      state.set('InterPodAffinity.score', sums)
      return undefined
    },
    score(state, _, node) {
      const sums = state.get('InterPodAffinity.score') as Map<string, Map<string, number>>
      let score = 0
      for (const [key, values] of sums) {
        const value = node.labels[key]
        if (value !== undefined) score += values.get(value) ?? 0
      }
      return score
    },
    normalize(_, __, scores) {
      let min = Number.POSITIVE_INFINITY
      let max = Number.NEGATIVE_INFINITY
      for (const s of scores) {
        min = Math.min(min, s)
        max = Math.max(max, s)
      }
      for (let i = 0; i < scores.length; i++) scores[i] = max === min ? 0 : Math.trunc((100 * ((scores[i] as number) - min)) / (max - min))
    },
  }

  function preferenceSums(pod: PodInfo, snapshot: Snapshot, preferred: boolean): Map<string, Map<string, number>> {
    const sums = new Map<string, Map<string, number>>()
    const add = (key: string, node: NodeInfo, by: number) => {
      const value = node.labels[key]
      if (value === undefined || by === 0) return
      let values = sums.get(key)
      if (!values) sums.set(key, (values = new Map()))
      values.set(value, (values.get(value) ?? 0) + by)
    }
    for (const node of preferred ? snapshot.nodes : snapshot.nodesWithAffinity()) {
      for (const other of (preferred ? node.pods : node.podsWithAffinity).values()) {
        for (const t of pod.preferredAffinity) if (matches(t, other.pod)) add(t.topologyKey, node, t.weight)
        for (const t of pod.preferredAntiAffinity) if (matches(t, other.pod)) add(t.topologyKey, node, -t.weight)
        if (args.hardPodAffinityWeight > 0)
          for (const t of other.requiredAffinity) if (matches(t, pod.pod)) add(t.topologyKey, node, args.hardPodAffinityWeight)
        if (args.ignorePreferredTermsOfExistingPods) continue
        for (const t of other.preferredAffinity) if (matches(t, pod.pod)) add(t.topologyKey, node, t.weight)
        for (const t of other.preferredAntiAffinity) if (matches(t, pod.pod)) add(t.topologyKey, node, -t.weight)
      }
    }
    return sums
  }
}
