import type { Container, ContainerStatus, Pod, PodSpec, ResourceList, ResourceRequirements } from '../api/core/v1/types.generated.ts'
import type { Quantity } from '../apimachinery/quantity.ts'
import { parseAmount } from './amounts.ts'
import { findPodCondition, isSidecar } from './pod-conditions.ts'

/** Resource names to amounts. */
export type Amounts = Map<string, Quantity>

export interface PodResourcesOptions {
  /**
   * Consider what running containers were given while a resize is under way: the larger of asked and given counts
   * (KEP-1287). @default false
   */
  useStatusResources?: boolean
  excludeOverhead?: boolean
  /** Leave spec.resources (KEP-2837) out of account. @default false */
  skipPodLevelResources?: boolean
  /** Leave containers' own amounts out: only pod-level ones and overhead. @default false */
  skipContainerLevelResources?: boolean
  /** Used for containers that ask for nothing of a resource: cpu and memory for scoring. */
  nonMissingContainerRequests?: ResourceList
}

type PodLike = Partial<Pick<Pod, 'spec' | 'status'>>

export function toAmounts(list: ResourceList | undefined): Amounts {
  const out: Amounts = new Map()
  for (const [name, quantity] of Object.entries(list ?? {})) out.set(name, parseAmount(quantity))
  return out
}

export function fromAmounts(amounts: Amounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]))
}

export function addTo(target: Amounts, more: Amounts): void {
  for (const [name, amount] of more) {
    const have = target.get(name)
    target.set(name, have ? have.add(amount) : amount)
  }
}

export function maxInto(target: Amounts, more: Amounts): void {
  for (const [name, amount] of more) {
    const have = target.get(name)
    if (!have || amount.cmp(have) > 0) target.set(name, amount)
  }
}

/** Resources that spec.resources of a Pod may set. */
export const isSupportedPodLevelResource = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')

/** Whether spec.resources asks for something that counts. */
export function isPodLevelResourcesSet(spec: Pick<PodSpec, 'resources'> | undefined): boolean {
  const { requests, limits } = spec?.resources ?? {}
  return [...Object.keys(requests ?? {}), ...Object.keys(limits ?? {})].some(isSupportedPodLevelResource)
}

/** The larger of what is asked and what was given, unless the resize is known to be impossible. */
function effective(pod: PodLike, container: Container, statuses: readonly ContainerStatus[] | undefined, kind: 'requests' | 'limits'): Amounts {
  const asked = toAmounts(container.resources?.[kind])
  const status = statuses?.find((s) => s.name === container.name)
  if (!status?.resources) return asked
  const actual = toAmounts(status.resources[kind])
  const allocated = kind === 'requests' ? toAmounts(status.allocatedResources) : new Map()
  const pending = findPodCondition(pod, 'PodResizePending')
  const infeasible = pending?.reason === 'Infeasible'
  const out: Amounts = infeasible ? new Map(actual) : new Map(asked)
  if (!infeasible) maxInto(out, actual)
  maxInto(out, allocated)
  return out
}

interface Phase {
  containers: readonly Container[]
  statuses: readonly ContainerStatus[] | undefined
}

function aggregate(pod: PodLike, kind: 'requests' | 'limits', options: PodResourcesOptions): Amounts {
  const amountsOf = (container: Container, { statuses }: Phase): Amounts => {
    const amounts = options.useStatusResources ? effective(pod, container, statuses, kind) : toAmounts(container.resources?.[kind])
    if (kind === 'requests' && options.nonMissingContainerRequests) {
      for (const [name, amount] of toAmounts(options.nonMissingContainerRequests)) if (!amounts.has(name)) amounts.set(name, amount)
    }
    return amounts
  }
  const total: Amounts = new Map()
  const main: Phase = { containers: pod.spec?.containers ?? [], statuses: pod.status?.containerStatuses }
  for (const container of main.containers) addTo(total, amountsOf(container, main))

  const init: Phase = { containers: pod.spec?.initContainers ?? [], statuses: pod.status?.initContainerStatuses }
  const sidecars: Amounts = new Map()
  const peak: Amounts = new Map()
  for (const container of init.containers) {
    const amounts = amountsOf(container, init)
    if (isSidecar(container)) {
      addTo(total, amounts)
      addTo(sidecars, amounts)
      maxInto(peak, sidecars)
    } else {
      const now: Amounts = new Map(amounts)
      addTo(now, sidecars)
      maxInto(peak, now)
    }
  }
  maxInto(total, peak)
  return total
}

/** What containers together ask for: the sum of the main ones and sidecars, or the peak of initialization if that is more. */
export function aggregateContainerRequests(pod: PodLike, options: PodResourcesOptions = {}): Amounts {
  return aggregate(pod, 'requests', options)
}

export function aggregateContainerLimits(pod: PodLike, options: PodResourcesOptions = {}): Amounts {
  return aggregate(pod, 'limits', options)
}

/** Everything a Pod asks for: containers, pod-level requests in their place, and overhead (KEP-688). */
export function podRequests(pod: PodLike, options: PodResourcesOptions = {}): Amounts {
  const total: Amounts = options.skipContainerLevelResources ? new Map() : aggregateContainerRequests(pod, options)
  if (!options.skipPodLevelResources && isPodLevelResourcesSet(pod.spec)) override(total, podLevel(pod, options, 'requests'))
  if (!options.excludeOverhead) addTo(total, toAmounts(pod.spec?.overhead))
  return total
}

/** What a Pod may use at most. Overhead adds only to resources that are limited. */
export function podLimits(pod: PodLike, options: PodResourcesOptions = {}): Amounts {
  const total: Amounts = options.skipContainerLevelResources ? new Map() : aggregateContainerLimits(pod, options)
  if (!options.skipPodLevelResources && isPodLevelResourcesSet(pod.spec)) override(total, podLevel(pod, options, 'limits'))
  if (!options.excludeOverhead) {
    for (const [name, amount] of toAmounts(pod.spec?.overhead)) {
      const have = total.get(name)
      if (have && have.nano !== 0n) total.set(name, have.add(amount))
    }
  }
  return total
}

function podLevel(pod: PodLike, options: PodResourcesOptions, kind: 'requests' | 'limits'): Amounts {
  const out = toAmounts(pod.spec?.resources?.[kind])
  if (options.useStatusResources) {
    const status: ResourceRequirements | undefined = pod.status?.resources
    maxInto(out, toAmounts(status?.[kind]))
    if (kind === 'requests') maxInto(out, toAmounts(pod.status?.allocatedResources))
  }
  return out
}

function override(total: Amounts, by: Amounts): void {
  for (const [name, amount] of by) if (isSupportedPodLevelResource(name)) total.set(name, amount)
}

/** CPU and memory assumed for scoring when a container asks for none: 100m and 200 MB. */
export const DEFAULT_NON_ZERO_REQUESTS: ResourceList = { cpu: '100m', memory: '200M' }

/** Milli-units for CPU, whole units for the rest; 0 when absent. */
export function amountValue(amounts: Amounts, name: string): number {
  const amount = amounts.get(name)
  if (!amount) return 0
  const unit = name === 'cpu' ? 1_000_000n : 1_000_000_000n
  return Number(amount.nano >= 0n ? (amount.nano + unit - 1n) / unit : amount.nano / unit)
}
