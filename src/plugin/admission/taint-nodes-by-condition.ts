import type { corev1 } from '../../api/index.ts'
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { sameTaint } from '../../component-helpers/taints.ts'
import { concerns } from './refusal.ts'

/** A node is born not ready: nothing is placed on it before its conditions are known. */
export function taintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    looksAt: ({ group, resource }) => group === '' && resource === 'nodes',
    handles: (operation) => operation === 'CREATE',
    admit(attributes) {
      if (!concerns(attributes, '', 'nodes')) return
      const { spec } = attributes.object as corev1.Node
      const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as corev1.Taint
      if (!spec.taints?.some((t) => sameTaint(t, taint))) spec.taints = [...(spec.taints ?? []), taint]
    },
  }
}
