import type { Pod, ResourceList } from '../../../api/core/v1/types.generated.ts'
import { roundUpToMilli } from '../../../component-helpers/amounts.ts'
import { aggregateContainerLimits, aggregateContainerRequests, fromAmounts, isSupportedPodLevelResource } from '../../../component-helpers/pod-requests.ts'

/** Amounts are kept to a thousandth, rounded up. */
export function setResourceListDefaults(list: ResourceList | undefined): void {
  if (!list) return
  for (const name of Object.keys(list)) list[name] = roundUpToMilli(list[name] as string)
}

/** A limit without a request asks for as much. */
export function setRequestsFromLimits(resources: { limits?: ResourceList; requests?: ResourceList } | undefined): void {
  if (!resources?.limits) return
  for (const [name, quantity] of Object.entries(resources.limits)) {
    resources.requests ??= {}
    if (!Object.hasOwn(resources.requests, name)) resources.requests[name] = quantity
  }
}

const isHugePages = (name: string): boolean => name.startsWith('hugepages-')

/**
 * spec.resources, where set in part (KEP-2837): huge page limits from the containers' limits, requests from what the
 * containers ask for together, else from the Pod's own limits.
 */
export function setPodLevelResourceDefaults(pod: Pod): void {
  const resources = pod.spec?.resources
  if (!resources) return
  const asked = Object.keys(resources.limits ?? {}).length + Object.keys(resources.requests ?? {}).length
  if (asked > 0) {
    for (const [name, quantity] of Object.entries(fromAmounts(aggregateContainerLimits(pod)))) {
      if (!isHugePages(name) || Object.hasOwn(resources.limits ?? {}, name)) continue
      resources.limits = { ...resources.limits, [name]: quantity }
    }
  }
  if (!resources.limits || Object.keys(resources.limits).length === 0) return
  const requests: ResourceList = { ...resources.requests }
  for (const [name, quantity] of Object.entries(fromAmounts(aggregateContainerRequests(pod)))) {
    if (isSupportedPodLevelResource(name) && !isHugePages(name) && !Object.hasOwn(requests, name)) requests[name] = quantity
  }
  for (const [name, quantity] of Object.entries(resources.limits)) {
    if (isSupportedPodLevelResource(name) && !Object.hasOwn(requests, name)) requests[name] = quantity
  }
  if (Object.keys(requests).length > 0) resources.requests = requests
}
