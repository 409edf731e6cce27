import type { corev1, metav1 } from '../../api/index.ts'
import { type Labels, selectorFromLabelSelector } from '../../apimachinery/labels.ts'

export type LabelMatcher = (labels: Labels) => boolean

/** No selector matches nothing, an empty one everything. */
export function matchLabelSelector(selector: metav1.LabelSelector | undefined): LabelMatcher {
  const compiled = selectorFromLabelSelector(selector)
  return (labels) => compiled.matches(labels)
}

/** A compiled term of Pod (anti-)affinity. */
export interface PodTerm {
  readonly topologyKey: string
  readonly matches: LabelMatcher
  /** Namespaces listed by name; the Pod's own when the term names none. */
  readonly namespaces: ReadonlySet<string>
  /** Selector over namespaces' labels; undefined: none given. */
  readonly namespaceMatches?: LabelMatcher
}

export interface WeightedPodTerm extends PodTerm {
  readonly weight: number
}

export function compileTerms(terms: readonly corev1.PodAffinityTerm[] | undefined, namespace: string): PodTerm[] {
  return (terms ?? []).map((t) => compile(t, namespace))
}

export function weightedTerms(terms: readonly corev1.WeightedPodAffinityTerm[] | undefined, namespace: string): WeightedPodTerm[] {
  return (terms ?? []).map((t) => ({ ...compile(t.podAffinityTerm, namespace), weight: t.weight }))
}

function compile(t: corev1.PodAffinityTerm, namespace: string): PodTerm {
  const own = !t.namespaces?.length && !t.namespaceSelector
  return {
    topologyKey: t.topologyKey,
    matches: matchLabelSelector(t.labelSelector),
    namespaces: new Set(own ? [namespace] : (t.namespaces ?? [])),
    ...(t.namespaceSelector ? { namespaceMatches: matchLabelSelector(t.namespaceSelector) } : {}),
  }
}

/** @param namespaceLabels labels of a namespace by name */
export function termMatches(term: PodTerm, pod: corev1.Pod, namespaceLabels: (namespace: string) => Record<string, string> | undefined): boolean {
  const ns = pod.metadata.namespace ?? ''
  if (!term.namespaces.has(ns) && !term.namespaceMatches?.(namespaceLabels(ns) ?? {})) return false
  return term.matches(pod.metadata.labels ?? {})
}
