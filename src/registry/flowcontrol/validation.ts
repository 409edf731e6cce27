import type { flowcontrolv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { isDNS1123Label, isDNS1123Subdomain } from '../../apimachinery/validation/names.ts'

type FlowSchema = flowcontrolv1.FlowSchema
type PriorityLevel = flowcontrolv1.PriorityLevelConfiguration

const SPEC = FieldPath.root('spec')
const MAX_PRECEDENCE = 10000
const MAX_QUEUES = 10_000_000
const METHODS = ['ByNamespace', 'ByUser']
const SUBJECTS = ['Group', 'ServiceAccount', 'User']
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

export function validateFlowSchema(item: FlowSchema): ErrorList {
  const spec = item.spec ?? ({} as FlowSchema['spec'])
  const errors: ErrorList = []
  const precedence = spec.matchingPrecedence ?? 0
  const path = SPEC.child('matchingPrecedence')
  if (precedence <= 0) errors.push(invalid(path, precedence, 'must be a positive value'))
  if (precedence > MAX_PRECEDENCE) errors.push(invalid(path, precedence, `must not be greater than ${MAX_PRECEDENCE}`))
  if (precedence === 1 && item.metadata.name !== 'exempt')
    errors.push(invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
  const method = spec.distinguisherMethod
  if (method && !METHODS.includes(method.type)) errors.push(notSupported(SPEC.child('distinguisherMethod', 'type'), method.type ?? '', METHODS))
  const level = spec.priorityLevelConfiguration?.name ?? ''
  const levelPath = SPEC.child('priorityLevelConfiguration', 'name')
  if (level === '') errors.push(required(levelPath, 'must reference a priority level'))
  else for (const text of isDNS1123Subdomain(level)) errors.push(invalid(levelPath, level, text))
  for (const [i, rule] of (spec.rules ?? []).entries()) errors.push(...validateRule(rule, SPEC.child('rules').index(i)))
  return errors
}

function validateRule(rule: flowcontrolv1.PolicyRulesWithSubjects, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rule
  if (subjects.length === 0) errors.push(required(path.child('subjects'), 'subjects must contain at least one value'))
  for (const [i, subject] of subjects.entries()) errors.push(...validateSubject(subject, path.child('subjects').index(i)))
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    errors.push(required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'))
  for (const [i, r] of resourceRules.entries()) errors.push(...validateResourceRule(r, path.child('resourceRules').index(i)))
  for (const [i, r] of nonResourceRules.entries()) errors.push(...validateNonResourceRule(r, path.child('nonResourceRules').index(i)))
  return errors
}

function validateSubject(subject: flowcontrolv1.Subject, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const fields = [
    ['ServiceAccount', 'serviceAccount', subject.serviceAccount],
    ['User', 'user', subject.user],
    ['Group', 'group', subject.group],
  ] as const
  if (!SUBJECTS.includes(subject.kind)) return [notSupported(path.child('kind'), subject.kind ?? '', SUBJECTS)]
  for (const [kind, field, value] of fields) {
    const at = path.child(field)
    if (kind !== subject.kind) {
      if (value) errors.push(forbidden(at, `${field} is forbidden when subject kind is not '${kind}'`))
      continue
    }
    if (!value) {
      errors.push(required(at, `${field} is required when subject kind is '${kind}'`))
      continue
    }
    if (!value.name) errors.push(required(at.child('name')))
    else if (kind === 'ServiceAccount' && value.name !== '*')
      for (const text of isDNS1123Subdomain(value.name)) errors.push(invalid(at.child('name'), value.name, text))
    if (kind !== 'ServiceAccount') continue
    const namespace = (value as { namespace?: string }).namespace ?? ''
    if (namespace === '') errors.push(required(at.child('namespace'), 'must specify namespace for service account'))
    else for (const text of isDNS1123Label(namespace)) errors.push(invalid(at.child('namespace'), namespace, text))
  }
  return errors
}

function validateVerbs(verbs: readonly string[], path: FieldPath): ErrorList {
  if (verbs.length === 0) return [required(path, 'verbs must contain at least one value')]
  if (verbs.includes('*')) return verbs.length > 1 ? [invalid(path, verbs, "if '*' is present, must not specify other verbs")] : []
  return verbs.every((v) => VERBS.includes(v)) ? [] : [notSupported(path, verbs, VERBS)]
}

function validateResourceRule(rule: flowcontrolv1.ResourcePolicyRule, path: FieldPath): ErrorList {
  const errors = validateVerbs(rule.verbs ?? [], path.child('verbs'))
  const list = (field: 'apiGroups' | 'resources', what: string, one: string) => {
    const values = rule[field] ?? []
    if (values.length === 0) errors.push(required(path.child(field), `resource rules must supply at least one ${one}`))
    else if (values.includes('*') && values.length > 1) errors.push(invalid(path.child(field), values, `if '*' is present, must not specify other ${what}`))
  }
  list('apiGroups', 'api groups', 'api group')
  list('resources', 'resources', 'resource')
  const namespaces = rule.namespaces ?? []
  const at = path.child('namespaces')
  if (namespaces.length === 0 && !rule.clusterScope) errors.push(required(at, 'resource rules that are not cluster scoped must supply at least one namespace'))
  else if (namespaces.includes('*')) {
    if (namespaces.length > 1) errors.push(invalid(at, namespaces, "if '*' is present, must not specify other namespaces"))
  } else {
    for (const [i, n] of namespaces.entries()) for (const text of isDNS1123Label(n)) errors.push(invalid(at.index(i), n, text))
  }
  return errors
}

function validateNonResourceRule(rule: flowcontrolv1.NonResourcePolicyRule, path: FieldPath): ErrorList {
  const errors = validateVerbs(rule.verbs ?? [], path.child('verbs'))
  const urls = rule.nonResourceURLs ?? []
  const at = path.child('nonResourceURLs')
  if (urls.length === 0) errors.push(required(at, 'nonResourceURLs must contain at least one value'))
  else if (urls.includes('*')) {
    if (urls.length > 1) errors.push(invalid(at, urls, "if '*' is present, must not specify other non-resource URLs"))
  } else for (const [i, url] of urls.entries()) errors.push(...validateURL(url, at.index(i)))
  return errors
}

function validateURL(url: string, path: FieldPath): ErrorList {
  if (url === '') return [required(path, 'nonResourceURL must not be empty')]
  if (url === '/') return []
  if (!url.startsWith('/')) return [invalid(path, url, 'must start with slash')]
  if (url.includes(' ')) return [invalid(path, url, 'must not contain white-space')]
  if (url.includes('//')) return [invalid(path, url, 'must not contain double slash')]
  const star = url.indexOf('*')
  if (star < 0) return []
  return url.endsWith('/*') && star === url.length - 1 ? [] : [invalid(path, url, 'wildcard can only do suffix matching')]
}

const TYPES = ['Exempt', 'Limited']
const RESPONSES = ['Queue', 'Reject']

export function validatePriorityLevel(item: PriorityLevel): ErrorList {
  const spec = item.spec ?? ({} as PriorityLevel['spec'])
  const errors: ErrorList = []
  const { type = '', limited, exempt } = spec
  const isExempt = item.metadata.name === 'exempt'
  if (!TYPES.includes(type)) {
    if (isExempt) errors.push(invalid(SPEC.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"))
    return [...errors, notSupported(SPEC.child('type'), type, TYPES)]
  }
  if (isExempt !== (type === 'Exempt')) errors.push(invalid(SPEC.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  if (type === 'Exempt') {
    if (limited) errors.push(forbidden(SPEC.child('limited'), 'must be nil if the type is not Limited'))
    if (exempt) errors.push(...validateShares(exempt, SPEC.child('exempt')))
    return errors
  }
  if (exempt) errors.push(forbidden(SPEC.child('exempt'), 'must be nil if the type is Limited'))
  if (!limited) errors.push(required(SPEC.child('limited'), 'must not be empty when type is Limited'))
  else errors.push(...validateLimited(limited, SPEC.child('limited')))
  return errors
}

function validateShares(config: { nominalConcurrencyShares?: number; lendablePercent?: number }, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const { nominalConcurrencyShares: shares, lendablePercent: lendable } = config
  if (shares !== undefined && shares < 0) errors.push(invalid(path.child('nominalConcurrencyShares'), shares, 'must be a non-negative integer'))
  if (lendable !== undefined && (lendable < 0 || lendable > 100))
    errors.push(invalid(path.child('lendablePercent'), lendable, 'must be between 0 and 100, inclusive'))
  return errors
}

function validateLimited(limited: flowcontrolv1.LimitedPriorityLevelConfiguration, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const shares = limited.nominalConcurrencyShares
  if (shares !== undefined && shares < 0) errors.push(invalid(path.child('nominalConcurrencyShares'), shares, 'must be a non-negative integer'))
  const at = path.child('limitResponse')
  const { type = '', queuing } = limited.limitResponse ?? {}
  if (!RESPONSES.includes(type)) errors.push(notSupported(at.child('type'), type, RESPONSES))
  else if (type === 'Reject') {
    if (queuing) errors.push(forbidden(at.child('queuing'), 'must be nil if limited.limitResponse.type is not Limited'))
  } else if (!queuing) errors.push(required(at.child('queuing'), 'must not be empty if limited.limitResponse.type is Limited'))
  else errors.push(...validateQueuing(queuing, at.child('queuing')))
  errors.push(...validateShares(limited.lendablePercent === undefined ? {} : { lendablePercent: limited.lendablePercent }, path))
  const borrowing = limited.borrowingLimitPercent
  if (borrowing !== undefined && borrowing < 0)
    errors.push(invalid(path.child('borrowingLimitPercent'), borrowing, 'if specified, must be a non-negative integer'))
  return errors
}

function validateQueuing(queuing: flowcontrolv1.QueuingConfiguration, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const { queueLengthLimit: length = 0, queues = 0, handSize = 0 } = queuing
  if (length <= 0) errors.push(invalid(path.child('queueLengthLimit'), length, 'must be positive'))
  if (queues <= 0) errors.push(invalid(path.child('queues'), queues, 'must be positive'))
  else if (queues > MAX_QUEUES) errors.push(invalid(path.child('queues'), queues, `must not be greater than ${MAX_QUEUES}`))
  const hand = path.child('handSize')
  if (handSize <= 0) errors.push(invalid(hand, handSize, 'must be positive'))
  else if (handSize > queues) errors.push(invalid(hand, handSize, `should not be greater than queues (${queues})`))
  else if (entropyBits(queues, handSize) > 60)
    errors.push(invalid(hand, handSize, `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than 60`))
  return errors
}

/** How many bits it takes to deal a hand: the logarithm of all ordered hands, rounded up. */
function entropyBits(deck: number, hand: number): number {
  let hands = 1
  for (let i = 0; i < hand; i++) hands *= deck - i
  return Math.ceil(Math.log2(hands))
}
