import type { Pod, PodQOSClass, ResourceList } from '../api/core/v1/types.generated.ts'
import { type Amounts, addTo, isPodLevelResourcesSet, toAmounts } from './pod-requests.ts'

const counts = (name: string): boolean => name === 'cpu' || name === 'memory'

function positive(list: ResourceList | undefined): Amounts {
  const out = toAmounts(list)
  for (const [name, amount] of out) if (!counts(name) || amount.nano <= 0n) out.delete(name)
  return out
}

/** The class recorded in status, else the computed one. */
export function qosClass(pod: Pick<Pod, 'spec' | 'status'>): PodQOSClass {
  return pod.status?.qosClass || computeQOSClass(pod)
}

/**
 * Guaranteed: every container limits CPU and memory and asks for just as much (or the Pod does at its own level);
 * BestEffort: nothing is asked for; Burstable: all else. Only CPU and memory count.
 */
export function computeQOSClass(pod: Pick<Pod, 'spec'>): PodQOSClass {
  const requests: Amounts = new Map()
  const limits: Amounts = new Map()
  let guaranteed = true
  if (isPodLevelResourcesSet(pod.spec)) {
    addTo(requests, positive(pod.spec?.resources?.requests))
    const podLimits = positive(pod.spec?.resources?.limits)
    addTo(limits, podLimits)
    guaranteed = podLimits.has('cpu') && podLimits.has('memory')
  } else {
    for (const container of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]) {
      addTo(requests, positive(container.resources?.requests))
      const own = positive(container.resources?.limits)
      addTo(limits, own)
      if (!own.has('cpu') || !own.has('memory')) guaranteed = false
    }
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort'
  if (guaranteed && requests.size === limits.size) {
    const equal = [...requests].every(([name, amount]) => {
      const limit = limits.get(name)
      return limit !== undefined && limit.cmp(amount) === 0
    })
    if (equal) return 'Guaranteed'
  }
  return 'Burstable'
}
