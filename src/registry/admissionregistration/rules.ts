import { duplicate, type ErrorList, type FieldPath, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { isQualifiedName } from '../../apimachinery/validation/names.ts'

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const SCOPES = ['*', 'Cluster', 'Namespaced']
const MAX_CONDITIONS = 64

export interface MatchRule {
  readonly operations?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly resources?: readonly string[]
  readonly scope?: string
  readonly resourceNames?: readonly string[]
}

/** What requests a webhook or policy is asked about. */
export function validateMatchRule(rule: MatchRule, path: FieldPath, withOperations = true): ErrorList {
  const errors: ErrorList = []
  if (withOperations) errors.push(...validateOperations(rule.operations ?? [], path.child('operations')))
  errors.push(...validateList(rule.apiGroups ?? [], path.child('apiGroups'), 'API groups', false))
  errors.push(...validateList(rule.apiVersions ?? [], path.child('apiVersions'), 'API versions', true))
  errors.push(...validateResources(rule.resources ?? [], path.child('resources')))
  if (rule.scope !== undefined && !SCOPES.includes(rule.scope)) errors.push(notSupported(path.child('scope'), rule.scope, SCOPES))
  return errors
}

function validateOperations(operations: readonly string[], path: FieldPath): ErrorList {
  if (operations.length === 0) return [required(path)]
  const errors: ErrorList = []
  if (operations.length > 1 && operations.includes('*')) errors.push(invalid(path, operations, "if '*' is present, must not specify other operations"))
  for (const [i, o] of operations.entries()) if (!OPERATIONS.includes(o)) errors.push(notSupported(path.index(i), o, OPERATIONS))
  return errors
}

function validateList(values: readonly string[], path: FieldPath, what: string, notEmpty: boolean): ErrorList {
  if (values.length === 0) return [required(path)]
  const errors: ErrorList = []
  if (values.length > 1 && values.includes('*')) errors.push(invalid(path, values, `if '*' is present, must not specify other ${what}`))
  if (notEmpty) for (const [i, v] of values.entries()) if (v === '') errors.push(required(path.index(i)))
  return errors
}

function validateResources(resources: readonly string[], path: FieldPath): ErrorList {
  if (resources.length === 0) return [required(path)]
  const errors: ErrorList = []
  const withAllSubresources = new Set<string>()
  const ofAllResources = new Set<string>()
  let plainStar = false
  let bothStars = false
  let hasPlain = false
  for (const [i, text] of resources.entries()) {
    const at = path.index(i)
    if (text === '') {
      errors.push(required(at))
      continue
    }
    if (text === '*/*') {
      bothStars = true
      continue
    }
    if (text === '*') {
      plainStar = true
      continue
    }
    const slash = text.indexOf('/')
    if (slash < 0) {
      hasPlain = true
      continue
    }
    const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)]
    if (withAllSubresources.has(resource)) errors.push(invalid(at, text, `if '${resource}/*' is present, must not specify ${text}`))
    if (ofAllResources.has(subresource)) errors.push(invalid(at, text, `if '*/${subresource}' is present, must not specify ${text}`))
    if (subresource === '*') withAllSubresources.add(resource)
    if (resource === '*') ofAllResources.add(subresource)
  }
  if (resources.length > 1 && bothStars) errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
  if (plainStar && hasPlain) errors.push(invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
  return errors
}

/** The names and presence of match conditions; what their expressions mean is checked where they are compiled. */
export function validateMatchConditions(conditions: readonly { name?: string; expression?: string }[] | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const list = conditions ?? []
  if (list.length > MAX_CONDITIONS) {
    errors.push({ type: 'FieldValueTooMany', field: String(path), body: `Too many: ${list.length}: must have at most ${MAX_CONDITIONS} items` })
  }
  const seen = new Set<string>()
  for (const [i, condition] of list.entries()) {
    const at = path.index(i)
    if (!condition.expression?.trim()) errors.push(required(at.child('expression')))
    const name = condition.name ?? ''
    if (name === '') {
      errors.push(required(at.child('name')))
      continue
    }
    for (const text of isQualifiedName(name)) errors.push(invalid(at.child('name'), name, text))
    if (seen.has(name)) errors.push(duplicate(at.child('name'), name))
    seen.add(name)
  }
  return errors
}
