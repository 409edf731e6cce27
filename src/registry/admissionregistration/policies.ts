import type { admissionregistrationv1 } from '../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, forbidden, invalid, notSupported, required, tooLong } from '../../apimachinery/field.ts'
import { parseApiVersion } from '../../apimachinery/object.ts'
import { validateLabelSelector } from '../../apimachinery/validation/labels.ts'
import { byteLength } from '../../apimachinery/validation/messages.ts'
import { isDNS1035Label, isDNS1123Subdomain, isQualifiedName } from '../../apimachinery/validation/names.ts'
import type { KindRegistration, Strategy } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { bindingColumns, mutatingPolicyColumns, validatingPolicyColumns } from './columns.ts'
import { validateMatchConditions, validateMatchRule } from './rules.ts'

type Policy = admissionregistrationv1.ValidatingAdmissionPolicy
type MutatingPolicy = admissionregistrationv1.MutatingAdmissionPolicy
type Binding = admissionregistrationv1.ValidatingAdmissionPolicyBinding
type MutatingBinding = admissionregistrationv1.MutatingAdmissionPolicyBinding
type MatchResources = admissionregistrationv1.MatchResources
type Variable = admissionregistrationv1.Variable

const SPEC = FieldPath.root('spec')
const FAILURE_POLICIES = ['Fail', 'Ignore']
const MATCH_POLICIES = ['Equivalent', 'Exact']
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const ACTIONS = ['Audit', 'Deny', 'Warn']
const PATCH_TYPES = ['ApplyConfiguration', 'JSONPatch']
const REINVOCATION_POLICIES = ['IfNeeded', 'Never']
const MAX_AUDIT_ANNOTATIONS = 20
const MAX_VALUE_BYTES = 5120
/** Words of the expression language that name nothing. */
const RESERVED = new Set('in as break const continue else false for function if import let loop null package namespace return true var void while'.split(' '))
const isIdentifier = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name)

function defaultMatch(match: MatchResources | undefined): void {
  if (!match) return
  match.matchPolicy ??= 'Equivalent'
  match.namespaceSelector ??= {}
  match.objectSelector ??= {}
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) rule.scope ??= '*'
}

function validateMatch(match: MatchResources, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const policy = match.matchPolicy
  if (policy !== undefined && !MATCH_POLICIES.includes(policy)) errors.push(notSupported(path.child('matchPolicy'), policy, MATCH_POLICIES))
  errors.push(...validateLabelSelector(match.namespaceSelector, path.child('namespaceSelector')))
  errors.push(...validateLabelSelector(match.objectSelector, path.child('objectSelector')))
  for (const field of ['resourceRules', 'excludeResourceRules'] as const)
    for (const [i, rule] of (match[field] ?? []).entries()) errors.push(...validateMatchRule(rule, path.child(field).index(i)))
  return errors
}

function validateConstraints(match: MatchResources | undefined): ErrorList {
  const path = SPEC.child('matchConstraints')
  if (!match) return [required(path)]
  const errors = validateMatch(match, path)
  if (!match.resourceRules?.length) errors.push(required(path.child('resourceRules')))
  return errors
}

function validateParamKind(kind: admissionregistrationv1.ParamKind | undefined): ErrorList {
  if (!kind) return []
  const path = SPEC.child('paramKind')
  const errors: ErrorList = []
  const version = kind.apiVersion ?? ''
  if (version === '') errors.push(required(path.child('apiVersion')))
  else {
    const gv = parseApiVersion(version)
    if (!gv) errors.push(invalid(path.child('apiVersion'), version, `unexpected GroupVersion string: ${version}`))
    else {
      if (gv.group !== '') for (const text of isDNS1123Subdomain(gv.group)) errors.push(invalid(path.child('apiVersion'), version, text))
      for (const text of isDNS1035Label(gv.version)) errors.push(invalid(path.child('apiVersion'), version, text))
    }
  }
  const name = kind.kind ?? ''
  if (name === '') errors.push(required(path.child('kind')))
  else {
    const wrong = isDNS1035Label(name.toLowerCase())
    if (wrong.length) errors.push(invalid(path.child('kind'), name, `may have mixed case, but should otherwise match: ${wrong.join(',')}`))
  }
  return errors
}

function validateVariables(variables: readonly Variable[] | undefined): ErrorList {
  return (variables ?? []).flatMap((variable, i) => {
    const path = SPEC.child('variables').index(i)
    const errors: ErrorList = []
    if (!variable.name) errors.push(required(path.child('name'), 'name is not specified'))
    else if (!isIdentifier(variable.name)) errors.push(invalid(path.child('name'), variable.name, 'must be a valid CEL identifier'))
    if (!variable.expression?.trim()) errors.push(required(path.child('expression'), 'expression is not specified'))
    return errors
  })
}

