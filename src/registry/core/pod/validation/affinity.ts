import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  TopologySpreadConstraint,
  WeightedPodAffinityTerm,
} from '../../../../api/core/v1/types.generated.ts'
import { duplicate, type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import type { LabelSelector } from '../../../../apimachinery/meta/v1/types.generated.ts'
import { isDNS1123Label, isDNS1123Subdomain, isLabelValue, validateLabelName, validateLabelSelector } from '../../../../apimachinery/validation/index.ts'
import type { PodValidationOptions } from './options.ts'

function validateNodeRequirement(requirement: NodeSelectorRequirement, path: FieldPath, strictValues: boolean): ErrorList {
  const errs: ErrorList = []
  const values = requirement.values ?? []
  switch (requirement.operator as string) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) errs.push(required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"))
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) errs.push(forbidden(path.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
      break
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) errs.push(required(path.child('values'), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
      break
    default:
      errs.push(invalid(path.child('operator'), requirement.operator, 'not a valid selector operator'))
  }
  errs.push(...validateLabelName(requirement.key, path.child('key')))
  if (strictValues) {
    values.forEach((value, i) => {
      for (const m of isLabelValue(value)) errs.push(invalid(path.child('values').index(i), value, m))
    })
  }
  return errs
}

function validateNodeField(requirement: NodeSelectorRequirement, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const values = requirement.values ?? []
  if (requirement.operator === 'In' || requirement.operator === 'NotIn') {
    if (values.length !== 1) errs.push(required(path.child('values'), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
  } else errs.push(invalid(path.child('operator'), requirement.operator, 'not a valid selector operator'))
  if (requirement.key === 'metadata.name') {
    values.forEach((value, i) => {
      for (const m of isDNS1123Subdomain(value)) errs.push(invalid(path.child('values').index(i), value, m))
    })
  } else errs.push(invalid(path.child('key'), requirement.key, 'not a valid field selector key'))
  return errs
}

function validateNodeSelectorTerm(term: NodeSelectorTerm, path: FieldPath, strictValues: boolean): ErrorList {
  const errs: ErrorList = []
  term.matchExpressions?.forEach((r, i) => {
    errs.push(...validateNodeRequirement(r, path.child('matchExpressions').index(i), strictValues))
  })
  term.matchFields?.forEach((r, i) => {
    errs.push(...validateNodeField(r, path.child('matchFields').index(i)))
  })
  return errs
}

/** @param strictValues values must be label values; not so where they never were (preferred terms) */
export function validateNodeSelector(selector: NodeSelector, path: FieldPath, strictValues = true): ErrorList {
  const at = path.child('nodeSelectorTerms')
  const terms = selector.nodeSelectorTerms ?? []
  if (terms.length === 0) return [required(at, 'must have at least one node selector term')]
  return terms.flatMap((term, i) => validateNodeSelectorTerm(term, at.index(i), strictValues))
}

/** Keys whose values, taken from the Pod, are merged into the selector. */
function validateMatchLabelKeys(keys: readonly string[] | undefined, selector: LabelSelector | undefined, path: FieldPath, exclusive: boolean): ErrorList {
  if (!keys?.length) return []
  if (!selector) return [forbidden(path, 'must not be specified when labelSelector is not set')]
  const errs: ErrorList = []
  const used = new Set([...Object.keys(selector.matchLabels ?? {}), ...(selector.matchExpressions ?? []).map((e) => e.key)])
  keys.forEach((key, i) => {
    errs.push(...validateLabelName(key, path.index(i)))
    if (exclusive && used.has(key)) errs.push(invalid(path.index(i), key, 'exists in both matchLabelKeys and labelSelector'))
  })
  return errs
}

/** Merged keys appear in the selector as `key in (value)`: those do not count as written by hand. */
function validateAffinityLabelKeys(term: PodAffinityTerm, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term
  errs.push(...validateMatchLabelKeys(matchLabelKeys, labelSelector, path.child('matchLabelKeys'), false))
  errs.push(...validateMatchLabelKeys(mismatchLabelKeys, labelSelector, path.child('mismatchLabelKeys'), false))
  matchLabelKeys.forEach((key, i) => {
    if (mismatchLabelKeys.includes(key)) errs.push(invalid(path.child('matchLabelKeys').index(i), key, 'exists in both matchLabelKeys and mismatchLabelKeys'))
  })
  if (!labelSelector) return errs
  const once = (keys: readonly string[], name: 'matchLabelKeys' | 'mismatchLabelKeys') => {
    for (const [i, key] of keys.entries())
      if (timesSelected(labelSelector, key) > 1) errs.push(invalid(path.child(name).index(i), key, `exists in both ${name} and labelSelector`))
  }
  once(matchLabelKeys, 'matchLabelKeys')
  once(mismatchLabelKeys, 'mismatchLabelKeys')
  return errs
}

function validatePodAffinityTerm(term: PodAffinityTerm, path: FieldPath, options: PodValidationOptions): ErrorList {
  const selectors = { allowInvalidValues: options.allowInvalidLabelValues ?? false }
  const errs = validateLabelSelector(term.labelSelector, path.child('labelSelector'), selectors)
  errs.push(...validateLabelSelector(term.namespaceSelector, path.child('namespaceSelector'), selectors))
  for (const name of term.namespaces ?? []) for (const m of isDNS1123Label(name)) errs.push(invalid(path.child('namespace'), name, m))
  errs.push(...validateAffinityLabelKeys(term, path))
  if (!term.topologyKey) errs.push(required(path.child('topologyKey'), 'can not be empty'))
  errs.push(...validateLabelName(term.topologyKey ?? '', path.child('topologyKey')))
  return errs
}

function validatePodAffinity(
  affinity:
    | { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[]; preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[] }
    | undefined,
  path: FieldPath,
  options: PodValidationOptions,
): ErrorList {
  const errs: ErrorList = []
  affinity?.requiredDuringSchedulingIgnoredDuringExecution?.forEach((term, i) => {
    errs.push(...validatePodAffinityTerm(term, path.child('requiredDuringSchedulingIgnoredDuringExecution').index(i), options))
  })
  affinity?.preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ weight, podAffinityTerm }, i) => {
    const at = path.child('preferredDuringSchedulingIgnoredDuringExecution').index(i)
    if (weight < 1 || weight > 100) errs.push(invalid(at.child('weight'), weight, 'must be in the range 1-100'))
    errs.push(...validatePodAffinityTerm(podAffinityTerm, at.child('podAffinityTerm'), options))
  })
  return errs
}

export function validateAffinity(affinity: Affinity | undefined, path: FieldPath, options: PodValidationOptions): ErrorList {
  if (!affinity) return []
  const errs: ErrorList = []
  const { nodeAffinity } = affinity
  if (nodeAffinity) {
    const at = path.child('nodeAffinity')
    const { requiredDuringSchedulingIgnoredDuringExecution: requiredTerms } = nodeAffinity
    if (requiredTerms) {
      errs.push(...validateNodeSelector(requiredTerms, at.child('requiredDuringSchedulingIgnoredDuringExecution'), !options.allowInvalidLabelValues))
    }
    nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ weight, preference }, i) => {
      const term = at.child('preferredDuringSchedulingIgnoredDuringExecution').index(i)
      if (weight < 1 || weight > 100) errs.push(invalid(term.child('weight'), weight, 'must be in the range 1-100'))
      errs.push(...validateNodeSelectorTerm(preference, term.child('preference'), false))
    })
  }
  errs.push(...validatePodAffinity(affinity.podAffinity, path.child('podAffinity'), options))
  errs.push(...validatePodAffinity(affinity.podAntiAffinity, path.child('podAntiAffinity'), options))
  return errs
}

