import type { corev1 } from '../../api/index.ts'
import { toleratesTaint } from '../../component-helpers/taints.ts'
import type { EventRegistration, Plugin } from '../framework/plugin.ts'
import { unresolvable } from '../framework/status.ts'

const UNSCHEDULABLE_TAINT = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as corev1.Taint

/** Refuses cordoned nodes, unless the Pod tolerates the cordon's taint. */
export function nodeUnschedulable(): Plugin {
  const rejected = unresolvable('node(s) were unschedulable')
  return {
    name: 'NodeUnschedulable',
    events: (): EventRegistration[] => [
      { resource: 'Node', actions: ['Add', 'UpdateNodeTaint'], hint: (_, e) => !(e.new as corev1.Node).spec.unschedulable },
      {
        resource: 'UnschedulablePod',
        actions: ['UpdatePodToleration'],
        hint: (p, e) => isSelf(p.uid, e.new) && ((e.new as corev1.Pod).spec.tolerations ?? []).some((t) => toleratesTaint(t, UNSCHEDULABLE_TAINT)),
      },
    ],
    filter(_, pod, node) {
      if (!node.node?.spec.unschedulable) return undefined
      return (pod.pod.spec.tolerations ?? []).some((t) => toleratesTaint(t, UNSCHEDULABLE_TAINT)) ? undefined : rejected
    },
  }
}

/** Keeps a Pod that names its node to that node. */
export function nodeName(): Plugin {
  const rejected = unresolvable("node(s) didn't match the requested node name")
  return {
    name: 'NodeName',
    events: () => [{ resource: 'Node', actions: ['Add'] }],
    filter: (_, pod, node) => (!pod.pod.spec.nodeName || pod.pod.spec.nodeName === node.name ? undefined : rejected),
  }
}

/** Holds Pods back while they have scheduling gates (KEP-3521). */
export function schedulingGates(): Plugin {
  return {
    name: 'SchedulingGates',
    events: () => [{ resource: 'UnschedulablePod', actions: ['UpdatePodSchedulingGatesEliminated'], hint: (p, e) => isSelf(p.uid, e.new) }],
    preEnqueue(pod) {
      const gates = pod.pod.spec.schedulingGates ?? []
      return gates.length === 0 ? undefined : unresolvable(`waiting for scheduling gates: [${gates.map((g) => g.name).join(' ')}]`)
    },
  }
}

/** True when an event is about this very Pod. */
export function isSelf(uid: string, object: unknown): boolean {
  return (object as corev1.Pod | undefined)?.metadata.uid === uid
}