function validateFailurePolicy(policy: string | undefined): ErrorList {
  const path = SPEC.child('failurePolicy')
  if (policy === undefined) return [required(path)]
  return FAILURE_POLICIES.includes(policy) ? [] : [notSupported(path, policy, FAILURE_POLICIES)]
}

function validatePolicy(item: Policy): ErrorList {
  const spec = item.spec ?? ({} as Policy['spec'])
  const errors = [...validateFailurePolicy(spec.failurePolicy), ...validateParamKind(spec.paramKind), ...validateConstraints(spec.matchConstraints)]
  errors.push(...validateMatchConditions(spec.matchConditions, SPEC.child('matchConditions')), ...validateVariables(spec.variables))
  const { validations = [], auditAnnotations = [] } = spec
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const text = 'validations or auditAnnotations must contain at least one item'
    return [...errors, required(SPEC.child('validations'), text), required(SPEC.child('auditAnnotations'), text)]
  }
  for (const [i, v] of validations.entries()) errors.push(...validateValidation(v, SPEC.child('validations').index(i)))
  return [...errors, ...validateAuditAnnotations(item, auditAnnotations)]
}

function validateValidation(v: admissionregistrationv1.Validation, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (!v.expression?.trim()) errors.push(required(path.child('expression'), 'expression is not specified'))
  for (const field of ['messageExpression', 'message'] as const) {
    const value = v[field]
    if (value !== undefined && value !== '' && value.trim() === '') errors.push(invalid(path.child(field), value, 'must be non-empty if specified'))
  }
  if (v.message?.trim().includes('\n')) errors.push(invalid(path.child('message'), v.message, 'must not contain line breaks'))
  if (v.reason !== undefined && !REASONS.includes(v.reason)) errors.push(notSupported(path.child('reason'), v.reason, REASONS))
  return errors
}

function validateAuditAnnotations(item: Policy, annotations: readonly admissionregistrationv1.AuditAnnotation[]): ErrorList {
  const errors: ErrorList = []
  const root = SPEC.child('auditAnnotations')
  if (annotations.length > MAX_AUDIT_ANNOTATIONS) errors.push(invalid(root, annotations, `must not have more than ${MAX_AUDIT_ANNOTATIONS} auditAnnotations`))
  const seen = new Set<string>()
  for (const [i, annotation] of annotations.entries()) {
    const path = root.index(i)
    const key = `${item.metadata.name ?? ''}/${annotation.key ?? ''}`
    for (const text of isQualifiedName(key)) errors.push(invalid(path.child('key'), key, text))
    const value = annotation.valueExpression?.trim() ?? ''
    if (value === '') errors.push(required(path.child('valueExpression'), 'valueExpression is not specified'))
    else if (byteLength(value) > MAX_VALUE_BYTES) errors.push(tooLong(path.child('valueExpression'), MAX_VALUE_BYTES))
    if (seen.has(annotation.key)) errors.push(duplicate(path.child('key'), annotation.key))
    seen.add(annotation.key)
  }
  return errors
}

function validateMutatingPolicy({ spec = {} as MutatingPolicy['spec'] }: MutatingPolicy): ErrorList {
  const errors = [...validateFailurePolicy(spec.failurePolicy), ...validateParamKind(spec.paramKind), ...validateConstraints(spec.matchConstraints)]
  errors.push(...validateMatchConditions(spec.matchConditions, SPEC.child('matchConditions')), ...validateVariables(spec.variables))
  const mutations = spec.mutations ?? []
  if (mutations.length === 0) errors.push(required(SPEC.child('mutations'), 'mutations must contain at least one item'))
  for (const [i, m] of mutations.entries()) errors.push(...validateMutation(m, SPEC.child('mutations').index(i)))
  const path = SPEC.child('reinvocationPolicy')
  if (!spec.reinvocationPolicy) errors.push(required(path))
  else if (!REINVOCATION_POLICIES.includes(spec.reinvocationPolicy)) errors.push(notSupported(path, spec.reinvocationPolicy, REINVOCATION_POLICIES))
  return errors
}

function validateMutation(mutation: admissionregistrationv1.Mutation, path: FieldPath): ErrorList {
  const type = mutation.patchType ?? ''
  if (type === '') return [required(path.child('patchType'))]
  if (!PATCH_TYPES.includes(type)) return [notSupported(path.child('patchType'), type, PATCH_TYPES)]
  const [own, other] = type === 'JSONPatch' ? (['jsonPatch', 'applyConfiguration'] as const) : (['applyConfiguration', 'jsonPatch'] as const)
  const errors: ErrorList = []
  if (!mutation[own]) errors.push(required(path.child(own), `must be specified when patchType is ${type}`))
  else if (!mutation[own]?.expression?.trim()) errors.push(required(path.child(own, 'expression')))
  if (mutation[other]) errors.push(invalid(path.child(other), `{${other}}`, `must not be specified when patchType is ${type}`))
  return errors
}

