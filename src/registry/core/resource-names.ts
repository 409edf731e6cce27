import { type ErrorList, type FieldPath, invalid } from '../../apimachinery/field.ts'
import { isStandardContainerResource, validateResourceName } from './pod/validation/resources.ts'

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage']
/** What a quota may name without a domain. */
const QUOTA = new Set([
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  'requests.storage',
  'pods',
  'services',
  'services.nodeports',
  'services.loadbalancers',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
])

export function containerResourceNameErrors(name: string, path: FieldPath): ErrorList {
  const errors = validateResourceName(name, path)
  if (name.includes('/') || isStandardContainerResource(name)) return errors
  return [...errors, invalid(path, name, 'must be a standard resource for containers')]
}

export function quotaResourceNameErrors(name: string, path: FieldPath): ErrorList {
  const errors = validateResourceName(name, path)
  if (name.includes('/') || QUOTA.has(name) || name.startsWith('hugepages-') || name.startsWith('requests.hugepages-')) return errors
  return [...errors, invalid(path, name, 'must be a standard resource for quota')]
}
