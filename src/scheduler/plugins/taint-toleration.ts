import type { corev1 } from '../../api/index.ts'
import { toleratesTaint } from '../../component-helpers/taints.ts'
import type { Plugin } from '../framework/plugin.ts'
import { unresolvable } from '../framework/status.ts'
import { isSelf } from './node-checks.ts'
import { normalizeReversed } from './normalize.ts'

const hard = (t: corev1.Taint) => t.effect === 'NoSchedule' || t.effect === 'NoExecute'

function untolerated(taints: readonly corev1.Taint[], tolerations: readonly corev1.Toleration[]): boolean {
  return taints.some((taint) => hard(taint) && !tolerations.some((t) => toleratesTaint(t, taint)))
}

/** Refuses nodes with NoSchedule or NoExecute taints that the Pod does not tolerate; counts PreferNoSchedule ones against a node. */
export function taintToleration(): Plugin {
  const rejected = unresolvable('node(s) had untolerated taint(s)')
  return {
    name: 'TaintToleration',
    events: () => [
      {
        resource: 'Node',
        actions: ['Add', 'UpdateNodeTaint'],
        hint(pod, e) {
          const tolerations = pod.pod.spec.tolerations ?? []
          const before = e.old === undefined || untolerated((e.old as corev1.Node).spec.taints ?? [], tolerations)
          return before && !untolerated((e.new as corev1.Node).spec.taints ?? [], tolerations)
        },
      },
      { resource: 'UnschedulablePod', actions: ['UpdatePodToleration'], hint: (p, e) => isSelf(p.uid, e.new) },
    ],
    filter(_, pod, node) {
      const taints = node.taints
      return taints.length > 0 && untolerated(taints, pod.pod.spec.tolerations ?? []) ? rejected : undefined
    },
    preScore(state, pod) {
      state.set(
        'TaintToleration',
        (pod.pod.spec.tolerations ?? []).filter((t) => !t.effect || t.effect === 'PreferNoSchedule'),
      )
      return undefined
    },
    score(state, _, node) {
      const tolerations = state.get('TaintToleration') as corev1.Toleration[]
      let count = 0
      for (const taint of node.taints) if (taint.effect === 'PreferNoSchedule' && !tolerations.some((t) => toleratesTaint(t, taint))) count++
      return count
    },
    normalize: (_, __, scores) => normalizeReversed(scores),
  }
}
