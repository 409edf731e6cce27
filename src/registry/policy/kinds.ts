import type { policyv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, notSupported } from '../../apimachinery/field.ts'
import { validateConditions } from '../../apimachinery/validation/conditions.ts'
import { validateLabelSelector } from '../../apimachinery/validation/labels.ts'
import { NON_NEGATIVE } from '../../apimachinery/validation/messages.ts'
import { isPercent } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy } from '../../base/index.ts'
import { disruptionBudgetColumns } from './columns.ts'

type Budget = policyv1.PodDisruptionBudget

const SPEC = FieldPath.root('spec')
const EVICTION_POLICIES = ['AlwaysAllow', 'IfHealthyBudget']

/** A count, or a share of at most the whole. */
function validateCount(value: number | string | undefined, path: FieldPath): ErrorList {
  if (value === undefined || value === null) return []
  if (typeof value === 'number') return value < 0 ? [invalid(path, value, NON_NEGATIVE)] : []
  const wrong = isPercent(value).map((text) => invalid(path, value, text))
  if (wrong.length === 0 && Number(value.slice(0, -1)) > 100) return [invalid(path, value, 'must not be greater than 100%')]
  return wrong
}

function validate({ spec = {} as Budget['spec'] }: Budget): ErrorList {
  const errors: ErrorList = []
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec ?? {}
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = { MinAvailable: minAvailable, Selector: selector ?? null, MaxUnavailable: maxUnavailable, UnhealthyPodEvictionPolicy: policy ?? null }
    errors.push(invalid(SPEC, shown, 'minAvailable and maxUnavailable cannot be both set'))
  }
  errors.push(...validateCount(minAvailable, SPEC.child('minAvailable')), ...validateCount(maxUnavailable, SPEC.child('maxUnavailable')))
  errors.push(...validateLabelSelector(selector, SPEC.child('selector')))
  if (policy !== undefined && !EVICTION_POLICIES.includes(policy))
    errors.push(notSupported(SPEC.child('unhealthyPodEvictionPolicy'), policy, EVICTION_POLICIES))
  return errors
}

const COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const

function validateStatus({ status }: Budget): ErrorList {
  const path = FieldPath.root('status')
  const errors = validateConditions(status?.conditions, path.child('conditions'))
  for (const name of COUNTS) if ((status?.[name] ?? 0) < 0) errors.push(invalid(path.child(name), status?.[name], NON_NEGATIVE))
  return errors
}

const disruptionBudgetKind: KindRegistration<Budget> = {
  group: 'policy',
  resource: 'poddisruptionbudgets',
  storage: { group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' },
  strategy: { nameRule: 'pathSegment', allowUnconditionalUpdate: false, validate, validateUpdate: validate },
  status: {
    prepareForUpdate(budget, old) {
      budget.spec = deepCopy(old.spec)
    },
    validateUpdate: validateStatus,
  },
  columns: disruptionBudgetColumns,
}

export const policyKinds = [disruptionBudgetKind] as KindRegistration[]
