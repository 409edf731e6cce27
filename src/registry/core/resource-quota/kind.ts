import type { corev1 } from '../../../api/index.ts'
import { type ErrorList, FieldPath, invalid, required } from '../../../apimachinery/field.ts'
import { IMMUTABLE, NON_NEGATIVE } from '../../../apimachinery/validation/messages.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../../../base/index.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { parseAmount } from '../../../component-helpers/amounts.ts'
import { column } from '../../columns.ts'
import { isIntegerResource } from '../pod/validation/resources.ts'
import { quotaResourceNameErrors } from '../resource-names.ts'

type Quota = corev1.ResourceQuota

const PODS = ['pods']
const POD_COMPUTE = [...PODS, ...['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])]
/** Resources each scope may go with. */
const SCOPES: Readonly<Record<string, readonly string[]>> = {
  BestEffort: PODS,
  NotBestEffort: POD_COMPUTE,
  Terminating: POD_COMPUTE,
  NotTerminating: POD_COMPUTE,
  PriorityClass: POD_COMPUTE,
  CrossNamespacePodAffinity: POD_COMPUTE,
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
}
const EXISTS_ONLY = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'CrossNamespacePodAffinity']
const known = (scope: string) => Object.hasOwn(SCOPES, scope)

function validateAmounts(list: Readonly<Record<string, string>> | undefined, path: FieldPath): ErrorList {
  return Object.keys(list ?? {})
    .sort()
    .flatMap((name) => {
      const at = path.key(name)
      const errors = quotaResourceNameErrors(name, at)
      const amount = parseAmount(list?.[name])
      if (amount.nano < 0n) errors.push(invalid(at, amount.toString(), NON_NEGATIVE))
      if (isIntegerResource(name) && !amount.isInteger) errors.push(invalid(at, amount.toString(), 'must be an integer'))
      return errors
    })
}

function validate(quota: Quota): ErrorList {
  const { hard, scopes, scopeSelector } = quota.spec
  const spec = FieldPath.root('spec')
  const names = Object.keys(hard ?? {})
  const misapplied = (scope: string) => known(scope) && names.some((n) => !(SCOPES[scope] as readonly string[]).includes(n))
  const errors = [...validateAmounts(hard, spec.child('hard')), ...validateStatus(quota)]
  if (scopes?.length) {
    const at = spec.child('scopes')
    for (const scope of scopes) {
      if (!known(scope)) errors.push(invalid(at, scopes, 'unsupported scope'))
      else if (misapplied(scope)) errors.push(invalid(at, scopes, 'unsupported scope applied to resource'))
    }
    const both = (a: string, b: string) => (scopes as string[]).includes(a) && (scopes as string[]).includes(b)
    if (both('BestEffort', 'NotBestEffort') || both('Terminating', 'NotTerminating')) errors.push(invalid(at, scopes, 'conflicting scopes'))
  }
  for (const expression of scopeSelector?.matchExpressions ?? []) {
    const path = spec.child('scopeSelector').child('matchExpressions')
    const { scopeName } = expression
    if (!known(scopeName)) errors.push(invalid(path.child('scopeName'), scopeName, 'unsupported scope'))
    else if (misapplied(scopeName)) errors.push(invalid(spec.child('scopeSelector'), scopeSelector, 'unsupported scope applied to resource'))
    errors.push(...operatorErrors(expression, path))
  }
  return errors
}

function operatorErrors({ scopeName, operator, values }: corev1.ScopedResourceSelectorRequirement, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (EXISTS_ONLY.includes(scopeName) && operator !== 'Exists') {
    errors.push(
      invalid(
        path.child('operator'),
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      ),
    )
  }
  if (operator === 'In' || operator === 'NotIn') {
    if (!values?.length) errors.push(required(path.child('values'), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values?.length) errors.push(invalid(path.child('values'), values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
  } else {
    errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'))
  }
  return errors
}

function validateStatus({ status }: Quota): ErrorList {
  return [...validateAmounts(status?.hard, FieldPath.root('status', 'hard')), ...validateAmounts(status?.used, FieldPath.root('status', 'used'))]
}

export const resourceQuotaKind: KindRegistration<Quota> = {
  group: '',
  resource: 'resourcequotas',
  storage: { group: '', version: 'v1', kind: 'ResourceQuota' },
  strategy: {
    generation: 'none',
    returnDeletedObject: true,
    validate,
    validateUpdate(quota, old) {
      const errors = validate(quota)
      const sorted = (q: Quota) => [...(q.spec.scopes ?? [])].sort()
      if (!deepEqual(sorted(quota), sorted(old))) errors.push(invalid(FieldPath.root('spec', 'scopes'), quota.spec.scopes, IMMUTABLE))
      return errors
    },
  },
  status: {
    prepareForUpdate(quota, old) {
      quota.spec = deepCopy(old.spec)
    },
    validateUpdate: validateStatus,
  },
  columns: {
    columns: [column('Name', { format: 'name' }), column('Request'), column('Limit'), column('Age')],
    cells({ metadata, status }, now) {
      const names = Object.keys(status?.hard ?? {}).sort()
      const text = (of: readonly string[]) => of.map((n) => `${n}: ${status?.used?.[n] ?? '0'}/${status?.hard?.[n]}`).join(', ')
      const limits = names.filter((n) => n.startsWith('limits'))
      return [metadata.name, text(names.filter((n) => !limits.includes(n))), text(limits), ageOf(metadata.creationTimestamp, now)]
    },
  },
}