function validateBinding(item: Binding | MutatingBinding): ErrorList {
  const spec = item.spec ?? ({} as Binding['spec'])
  const errors: ErrorList = []
  const path = SPEC.child('policyName')
  if (!spec.policyName) errors.push(required(path))
  else for (const text of isDNS1123Subdomain(spec.policyName)) errors.push(invalid(path, spec.policyName, text))
  errors.push(...validateParamRef(spec.paramRef))
  if (spec.matchResources) errors.push(...validateMatch(spec.matchResources, SPEC.child('matchResources')))
  return errors
}

function validateParamRef(ref: admissionregistrationv1.ParamRef | undefined): ErrorList {
  if (!ref) return []
  const path = SPEC.child('paramRef')
  const errors: ErrorList = []
  if (ref.name) {
    for (const text of isDNS1123Subdomain(ref.name)) errors.push(invalid(path.child('name'), ref.name, text))
    if (ref.selector) {
      const text = 'name and selector are mutually exclusive'
      errors.push(forbidden(path.child('name'), text), forbidden(path.child('selector'), text))
    }
  } else if (ref.selector) errors.push(...validateLabelSelector(ref.selector, path.child('selector')))
  else errors.push(required(path, 'one of name or selector must be specified'))
  const action = ref.parameterNotFoundAction
  if (!action) errors.push(required(path.child('parameterNotFoundAction')))
  else if (action !== 'Deny' && action !== 'Allow') errors.push(notSupported(path.child('parameterNotFoundAction'), action, ['Deny', 'Allow']))
  return errors
}

function validateActions({ spec }: Binding): ErrorList {
  const actions = spec?.validationActions ?? []
  const path = SPEC.child('validationActions')
  if (actions.length === 0) return [required(path, 'at least one validation action is required')]
  const errors: ErrorList = []
  for (const [i, action] of actions.entries()) {
    if (!ACTIONS.includes(action)) errors.push(notSupported(path.index(i), action, ACTIONS))
    if (actions.indexOf(action) < i) errors.push(duplicate(path.index(i), action))
  }
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const text = 'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    errors.push(invalid(path, actions, text))
  }
  return errors
}

const group = 'admissionregistration.k8s.io'

/** Policies of both kinds: only what they are checked for differs. */
function policyStrategy<T extends Policy | MutatingPolicy>(validate: (item: T) => ErrorList): Strategy<T> {
  return {
    allowUnconditionalUpdate: false,
    defaults({ spec }) {
      if (!spec) return
      spec.failurePolicy ??= 'Fail'
      defaultMatch(spec.matchConstraints)
    },
    validate,
    validateUpdate: validate,
  }
}

function bindingStrategy<T extends Binding | MutatingBinding>(validate: (item: T) => ErrorList): Strategy<T> {
  return { allowUnconditionalUpdate: false, defaults: ({ spec }) => defaultMatch(spec?.matchResources), validate, validateUpdate: validate }
}

const policyKind: KindRegistration<Policy> = {
  group,
  resource: 'validatingadmissionpolicies',
  storage: { group, version: 'v1', kind: 'ValidatingAdmissionPolicy' },
  strategy: policyStrategy(validatePolicy),
  status: {
    prepareForUpdate(item, old) {
      item.spec = deepCopy(old.spec)
      for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
        if (old.metadata[field] === undefined) delete item.metadata[field]
        else item.metadata[field] = old.metadata[field] as never
      }
    },
  },
  columns: validatingPolicyColumns,
}

const bindingKind: KindRegistration<Binding> = {
  group,
  resource: 'validatingadmissionpolicybindings',
  storage: { group, version: 'v1', kind: 'ValidatingAdmissionPolicyBinding' },
  strategy: bindingStrategy((item) => [...validateBinding(item), ...validateActions(item)]),
  columns: bindingColumns,
}

const mutatingPolicyKind: KindRegistration<MutatingPolicy> = {
  group,
  resource: 'mutatingadmissionpolicies',
  storage: { group, version: 'v1beta1', kind: 'MutatingAdmissionPolicy' },
  strategy: policyStrategy(validateMutatingPolicy),
  columns: mutatingPolicyColumns,
}

const mutatingBindingKind: KindRegistration<MutatingBinding> = {
  group,
  resource: 'mutatingadmissionpolicybindings',
  storage: { group, version: 'v1beta1', kind: 'MutatingAdmissionPolicyBinding' },
  strategy: bindingStrategy(validateBinding),
  columns: bindingColumns as never,
}

export const policyKinds = [policyKind, bindingKind, mutatingPolicyKind, mutatingBindingKind] as KindRegistration[]
