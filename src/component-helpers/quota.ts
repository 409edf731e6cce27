import type { PersistentVolumeClaim, Pod, ResourceQuota, Service } from '../api/core/v1/types.generated.ts'
import type { GroupResource, KubeObject } from '../apimachinery/object.ts'
import { Quantity } from '../apimachinery/quantity.ts'
import { parseAmount } from './amounts.ts'
import { type Amounts, podLimits, podRequests } from './pod-requests.ts'
import { computeQOSClass } from './qos.ts'

/**
 * What objects count for against ResourceQuotas: one place for the admission that charges and for the controller that recounts. Names are
 * quota's own (`requests.cpu`, `services.nodeports`, `count/deployments.apps`).
 */
const ONE = parseAmount('1')
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'] as const
/** Core kinds that are also counted under their plain name. */
const PLAIN = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas', 'services', 'persistentvolumeclaims'])
const CLASS_SUFFIX = '.storageclass.storage.k8s.io/'

export const countName = ({ group, resource }: GroupResource): string => `count/${resource}${group === '' ? '' : `.${group}`}`

/** @param now ms; a Pod past its grace period is no longer charged for */
export function quotaUsage(gr: GroupResource, object: KubeObject, now: number): Amounts {
  const usage: Amounts = new Map([[countName(gr), ONE]])
  if (gr.group !== '') return usage
  if (PLAIN.has(gr.resource)) usage.set(gr.resource, ONE)
  if (gr.resource === 'pods') addPod(usage, object as Pod, now)
  else if (gr.resource === 'services') addService(usage, object as Service)
  else if (gr.resource === 'persistentvolumeclaims') addClaim(usage, object as PersistentVolumeClaim)
  return usage
}

function addPod(usage: Amounts, pod: Pod, now: number): void {
  if (!isQuotaPod(pod, now)) return
  usage.set('pods', ONE)
  addCompute(usage, podRequests(pod), podLimits(pod))
}

function addCompute(usage: Amounts, requests: Amounts, limits: Amounts): void {
  for (const [name, amount] of requests) {
    const compute = (COMPUTE as readonly string[]).includes(name)
    if (compute || name.startsWith('hugepages-')) usage.set(name, amount)
    if (compute || name.startsWith('hugepages-') || name.includes('/')) usage.set(`requests.${name}`, amount)
  }
  for (const [name, amount] of limits) if ((COMPUTE as readonly string[]).includes(name)) usage.set(`limits.${name}`, amount)
}

