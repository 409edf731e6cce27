import type { JobSpec, PodFailurePolicy, PodFailurePolicyRule, SuccessPolicy } from '../../../api/batch/v1/types.generated.ts'
import { duplicate, type ErrorList, type FieldError, type FieldPath, invalid, notSupported, required, tooLong, tooMany } from '../../../apimachinery/field.ts'
import { longerThan, validateLabelName } from '../../../apimachinery/validation/index.ts'
import { nonNegative } from '../../workload-template.ts'
import { countIndexes } from './indexes.ts'

const MAX_RULES = 20
const MAX_EXIT_CODES = 255
const MAX_CONDITIONS = 20
const MAX_INDEXES_LENGTH = 65536
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore']

/** An Invalid error that leaves the value out. */
export const refused = (path: FieldPath, text: string): FieldError => ({ type: 'FieldValueInvalid', field: String(path), body: `Invalid value: ${text}` })

function validateExitCodes(codes: NonNullable<PodFailurePolicyRule['onExitCodes']>, containers: ReadonlySet<string>, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const operator: string = codes.operator ?? ''
  if (operator !== 'In' && operator !== 'NotIn') errs.push(notSupported(path.child('operator'), operator, ['In', 'NotIn']))
  if (codes.containerName !== undefined && !containers.has(codes.containerName)) {
    errs.push(invalid(path.child('containerName'), codes.containerName, 'must be one of the container or initContainer names in the pod template'))
  }
  const at = path.child('values')
  const values = codes.values ?? []
  if (values.length === 0) errs.push(invalid(at, values, 'at least one value is required'))
  else if (values.length > MAX_EXIT_CODES) errs.push(tooMany(at, values.length, MAX_EXIT_CODES))
  const seen = new Set<number>()
  let ordered = true
  values.forEach((value, i) => {
    if (operator === 'In' && value === 0) errs.push(invalid(at.index(i), value, 'must not be 0 for the In operator'))
    if (seen.has(value)) errs.push(duplicate(at.index(i), value))
    seen.add(value)
    if (i > 0 && value < (values[i - 1] as number)) ordered = false
  })
  if (!ordered) errs.push(invalid(at, values, 'must be ordered'))
  return errs
}

function validateFailureRule(rule: PodFailurePolicyRule, spec: JobSpec, containers: ReadonlySet<string>, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const action: string = rule.action ?? ''
  if (action === '') errs.push(required(path.child('action'), 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'))
  else if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    errs.push(invalid(path.child('action'), action, 'requires the backoffLimitPerIndex to be set'))
  else if (!ACTIONS.includes(action)) errs.push(notSupported(path.child('action'), action, ACTIONS))
  if (rule.onExitCodes) errs.push(...validateExitCodes(rule.onExitCodes, containers, path.child('onExitCodes')))
  const conditions = rule.onPodConditions ?? []
  const at = path.child('onPodConditions')
  if (conditions.length > MAX_CONDITIONS) errs.push(tooMany(at, conditions.length, MAX_CONDITIONS))
  conditions.forEach((condition, i) => {
    errs.push(...validateLabelName(condition.type ?? '', at.index(i).child('type')))
    const status: string = condition.status ?? ''
    if (!['False', 'True', 'Unknown'].includes(status)) errs.push(notSupported(at.index(i).child('status'), status, ['False', 'True', 'Unknown']))
  })
  if (rule.onExitCodes && conditions.length > 0) errs.push(refused(path, 'specifying both OnExitCodes and OnPodConditions is not supported'))
  if (!rule.onExitCodes && conditions.length === 0) errs.push(refused(path, 'specifying one of OnExitCodes and OnPodConditions is required'))
  return errs
}

export function validateFailurePolicy(policy: PodFailurePolicy, spec: JobSpec, path: FieldPath): ErrorList {
  const rules = policy.rules ?? []
  const at = path.child('rules')
  const errs: ErrorList = rules.length > MAX_RULES ? [tooMany(at, rules.length, MAX_RULES)] : []
  const containers = new Set([...(spec.template.spec?.containers ?? []), ...(spec.template.spec?.initContainers ?? [])].map((c) => c.name))
  rules.forEach((rule, i) => {
    errs.push(...validateFailureRule(rule, spec, containers, at.index(i)))
  })
  return errs
}

export function validateSuccessPolicy(policy: SuccessPolicy, spec: JobSpec, path: FieldPath): ErrorList {
  const rules = policy.rules ?? []
  const at = path.child('rules')
  const errs: ErrorList = []
  if (rules.length === 0) errs.push(required(at, 'at least one rules must be specified when the successPolicy is specified'))
  if (rules.length > MAX_RULES) errs.push(tooMany(at, rules.length, MAX_RULES))
  const completions = spec.completions ?? 0
  rules.forEach((rule, i) => {
    const own = at.index(i)
    const { succeededCount, succeededIndexes } = rule
    if (succeededCount === undefined && succeededIndexes === undefined) {
      errs.push(required(own, 'at least one of succeededCount or succeededIndexes must be specified'))
      return
    }
    let total: number | undefined
    if (succeededIndexes !== undefined) {
      const place = own.child('succeededIndexes')
      if (longerThan(succeededIndexes, MAX_INDEXES_LENGTH)) errs.push(tooLong(place, MAX_INDEXES_LENGTH))
      try {
        total = countIndexes(succeededIndexes, completions)
      } catch (error) {
        errs.push(invalid(place, succeededIndexes, `error parsing succeededIndexes: ${(error as Error).message}`))
      }
    }
    if (succeededCount === undefined) return
    const place = own.child('succeededCount')
    errs.push(...nonNegative(succeededCount, place))
    if (succeededCount > completions)
      errs.push(invalid(place, succeededCount, `must be less than or equal to ${completions} (the number of specified completions)`))
    else if (total !== undefined && succeededCount > total) {
      errs.push(invalid(place, succeededCount, `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`))
    }
  })
  return errs
}
