import type { PodTemplateSpec } from '../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../apimachinery/field.ts'
import type { LabelSelector } from '../apimachinery/meta/v1/types.generated.ts'
import { isPercent, NON_NEGATIVE, validateLabelSelector } from '../apimachinery/validation/index.ts'
import type { StrategyContext } from '../apiserver/registry/strategy.ts'
import { dropDisabledFields } from './core/pod/disabled-fields.ts'
import type { PodValidationOptions } from './core/pod/validation/options.ts'
import { validatePodTemplateSpec } from './core/pod/validation/pod.ts'

/** What the kinds that make Pods from a template have in common. */
export const templateOptions = (context: StrategyContext): PodValidationOptions => ({
  isPod: false,
  isFeatureEnabled: (gate) => context.isFeatureEnabled(gate),
})

export function dropDisabledTemplateFields(template: PodTemplateSpec | undefined, old: PodTemplateSpec | undefined, context: StrategyContext): void {
  dropDisabledFields(template?.spec, old?.spec, (gate) => context.isFeatureEnabled(gate))
}

const sorted = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.keys(map)
      .sort()
      .map((k) => [k, map[k] as string]),
  )

/** Labels as messages show them. */
export const shownLabels = (labels: Readonly<Record<string, string>> | undefined): unknown => (labels ? sorted(labels) : null)

/** A selector as messages show it: declared order of fields, labels by key. */
export function shownSelector(selector: LabelSelector | undefined): unknown {
  if (!selector) return null
  return {
    ...(selector.matchLabels && Object.keys(selector.matchLabels).length > 0 ? { matchLabels: sorted(selector.matchLabels) } : {}),
    ...(selector.matchExpressions?.length
      ? { matchExpressions: selector.matchExpressions.map(({ key, operator, values }) => ({ key, operator, ...(values?.length ? { values } : {}) })) }
      : {}),
  }
}

export const isEmptySelector = (selector: LabelSelector): boolean =>
  Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0) === 0

/** Whether a valid selector matches; none matches nothing, an empty one everything. */
export function selectorMatches(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>> | undefined): boolean {
  if (!selector) return false
  const own = labels ?? {}
  const value = (key: string) => (Object.hasOwn(own, key) ? own[key] : undefined)
  return (
    Object.entries(selector.matchLabels ?? {}).every(([k, v]) => value(k) === v) &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const have = value(key)
      if (operator === 'In') return have !== undefined && values.includes(have)
      if (operator === 'NotIn') return have === undefined || !values.includes(have)
      return operator === 'Exists' ? have !== undefined : have === undefined
    })
  )
}

export interface SelectorRules {
  /** How messages call the kind: `empty selector is invalid for …`. */
  readonly kind: string
  /** A missing selector is reported as such. @default true */
  readonly required?: boolean
  /** @default 'invalid label selector' */
  readonly invalidText?: string
  /** Selector and template's own rules, in the place of the common ones. */
  readonly template: () => ErrorList
}

/** spec.selector, and the template against it unless the selector is no selector at all. */
export function validateSelectorAndTemplate(selector: LabelSelector | undefined, path: FieldPath, rules: SelectorRules): ErrorList {
  const at = path.child('selector')
  if (!selector) return [...((rules.required ?? true) ? [required(at)] : []), ...rules.template()]
  const errs = validateLabelSelector(selector, at)
  const broken = errs.length > 0
  if (isEmptySelector(selector)) errs.push(invalid(at, shownSelector(selector), `empty selector is invalid for ${rules.kind}`))
  if (broken) errs.push(invalid(at, shownSelector(selector), rules.invalidText ?? 'invalid label selector'))
  else errs.push(...rules.template())
  return errs
}

export function validateTemplateLabels(template: PodTemplateSpec, selector: LabelSelector | undefined, path: FieldPath): ErrorList {
  if (selector && isEmptySelector(selector)) return []
  if (selectorMatches(selector, template.metadata?.labels)) return []
  return [invalid(path.child('metadata', 'labels'), shownLabels(template.metadata?.labels), '`selector` does not match template `labels`')]
}

/** Pods that run for good: restarted always, without a deadline. */
export function validateLastingTemplate(template: PodTemplateSpec, kind: string, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const policy = template.spec?.restartPolicy
  if (policy !== 'Always') errs.push(notSupported(path.child('spec', 'restartPolicy'), policy ?? '', ['Always']))
  if (template.spec?.activeDeadlineSeconds !== undefined) {
    errs.push(forbidden(path.child('spec', 'activeDeadlineSeconds'), `activeDeadlineSeconds in ${kind} is not Supported`))
  }
  return errs
}

/** The whole of a template that makes lasting Pods. */
export function validateWorkloadTemplate(
  template: PodTemplateSpec,
  selector: LabelSelector | undefined,
  kind: string,
  path: FieldPath,
  options: PodValidationOptions,
): ErrorList {
  return [
    ...validateTemplateLabels(template, selector, path),
    ...validatePodTemplateSpec(template, path, options),
    ...validateLastingTemplate(template, kind, path),
  ]
}

export function nonNegative(value: number | undefined, path: FieldPath): ErrorList {
  return value !== undefined && value < 0 ? [invalid(path, value, NON_NEGATIVE)] : []
}

type IntOrString = number | string | undefined

export function validateIntOrPercent(value: IntOrString, path: FieldPath): ErrorList {
  if (typeof value === 'string') return isPercent(value).map((m) => invalid(path, value, m))
  return nonNegative(value ?? 0, path)
}

/** The number, or the number before `%`; anything else counts as 0. */
export function intOrPercentValue(value: IntOrString): number {
  if (typeof value === 'string') return isPercent(value).length === 0 ? Number(value.slice(0, -1)) : 0
  return value ?? 0
}

export function validateAtMost100Percent(value: IntOrString, path: FieldPath): ErrorList {
  if (typeof value !== 'string' || isPercent(value).length > 0) return []
  return Number(value.slice(0, -1)) > 100 ? [invalid(path, value, 'must not be greater than 100%')] : []
}
