import type { corev1 } from '../../api/index.ts'
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { concerns } from './refusal.ts'

export interface DefaultTolerationSecondsOptions {
  /** @default 300 */
  readonly notReadySeconds?: number
  /** @default 300 */
  readonly unreachableSeconds?: number
}

/** Pods stay five minutes on a node that is not ready or cannot be reached, unless they say otherwise. */
export function defaultTolerationSeconds(options: DefaultTolerationSecondsOptions = {}): AdmissionPlugin {
  const defaults = [
    ['node.kubernetes.io/not-ready', options.notReadySeconds ?? 300],
    ['node.kubernetes.io/unreachable', options.unreachableSeconds ?? 300],
  ] as const
  return {
    name: 'DefaultTolerationSeconds',
    looksAt: ({ group, resource }) => group === '' && resource === 'pods',
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    admit(attributes) {
      if (!concerns(attributes, '', 'pods')) return
      const { spec } = attributes.object as corev1.Pod
      const tolerates = (key: string) => spec.tolerations?.some((t) => (t.key === key || !t.key) && (t.effect === 'NoExecute' || !t.effect)) ?? false
      const missing = defaults.filter(([key]) => !tolerates(key))
      if (missing.length === 0) return
      spec.tolerations = [
        ...(spec.tolerations ?? []),
        ...missing.map(([key, tolerationSeconds]) => ({ key, operator: 'Exists' as const, effect: 'NoExecute' as const, tolerationSeconds })),
      ] as corev1.Toleration[]
    },
  }
}
