import type { autoscalingv2 } from '../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../apimachinery/field.ts'
import { parseApiVersion } from '../../apimachinery/object.ts'
import { NON_NEGATIVE } from '../../apimachinery/validation/messages.ts'
import { isPathSegmentName } from '../../apimachinery/validation/names.ts'
import { parseAmount } from '../../component-helpers/amounts.ts'

type Autoscaler = autoscalingv2.HorizontalPodAutoscaler
type Spec = Autoscaler['spec']

const SPEC = FieldPath.root('spec')
const METRIC_TYPES = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource']
const FIELDS = ['object', 'pods', 'resource', 'external', 'containerResource'] as const
const FIELD_OF: Record<string, (typeof FIELDS)[number]> = {
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  External: 'external',
  ContainerResource: 'containerResource',
}

export function validateAutoscaler(item: Autoscaler, old?: Autoscaler): ErrorList {
  const { spec } = item
  const errors: ErrorList = []
  const { minReplicas: min, maxReplicas: max = 0 } = spec
  if (min !== undefined && min < 1) errors.push(invalid(SPEC.child('minReplicas'), min, 'must be greater than or equal to 1'))
  const path = SPEC.child('maxReplicas')
  if (max === 0) errors.push(required(path, 'must be set and greater than 0'))
  else if (max < 1) errors.push(invalid(path, max, 'must be greater than or equal to 1'))
  if (min !== undefined && max < min) errors.push(invalid(path, max, 'must be greater than or equal to `minReplicas`'))
  const ref = spec.scaleTargetRef
  const before = old?.spec.scaleTargetRef
  const sameTarget = before !== undefined && before.kind === ref?.kind && before.apiVersion === ref?.apiVersion
  errors.push(...validateReference(ref, SPEC.child('scaleTargetRef'), !sameTarget))
  errors.push(...validateMetrics(spec), ...validateBehavior(spec.behavior))
  return errors
}

export function validateAutoscalerStatus({ status }: Autoscaler): ErrorList {
  const errors: ErrorList = []
  for (const field of ['currentReplicas', 'desiredReplicas'] as const) {
    const value = status?.[field] ?? 0
    if (value < 0) errors.push(invalid(FieldPath.root('status', field), value, NON_NEGATIVE))
  }
  return errors
}

function validateReference(ref: autoscalingv2.CrossVersionObjectReference | undefined, path: FieldPath, withVersion: boolean): ErrorList {
  const errors: ErrorList = []
  for (const field of ['kind', 'name'] as const) {
    const value = ref?.[field] ?? ''
    if (value === '') errors.push(required(path.child(field)))
    else for (const text of isPathSegmentName(value)) errors.push(invalid(path.child(field), value, text))
  }
  if (!withVersion) return errors
  const text = ref?.apiVersion ?? ''
  const at = path.child('apiVersion')
  const version = parseApiVersion(text)
  if (text !== '' && !version) errors.push(invalid(at, text, `unexpected GroupVersion string: ${text}`))
  else if (!version?.group && ref?.kind !== 'ReplicationController') errors.push(invalid(at, text, 'apiVersion must specify API group'))
  return errors
}

function validateMetrics(spec: Spec): ErrorList {
  const root = SPEC.child('metrics')
  const metrics = spec.metrics ?? []
  const errors = metrics.flatMap((metric, i) => validateMetric(metric, root.index(i)))
  if (spec.minReplicas === 0 && !metrics.some((m) => m.type === 'Object' || m.type === 'External'))
    errors.push(forbidden(root, 'must specify at least one Object or External metric to support scaling to zero replicas'))
  return errors
}

function validateMetric(metric: autoscalingv2.MetricSpec, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const type = metric.type ?? ''
  if (type === '') errors.push(required(path.child('type'), 'must specify a metric source type'))
  if (!METRIC_TYPES.includes(type)) errors.push(notSupported(path.child('type'), type, METRIC_TYPES))
  const given = new Set<string>()
  for (const field of FIELDS) {
    if (!metric[field]) continue
    given.add(field)
    const at = path.child(field)
    if (given.size === 1) errors.push(...validateSource(metric, field, at))
  }
  const wanted = FIELD_OF[type]
  if (wanted && !given.has(wanted)) errors.push(required(path.child(wanted), 'must populate information for the given metric source'))
  if (given.size > 1 || (given.size === 1 && wanted && !given.has(wanted))) {
    for (const field of [...given].sort()) if (field !== wanted) errors.push(forbidden(path.child(field), 'must populate the given metric source only'))
  }
  return errors
}