/** Pods count while they run, and while their deletion is within its grace. */
export function isQuotaPod(pod: Pod, now: number): boolean {
  const phase = pod.status?.phase
  if (phase === 'Failed' || phase === 'Succeeded') return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
  return !deletionTimestamp || deletionGracePeriodSeconds === undefined || now <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

function addService(usage: Amounts, { spec }: Service): void {
  const ports = spec.ports ?? []
  let nodePorts = 0
  if (spec.type === 'NodePort') nodePorts = ports.length
  if (spec.type === 'LoadBalancer') nodePorts = spec.allocateLoadBalancerNodePorts === false ? ports.filter((p) => p.nodePort).length : ports.length
  usage.set('services.nodeports', parseAmount(String(nodePorts)))
  usage.set('services.loadbalancers', spec.type === 'LoadBalancer' ? ONE : Quantity.zero)
}

function addClaim(usage: Amounts, claim: PersistentVolumeClaim): void {
  const className = claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec.storageClassName ?? ''
  const requested = claim.spec.resources?.requests?.['storage']
  if (className !== '') usage.set(`${className}${CLASS_SUFFIX}persistentvolumeclaims`, ONE)
  if (requested === undefined) return
  const allocated = claim.status?.allocatedResources?.['storage']
  const [wanted, given] = [parseAmount(requested), parseAmount(allocated)]
  const amount = allocated !== undefined && given.nano > wanted.nano ? given : wanted
  usage.set('requests.storage', amount)
  if (className !== '') usage.set(`${className}${CLASS_SUFFIX}requests.storage`, amount)
}

/** Whether objects of this resource can count for the name at all. */
export function quotaCovers(gr: GroupResource, name: string): boolean {
  if (name === countName(gr)) return true
  if (gr.group !== '') return false
  switch (gr.resource) {
    case 'pods':
      return (
        name === 'pods' ||
        (COMPUTE as readonly string[]).includes(name.replace(/^(requests|limits)\./, '')) ||
        name.replace(/^requests\./, '').startsWith('hugepages-') ||
        (name.startsWith('requests.') && name.includes('/'))
      )
    case 'services':
      return name === 'services' || name === 'services.nodeports' || name === 'services.loadbalancers'
    case 'persistentvolumeclaims':
      return name === 'persistentvolumeclaims' || name === 'requests.storage' || name.includes(CLASS_SUFFIX)
    default:
      return PLAIN.has(gr.resource) && name === gr.resource
  }
}

/** Whether a quota's scopes take the object in; scopes speak of Pods alone. */
export function matchesQuotaScopes(quota: ResourceQuota, gr: GroupResource, object: KubeObject): boolean {
  const scopes = quota.spec.scopes ?? []
  const expressions = quota.spec.scopeSelector?.matchExpressions ?? []
  if (!scopes.length && !expressions.length) return true
  if (gr.group !== '' || gr.resource !== 'pods') return false
  const pod = object as Pod
  return scopes.every((scope) => inScope(pod, scope)) && expressions.every((e) => matchesExpression(pod, e))
}

function inScope(pod: Pod, scope: string): boolean {
  switch (scope) {
    case 'Terminating':
      return pod.spec.activeDeadlineSeconds !== undefined
    case 'NotTerminating':
      return pod.spec.activeDeadlineSeconds === undefined
    case 'BestEffort':
      return computeQOSClass(pod) === 'BestEffort'
    case 'NotBestEffort':
      return computeQOSClass(pod) !== 'BestEffort'
    case 'PriorityClass':
      return Boolean(pod.spec.priorityClassName)
    case 'CrossNamespacePodAffinity':
      return usesOtherNamespaces(pod)
    default:
      return false
  }
}

function matchesExpression(pod: Pod, { scopeName, operator, values = [] }: { scopeName: string; operator: string; values?: string[] }): boolean {
  if (scopeName !== 'PriorityClass') return operator === 'DoesNotExist' ? !inScope(pod, scopeName) : inScope(pod, scopeName)
  const name = pod.spec.priorityClassName ?? ''
  switch (operator) {
    case 'In':
      return name !== '' && values.includes(name)
    case 'NotIn':
      return !values.includes(name)
    case 'DoesNotExist':
      return name === ''
    default:
      return name !== ''
  }
}

function usesOtherNamespaces({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {}
  const terms = [podAffinity, podAntiAffinity].flatMap((a) => [
    ...(a?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(a?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((w) => w.podAffinityTerm),
  ])
  return terms.some((t) => (t.namespaces?.length ?? 0) > 0 || t.namespaceSelector !== undefined)
}

/**
 * What containers must say because a quota limits it: `limits.cpu for: app; memory for: app,side`. Undefined: nothing is missing.
 * @param names the quota's limited resources
 */
export function missingForQuota(pod: Pod, names: readonly string[]): string | undefined {
  const enforced = names.filter((n) => /^((requests|limits)\.)?(cpu|memory)$/.test(n))
  const own = pod.spec.resources
  const missing = new Map<string, string[]>()
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
    for (const name of enforced) {
      const [, side = 'requests', resource = ''] = /^(?:(requests|limits)\.)?(.*)$/.exec(name) ?? []
      const has = (r: { requests?: Record<string, string>; limits?: Record<string, string> } | undefined) =>
        r?.[side as 'requests' | 'limits']?.[resource] !== undefined
      if (has(container.resources) || has(own)) continue
      missing.set(name, [...(missing.get(name) ?? []), container.name])
    }
  }
  if (!missing.size) return undefined
  return [...missing.keys()]
    .sort()
    .map((name) => `${name} for: ${[...new Set(missing.get(name))].sort().join(',')}`)
    .join('; ')
}
