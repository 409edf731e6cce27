import type { corev1 } from '../../api/index.ts'
import { claimNameOf } from '../../component-helpers/volume-matching.ts'
import type { EventRegistration } from '../framework/plugin.ts'
import type { PodInfo } from '../framework/pod-info.ts'

/** A volume of the Pod stands for this claim, by name or as a generic ephemeral volume. */
export function usesClaim(pod: PodInfo, claim: unknown): boolean {
  const { name, namespace } = (claim as corev1.PersistentVolumeClaim).metadata
  return namespace === pod.pod.metadata.namespace && (pod.pod.spec.volumes ?? []).some((v) => claimNameOf(pod.pod, v) === name)
}

export const claimAdded: EventRegistration = { resource: 'PersistentVolumeClaim', actions: ['Add'], hint: (pod, e) => usesClaim(pod, e.new) }
export const claimChanged: EventRegistration = {
  resource: 'PersistentVolumeClaim',
  actions: ['Add', 'Update'],
  hint: (pod, e) => usesClaim(pod, e.new),
}
