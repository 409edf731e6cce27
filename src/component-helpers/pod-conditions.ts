import type { ContainerStatus, Pod, PodCondition } from '../api/core/v1/types.generated.ts'

type PodLike = Pick<Pod, 'spec' | 'status' | 'metadata'>

export function findPodCondition(pod: { readonly status?: Pod['status'] | undefined }, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((c) => c.type === type)
}

export function isPodConditionTrue(pod: Pick<Pod, 'status'>, type: string): boolean {
  return findPodCondition(pod, type)?.status === 'True'
}

/** The Ready condition is True. */
export const isPodReady = (pod: Pick<Pod, 'status'>): boolean => isPodConditionTrue(pod, 'Ready')

/**
 * Ready for at least `minReadySeconds`.
 * @param now ms since the epoch
 */
export function isPodAvailable(pod: Pick<Pod, 'status'>, minReadySeconds: number, now: number): boolean {
  const ready = findPodCondition(pod, 'Ready')
  if (ready?.status !== 'True') return false
  if (minReadySeconds === 0) return true
  return ready.lastTransitionTime !== undefined && ready.lastTransitionTime !== null && Date.parse(ready.lastTransitionTime) + minReadySeconds * 1000 <= now
}

export const isPodTerminal = (pod: Pick<Pod, 'status'>): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'

/** Neither finished nor being deleted: what replica counts are made of. */
export const isPodActive = (pod: PodLike): boolean => !isPodTerminal(pod) && !pod.metadata.deletionTimestamp

export const isPodTerminating = (pod: PodLike): boolean => !isPodTerminal(pod) && Boolean(pod.metadata.deletionTimestamp)

/** A static Pod's image in the API. */
export const isMirrorPod = (pod: PodLike): boolean => Object.hasOwn(pod.metadata.annotations ?? {}, 'kubernetes.io/config.mirror')

/** An init container that keeps running beside the others (KEP-753). */
export const isSidecar = (container: { restartPolicy?: string }): boolean => container.restartPolicy === 'Always'

export function findContainerStatus(statuses: readonly ContainerStatus[] | undefined, name: string): ContainerStatus | undefined {
  return statuses?.find((s) => s.name === name)
}

/**
 * Sets a condition in a list that the caller owns. lastTransitionTime moves only when the status does.
 * @param now RFC 3339 time
 * @returns whether anything but times changed
 */
export function setPodCondition(conditions: PodCondition[], condition: PodCondition, now: string): boolean {
  const i = conditions.findIndex((c) => c.type === condition.type)
  const old = conditions[i]
  if (!old) {
    conditions.push({ ...condition, lastTransitionTime: now })
    return true
  }
  const moved = old.status !== condition.status
  const next: PodCondition = {
    ...condition,
    ...(moved ? { lastTransitionTime: now } : old.lastTransitionTime ? { lastTransitionTime: old.lastTransitionTime } : {}),
  }
  const same =
    !moved &&
    (old.reason ?? '') === (condition.reason ?? '') &&
    (old.message ?? '') === (condition.message ?? '') &&
    (old.lastProbeTime ?? null) === (condition.lastProbeTime ?? null) &&
    (old.observedGeneration ?? 0) === (condition.observedGeneration ?? 0)
  conditions[i] = next
  return !same
}