function validateSource(metric: autoscalingv2.MetricSpec, field: (typeof FIELDS)[number], path: FieldPath): ErrorList {
  switch (field) {
    case 'object': {
      const s = metric.object as autoscalingv2.ObjectMetricSource
      const errors = [
        ...validateReference(s.describedObject, path.child('describedObject'), false),
        ...validateIdentifier(s.metric, path.child('metric')),
        ...validateTarget(s.target, path.child('target')),
      ]
      if (s.target?.value === undefined && s.target?.averageValue === undefined)
        errors.push(required(path.child('target', 'averageValue'), 'must set either a target value or averageValue'))
      return errors
    }
    case 'external': {
      const s = metric.external as autoscalingv2.ExternalMetricSource
      const errors = [...validateIdentifier(s.metric, path.child('metric')), ...validateTarget(s.target, path.child('target'))]
      if (s.target?.value === undefined && s.target?.averageValue === undefined)
        errors.push(required(path.child('target', 'averageValue'), 'must set either a target value for metric or a per-pod target'))
      if (s.target?.value !== undefined && s.target.averageValue !== undefined)
        errors.push(forbidden(path.child('target', 'value'), 'may not set both a target value for metric and a per-pod target'))
      return errors
    }
    case 'pods': {
      const s = metric.pods as autoscalingv2.PodsMetricSource
      const errors = [...validateIdentifier(s.metric, path.child('metric')), ...validateTarget(s.target, path.child('target'))]
      if (s.target?.averageValue === undefined || !isPositive(s.target.averageValue))
        errors.push(required(path.child('target', 'averageValue'), 'must specify a positive target averageValue'))
      return errors
    }
    case 'resource': {
      const s = metric.resource as autoscalingv2.ResourceMetricSource
      const errors: ErrorList = s.name ? [] : [required(path.child('name'), 'must specify a resource name')]
      return [...errors, ...validateTarget(s.target, path.child('target')), ...validateUtilization(s.target, path.child('target'))]
    }
    case 'containerResource': {
      const s = metric.containerResource as autoscalingv2.ContainerResourceMetricSource
      const errors: ErrorList = s.name ? [] : [required(path.child('name'), 'must specify a resource name')]
      if (!s.container) errors.push(required(path.child('container'), 'must specify a container'))
      return [...errors, ...validateTarget(s.target, path.child('target')), ...validateUtilization(s.target, path.child('target'))]
    }
  }
}

function validateUtilization(target: autoscalingv2.MetricTarget | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (target?.averageUtilization === undefined && target?.averageValue === undefined)
    errors.push(required(path.child('averageUtilization'), 'must set either a target raw value or a target utilization'))
  if (target?.averageUtilization !== undefined && target.averageValue !== undefined)
    errors.push(forbidden(path.child('averageValue'), 'may not set both a target raw value and a target utilization'))
  return errors
}

function validateIdentifier(metric: autoscalingv2.MetricIdentifier | undefined, path: FieldPath): ErrorList {
  const name = metric?.name ?? ''
  const errors: ErrorList =
    name === '' ? [required(path.child('name'), 'must specify a metric name')] : isPathSegmentName(name).map((text) => invalid(path.child('name'), name, text))
  return errors
}

const isPositive = (quantity: string) => parseAmount(quantity).nano > 0n
const shown = (quantity: string) => parseAmount(quantity).toString()

function validateTarget(target: autoscalingv2.MetricTarget | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const type = target?.type ?? ''
  if (type === '') errors.push(required(path.child('type'), 'must specify a metric target type'))
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue')
    errors.push(invalid(path.child('type'), type, 'must be either Utilization, Value, or AverageValue'))
  for (const field of ['value', 'averageValue'] as const) {
    const value = target?.[field]
    if (value !== undefined && !isPositive(value)) errors.push(invalid(path.child(field), shown(value), 'must be positive'))
  }
  if (target?.averageUtilization !== undefined && target.averageUtilization < 1)
    errors.push(invalid(path.child('averageUtilization'), target.averageUtilization, 'must be greater than 0'))
  return errors
}

const SELECT_POLICIES = ['Disabled', 'Max', 'Min']
const POLICY_TYPES = ['Percent', 'Pods']

function validateBehavior(behavior: Spec['behavior']): ErrorList {
  if (!behavior) return []
  const path = SPEC.child('behavior')
  return [...validateRules(behavior.scaleUp, path.child('scaleUp')), ...validateRules(behavior.scaleDown, path.child('scaleDown'))]
}

function validateRules(rules: autoscalingv2.HPAScalingRules | undefined, path: FieldPath): ErrorList {
  if (!rules) return []
  const errors: ErrorList = []
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules
  const at = path.child('stabilizationWindowSeconds')
  if (window !== undefined && window < 0) errors.push(invalid(at, window, 'must be greater than or equal to zero'))
  if (window !== undefined && window > 3600) errors.push(invalid(at, window, 'must be less than or equal to 3600'))
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(selectPolicy))
    errors.push(notSupported(path.child('selectPolicy'), selectPolicy, SELECT_POLICIES))
  if (policies.length === 0) errors.push(required(path.child('policies'), 'must specify at least one Policy'))
  for (const [i, policy] of policies.entries()) {
    const here = path.child('policies').index(i)
    if (!POLICY_TYPES.includes(policy.type)) errors.push(notSupported(here.child('type'), policy.type ?? '', POLICY_TYPES))
    if ((policy.value ?? 0) <= 0) errors.push(invalid(here.child('value'), policy.value ?? 0, 'must be greater than zero'))
    const period = policy.periodSeconds ?? 0
    if (period <= 0) errors.push(invalid(here.child('periodSeconds'), period, 'must be greater than zero'))
    if (period > 1800) errors.push(invalid(here.child('periodSeconds'), period, 'must be less than or equal to 1800'))
  }
  if (tolerance !== undefined && parseAmount(tolerance).nano < 0n) errors.push(invalid(path.child('tolerance'), shown(tolerance), NON_NEGATIVE))
  return errors
}
