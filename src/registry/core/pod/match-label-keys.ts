import type { Pod, PodAffinityTerm } from '../../../api/core/v1/types.generated.ts'
import type { LabelSelector } from '../../../apimachinery/meta/v1/types.generated.ts'

type Operator = 'In' | 'NotIn'

function merge(selector: LabelSelector | undefined, keys: readonly string[] | undefined, labels: Readonly<Record<string, string>>, operator: Operator): void {
  if (!selector) return
  for (const key of keys ?? []) {
    if (!Object.hasOwn(labels, key)) continue
    selector.matchExpressions = [...(selector.matchExpressions ?? []), { key, operator, values: [labels[key] as string] }]
  }
}

/** Puts the values that the Pod has under matchLabelKeys and mismatchLabelKeys into the selectors beside them (KEP-3633, KEP-3243). */
export function applyMatchLabelKeys(pod: Pod, isFeatureEnabled: (gate: string) => boolean): void {
  const labels = pod.metadata.labels ?? {}
  const term = ({ labelSelector, matchLabelKeys, mismatchLabelKeys }: PodAffinityTerm) => {
    merge(labelSelector, matchLabelKeys, labels, 'In')
    merge(labelSelector, mismatchLabelKeys, labels, 'NotIn')
  }
  const affinity = pod.spec?.affinity
  for (const side of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    side?.requiredDuringSchedulingIgnoredDuringExecution?.forEach(term)
    for (const { podAffinityTerm } of side?.preferredDuringSchedulingIgnoredDuringExecution ?? []) term(podAffinityTerm)
  }
  if (!isFeatureEnabled('MatchLabelKeysInPodTopologySpreadSelectorMerge')) return
  for (const constraint of pod.spec?.topologySpreadConstraints ?? []) merge(constraint.labelSelector, constraint.matchLabelKeys, labels, 'In')
}