function validateInclusionPolicy(policy: string | undefined, path: FieldPath): ErrorList {
  return policy === undefined || policy === 'Honor' || policy === 'Ignore' ? [] : [notSupported(path, policy, ['Honor', 'Ignore'])]
}

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  path: FieldPath,
  options: PodValidationOptions,
): ErrorList {
  const errs: ErrorList = []
  constraints?.forEach((constraint, i) => {
    const at = path.index(i)
    const { topologyKey, whenUnsatisfiable, minDomains } = constraint
    if (constraint.maxSkew <= 0) errs.push(invalid(at.child('maxSkew'), constraint.maxSkew, 'must be greater than zero'))
    if (!topologyKey) errs.push(required(at.child('topologyKey'), 'can not be empty'))
    if (whenUnsatisfiable !== 'DoNotSchedule' && whenUnsatisfiable !== 'ScheduleAnyway') {
      errs.push(notSupported(at.child('whenUnsatisfiable'), whenUnsatisfiable ?? '', ['DoNotSchedule', 'ScheduleAnyway']))
    }
    for (const other of constraints.slice(i + 1)) {
      if (other.topologyKey !== topologyKey || other.whenUnsatisfiable !== whenUnsatisfiable) continue
      errs.push(duplicate(at.child('{topologyKey, whenUnsatisfiable}'), `{${topologyKey}, ${whenUnsatisfiable}}`))
    }
    if (minDomains !== undefined) {
      if (minDomains <= 0) errs.push(invalid(at.child('minDomains'), minDomains, 'must be greater than zero'))
      if (whenUnsatisfiable !== 'DoNotSchedule') {
        errs.push(invalid(at.child('minDomains'), minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`))
      }
    }
    errs.push(...validateInclusionPolicy(constraint.nodeAffinityPolicy, at.child('nodeAffinityPolicy')))
    errs.push(...validateInclusionPolicy(constraint.nodeTaintsPolicy, at.child('nodeTaintsPolicy')))
    errs.push(...validateMatchLabelKeys(constraint.matchLabelKeys, constraint.labelSelector, at.child('matchLabelKeys'), false))
    errs.push(...validateSpreadLabelKeys(constraint, at.child('matchLabelKeys')))
    errs.push(...validateLabelSelector(constraint.labelSelector, at.child('labelSelector'), { allowInvalidValues: options.allowInvalidLabelValues ?? false }))
  })
  return errs
}

/** Merging adds a key once; more means that the selector has it of its own. */
function timesSelected(selector: LabelSelector, key: string): number {
  return (Object.hasOwn(selector.matchLabels ?? {}, key) ? 1 : 0) + (selector.matchExpressions ?? []).filter((e) => e.key === key).length
}

function validateSpreadLabelKeys({ matchLabelKeys, labelSelector }: TopologySpreadConstraint, path: FieldPath): ErrorList {
  if (!labelSelector) return []
  return (matchLabelKeys ?? []).flatMap((key, i) =>
    timesSelected(labelSelector, key) > 1 ? [invalid(path.index(i), key, 'exists in both matchLabelKeys and labelSelector')] : [],
  )
}
