import type { corev1 } from '../../api/index.ts'
import { matchesNodeSelectorTerm, matchesRequiredNodeAffinity } from '../../component-helpers/node-affinity.ts'
import type { Plugin } from '../framework/plugin.ts'
import { skip, unresolvable } from '../framework/status.ts'
import { normalizeDefault } from './normalize.ts'

/** nodeSelector and node affinity: required terms filter, preferred terms score. */
export function nodeAffinity(): Plugin {
  const rejected = unresolvable("node(s) didn't match Pod's node affinity/selector")
  const required = (pod: corev1.Pod) => pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const preferred = (pod: corev1.Pod) => pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return {
    name: 'NodeAffinity',
    events: () => [
      {
        resource: 'Node',
        actions: ['Add', 'UpdateNodeLabel'],
        hint(pod, e) {
          if (!matchesRequiredNodeAffinity(pod.pod, e.new as corev1.Node)) return false
          return e.old === undefined || !matchesRequiredNodeAffinity(pod.pod, e.old as corev1.Node)
        },
      },
    ],
    preFilter(_, pod) {
      const selector = required(pod.pod)
      if (!selector && !Object.keys(pod.pod.spec.nodeSelector ?? {}).length) return skip
      // Terms that name their nodes (as DaemonSets' do) narrow the search when every term does so.
      let names: Set<string> | undefined
      for (const term of selector?.nodeSelectorTerms ?? []) {
        const fields = (term.matchFields ?? []).filter((f) => f.key === 'metadata.name' && f.operator === 'In')
        if (fields.length === 0) return undefined
        let ofTerm: Set<string> | undefined
        for (const f of fields) {
          const values = new Set(f.values ?? [])
          ofTerm = ofTerm ? new Set([...ofTerm].filter((n) => values.has(n))) : values
        }
        names = new Set([...(names ?? []), ...(ofTerm ?? [])])
      }
      if (names && names.size === 0) return unresolvable('pod affinity terms conflict')
      return names
    },
    filter: (_, pod, node) => (node.node && matchesRequiredNodeAffinity(pod.pod, node.node) ? undefined : rejected),
    preScore: (_, pod) => (preferred(pod.pod).length === 0 ? skip : undefined),
    score(_, pod, node) {
      let score = 0
      for (const p of preferred(pod.pod)) if (p.weight !== 0 && node.node && matchesNodeSelectorTerm(p.preference, node.node)) score += p.weight
      return score
    },
    normalize: (_, __, scores) => normalizeDefault(scores),
  }
}
