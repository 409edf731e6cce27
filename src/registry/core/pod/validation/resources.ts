import type { ContainerResizePolicy, PodSpec, ResourceClaim, ResourceRequirements } from '../../../../api/core/v1/types.generated.ts'
import { duplicate, type ErrorList, type FieldError, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { quote } from '../../../../apimachinery/quote.ts'
import { isQualifiedName, NON_NEGATIVE, sortedKeys } from '../../../../apimachinery/validation/index.ts'
import { parseAmount } from '../../../../component-helpers/amounts.ts'
import { aggregateContainerLimits, aggregateContainerRequests } from '../../../../component-helpers/pod-requests.ts'

const CONTAINER_RESOURCES = new Set(['cpu', 'memory', 'ephemeral-storage'])
const INTEGER_RESOURCES = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
const STANDARD_RESOURCES = new Set([
  ...CONTAINER_RESOURCES,
  ...INTEGER_RESOURCES,
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'storage',
])

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-')
/** Kubernetes' own, as opposed to extended resources. */
export const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/')
export const isStandardContainerResource = (name: string): boolean => CONTAINER_RESOURCES.has(name) || isHugePages(name)
export const isStandardResource = (name: string): boolean => STANDARD_RESOURCES.has(name) || isHugePages(name) || name.startsWith('requests.hugepages-')
/** More of it may be asked for than is used: limits may exceed requests. */
export const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !isHugePages(name)

export function isExtendedResource(name: string): boolean {
  return !isNativeResource(name) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0
}
export const isIntegerResource = (name: string): boolean => INTEGER_RESOURCES.has(name) || isExtendedResource(name)

export function validateResourceName(name: string, path: FieldPath): ErrorList {
  const errs = isQualifiedName(name).map((m) => invalid(path, name, m))
  if (errs.length === 0 && !name.includes('/') && !isStandardResource(name))
    errs.push(invalid(path, name, 'must be a standard resource type or fully qualified'))
  return errs
}

function validateContainerResourceName(name: string, path: FieldPath): ErrorList {
  const errs = validateResourceName(name, path)
  if (!name.includes('/')) {
    if (!isStandardContainerResource(name)) errs.push(invalid(path, name, 'must be a standard resource for containers'))
  } else if (!isNativeResource(name) && !isExtendedResource(name)) errs.push(invalid(path, name, "doesn't follow extended resource name standard"))
  return errs
}

const POD_RESOURCES = ['cpu', 'hugepages-', 'memory']

function validatePodLevelResourceName(name: string, path: FieldPath): ErrorList {
  return name === 'cpu' || name === 'memory' || isHugePages(name) ? [] : [notSupported(path, name, POD_RESOURCES)]
}

/** The texts show the canonical form. */
export function validateNonNegativeQuantity(quantity: string, path: FieldPath): ErrorList {
  const amount = parseAmount(quantity)
  return amount.nano < 0n ? [invalid(path, quantity, NON_NEGATIVE)] : []
}

export function validateResourceQuantity(name: string, quantity: string, path: FieldPath): ErrorList {
  const errs = validateNonNegativeQuantity(quantity, path)
  if (isIntegerResource(name) && !parseAmount(quantity).isInteger) errs.push(invalid(path, quantity, 'must be an integer'))
  return errs
}

function validateHugePageQuantity(name: string, quantity: string, path: FieldPath): ErrorList {
  const page = parseAmount(name.slice('hugepages-'.length)).nano
  const fits = page > 0n && parseAmount(quantity).nano % page === 0n
  return fits ? [] : [invalid(path, quantity, `${quantity} is not positive integer multiple of ${name}`)]
}

type NameCheck = (name: string, path: FieldPath) => ErrorList

function validateRequirements(resources: ResourceRequirements, checkName: NameCheck, claimNames: ReadonlySet<string>, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const limits = resources.limits ?? {}
  const requests = resources.requests ?? {}
  const limitsPath = path.child('limits')
  const requestsPath = path.child('requests')
  const one = (name: string, quantity: string, at: FieldPath) => {
    errs.push(...checkName(name, at), ...validateResourceQuantity(name, quantity, at))
    if (isHugePages(name)) errs.push(...validateHugePageQuantity(name, quantity, at))
  }
  const limitNames = sortedKeys(limits)
  const requestNames = sortedKeys(requests)
  for (const name of limitNames) one(name, limits[name] as string, limitsPath.key(name))
  for (const name of requestNames) {
    const quantity = requests[name] as string
    one(name, quantity, requestsPath.key(name))
    const limit = limits[name]
    if (limit !== undefined) {
      const order = parseAmount(quantity).cmp(parseAmount(limit))
      if (order !== 0 && !isOvercommitAllowed(name)) errs.push(invalid(requestsPath, quantity, `must be equal to ${name} limit of ${limit}`))
      else if (order > 0) errs.push(invalid(requestsPath, quantity, `must be less than or equal to ${name} limit of ${limit}`))
    } else if (!isOvercommitAllowed(name)) errs.push(required(limitsPath, 'Limit must be set for non overcommitable resources'))
  }
  const all = [...limitNames, ...requestNames]
  if (all.some(isHugePages) && !all.some((n) => n === 'cpu' || n === 'memory')) errs.push(forbidden(path, 'HugePages require cpu or memory'))
  errs.push(...validateClaimNames(resources.claims, claimNames, path.child('claims')))
  return errs
}

function validateClaimNames(claims: readonly ResourceClaim[] | undefined, known: ReadonlySet<string>, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const seen = new Set<string>()
  claims?.forEach((claim, i) => {
    const at = path.index(i)
    if (!claim.name) {
      errs.push(required(at))
      return
    }
    const key = claim.request ? `${claim.name}/${claim.request}` : claim.name
    if (seen.has(claim.name) || seen.has(key)) errs.push(duplicate(at, key))
    seen.add(key)
    if (!known.has(claim.name)) errs.push(claimNotFound(at, claim.name, known))
  })
  return errs
}

function claimNotFound(path: FieldPath, name: string, known: ReadonlySet<string>): FieldError {
  const rest = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`
  return { type: 'FieldValueNotFound', field: String(path), body: `Not found: ${quote(name)}: must be one of the names in pod.spec.resourceClaims${rest}` }
}

export function validateContainerResources(resources: ResourceRequirements | undefined, claimNames: ReadonlySet<string>, path: FieldPath): ErrorList {
  return resources ? validateRequirements(resources, validateContainerResourceName, claimNames, path) : []
}

/** spec.resources (KEP-2837): its own rules, then that containers fit in it. */
export function validatePodLevelResources(spec: PodSpec, claimNames: ReadonlySet<string>, path: FieldPath): ErrorList {
  const resources = spec.resources
  if (!resources) return []
  if (spec.os?.name === 'windows') return [forbidden(path, 'may not be set for a windows pod')]
  const errs: ErrorList = resources.claims?.length ? [forbidden(path.child('claims'), 'claims may not be set for Resources at pod-level')] : []
  errs.push(...validateRequirements(resources, validatePodLevelResourceName, claimNames, path))
  const aggregateRequests = aggregateContainerRequests({ spec })
  for (const name of [...aggregateRequests.keys()].sort()) {
    const own = resources.requests?.[name]
    const amount = aggregateRequests.get(name)
    if (own === undefined || !amount || amount.cmp(parseAmount(own)) <= 0) continue
    errs.push(invalid(path.child('requests').key(name), own, `must be greater than or equal to aggregate container requests of ${amount.toString()}`))
  }
  const aggregateLimits = aggregateContainerLimits({ spec })
  for (const name of [...aggregateLimits.keys()].filter(isHugePages).sort()) {
    const own = resources.limits?.[name]
    const amount = aggregateLimits.get(name)
    if (own === undefined || !amount || amount.cmp(parseAmount(own)) <= 0) continue
    errs.push(invalid(path.child('limits').key(name), own, `must be greater than or equal to aggregate container limits of ${amount.toString()}`))
  }
  spec.containers.forEach((container, i) => {
    for (const name of sortedKeys(container.resources?.limits)) {
      const limit = container.resources?.limits?.[name] as string
      const own = resources.limits?.[name]
      if (own === undefined || parseAmount(limit).cmp(parseAmount(own)) <= 0) continue
      errs.push(invalid(path.child('containers').index(i).key(name).child('limits'), limit, `must be less than or equal to pod limits of ${own}`))
    }
  })
  return errs
}

export function validateResizePolicy(policies: readonly ContainerResizePolicy[] | undefined, podRestartPolicy: string | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const seen = new Set<string>()
  policies?.forEach((policy, i) => {
    if (seen.has(policy.resourceName)) errs.push(duplicate(path.index(i), policy.resourceName))
    seen.add(policy.resourceName)
    if (!policy.resourceName) errs.push(required(path))
    else if (policy.resourceName !== 'cpu' && policy.resourceName !== 'memory') errs.push(notSupported(path, policy.resourceName, ['cpu', 'memory']))
    if (!policy.restartPolicy) errs.push(required(path))
    else if (policy.restartPolicy !== 'NotRequired' && policy.restartPolicy !== 'RestartContainer') {
      errs.push(notSupported(path, policy.restartPolicy, ['NotRequired', 'RestartContainer']))
    }
    if (podRestartPolicy === 'Never' && policy.restartPolicy !== 'NotRequired') {
      errs.push(invalid(path, policy.restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    }
  })
  return errs
}
