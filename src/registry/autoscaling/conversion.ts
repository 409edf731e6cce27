import type { autoscalingv1, autoscalingv2 } from '../../api/index.ts'
import type { GroupVersionKind, KubeObject } from '../../apimachinery/object.ts'

type V1 = autoscalingv1.HorizontalPodAutoscaler
type V2 = autoscalingv2.HorizontalPodAutoscaler
type Json = Record<string, unknown>

const METRICS = 'autoscaling.alpha.kubernetes.io/metrics'
const STATUSES = 'autoscaling.alpha.kubernetes.io/current-metrics'
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions'
const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior'
const OURS = [METRICS, STATUSES, CONDITIONS, BEHAVIOR]

/** autoscaling/v1 knows CPU alone: the rest travels in annotations. */
export function convertAutoscaler(object: KubeObject, to: GroupVersionKind): KubeObject {
  return to.version === 'v1' ? toV1(object as V2) : toV2(object as V1)
}

/** Leaves out what is undefined. */
function given(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined))
}

const isCPUShare = (name: string | undefined, share: unknown) => name === 'cpu' && share !== undefined && share !== null

function toV1(item: V2): KubeObject {
  // Parts of an object come here too, when apply takes away what nobody owns any more.
  const spec = (item.spec ?? {}) as Partial<V2['spec']>
  const { status } = item
  const annotations: Record<string, string> = { ...item.metadata.annotations }
  let target: number | undefined
  const others: Json[] = []
  for (const metric of spec.metrics ?? []) {
    if (metric.type === 'Resource' && isCPUShare(metric.resource?.name, metric.resource?.target?.averageUtilization))
      target = metric.resource?.target?.averageUtilization
    else others.push(specToV1(metric))
  }
  let current: number | undefined
  const statuses: Json[] = []
  for (const metric of status?.currentMetrics ?? []) {
    if (metric.type === 'Resource' && isCPUShare(metric.resource?.name, metric.resource?.current?.averageUtilization))
      current = metric.resource?.current?.averageUtilization
    statuses.push(statusToV1(metric))
  }
  if (others.length) annotations[METRICS] = JSON.stringify(others)
  if (statuses.length) annotations[STATUSES] = JSON.stringify(statuses)
  if (spec.behavior) annotations[BEHAVIOR] = JSON.stringify(behaviorOut(spec.behavior))
  if (status?.conditions?.length) annotations[CONDITIONS] = JSON.stringify(status.conditions)
  const metadata = { ...item.metadata }
  if (Object.keys(annotations).length) metadata.annotations = annotations
  else delete metadata.annotations
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: given({
      scaleTargetRef: spec.scaleTargetRef ?? { kind: '', name: '' },
      minReplicas: spec.minReplicas,
      maxReplicas: spec.maxReplicas ?? 0,
      targetCPUUtilizationPercentage: target,
    }),
    status: given({
      observedGeneration: status?.observedGeneration,
      lastScaleTime: status?.lastScaleTime,
      currentReplicas: status?.currentReplicas ?? 0,
      desiredReplicas: status?.desiredReplicas ?? 0,
      currentCPUUtilizationPercentage: current,
    }),
  } as unknown as KubeObject
}

function specToV1(metric: autoscalingv2.MetricSpec): Json {
  const { type, object, pods, resource, containerResource, external } = metric
  const out: Json = { type }
  if (object) {
    const { target } = object
    out.object = given({
      target: object.describedObject,
      metricName: object.metric?.name ?? '',
      targetValue: target?.value ?? '0',
      selector: object.metric?.selector,
      averageValue: target?.averageValue,
    })
  }
  if (pods) out.pods = given({ metricName: pods.metric?.name ?? '', targetAverageValue: pods.target?.averageValue ?? '0', selector: pods.metric?.selector })
  if (resource)
    out.resource = given({
      name: resource.name,
      targetAverageUtilization: resource.target?.averageUtilization,
      targetAverageValue: resource.target?.averageValue,
    })
  if (containerResource) {
    const { target } = containerResource
    out.containerResource = given({
      name: containerResource.name,
      targetAverageUtilization: target?.averageUtilization,
      targetAverageValue: target?.averageValue,
      container: containerResource.container,
    })
  }
  if (external)
    out.external = given({
      metricName: external.metric?.name ?? '',
      metricSelector: external.metric?.selector,
      targetValue: external.target?.value,
      targetAverageValue: external.target?.averageValue,
    })
  return out
}

function statusToV1(metric: autoscalingv2.MetricStatus): Json {
  const { type, object, pods, resource, containerResource, external } = metric
  const out: Json = { type }
  if (object) {
    const { current } = object
    out.object = given({
      target: object.describedObject,
      metricName: object.metric?.name ?? '',
      currentValue: current?.value ?? '0',
      selector: object.metric?.selector,
      averageValue: current?.averageValue,
    })
  }
  if (pods) out.pods = given({ metricName: pods.metric?.name ?? '', currentAverageValue: pods.current?.averageValue ?? '0', selector: pods.metric?.selector })
  if (resource)
    out.resource = given({
      name: resource.name,
      currentAverageUtilization: resource.current?.averageUtilization,
      currentAverageValue: resource.current?.averageValue ?? '0',
    })
  if (containerResource) {
    const { current } = containerResource
    out.containerResource = given({
      name: containerResource.name,
      currentAverageUtilization: current?.averageUtilization,
      currentAverageValue: current?.averageValue ?? '0',
      container: containerResource.container,
    })
  }
  if (external)
    out.external = given({
      metricName: external.metric?.name ?? '',
      metricSelector: external.metric?.selector,
      currentValue: external.current?.value ?? '0',
      currentAverageValue: external.current?.averageValue,
    })
  return out
}

/** Upstream writes this one in its internal form. */
function behaviorOut(behavior: autoscalingv2.HorizontalPodAutoscalerBehavior): Json {
  const rules = (r: autoscalingv2.HPAScalingRules | undefined) =>
    r
      ? {
          StabilizationWindowSeconds: r.stabilizationWindowSeconds ?? null,
          SelectPolicy: r.selectPolicy ?? null,
          Policies: r.policies?.map((p) => ({ Type: p.type, Value: p.value, PeriodSeconds: p.periodSeconds })) ?? null,
          Tolerance: r.tolerance ?? null,
        }
      : null
  return { ScaleUp: rules(behavior.scaleUp), ScaleDown: rules(behavior.scaleDown) }
}

/** An annotation's JSON; what is none counts as absent, as upstream has it. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const asObject = (value: unknown): Json | undefined => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined)
const asList = (value: unknown): Json[] => (Array.isArray(value) ? value.filter((v): v is Json => asObject(v) !== undefined) : [])

function toV2(item: V1): KubeObject {
  const spec = (item.spec ?? {}) as V1['spec']
  const { status } = item
  const annotations = item.metadata.annotations ?? {}
  const read = (name: string) => parsed(Object.hasOwn(annotations, name) ? annotations[name] : undefined)
  const metrics = asList(read(METRICS)).map((m) => metricFromV1(m, 'target'))
  if (spec.targetCPUUtilizationPercentage !== undefined) {
    metrics.push({ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: spec.targetCPUUtilizationPercentage } } })
  }
  const statuses = asList(read(STATUSES)).map((m) => metricFromV1(m, 'current'))
  // The annotation holds all of them; the field alone tells when there is no annotation.
  if (statuses.length === 0 && status?.currentCPUUtilizationPercentage !== undefined)
    statuses.push({ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: status.currentCPUUtilizationPercentage } } })
  const behavior = asObject(read(BEHAVIOR))
  const conditions = asList(read(CONDITIONS))
  const metadata = { ...item.metadata }
  if (item.metadata.annotations) {
    const rest = Object.fromEntries(Object.entries(annotations).filter(([k]) => !OURS.includes(k)))
    if (Object.keys(rest).length) metadata.annotations = rest
    else delete metadata.annotations
  }
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata,
    spec: given({
      scaleTargetRef: spec.scaleTargetRef ?? { kind: '', name: '' },
      minReplicas: spec.minReplicas,
      maxReplicas: spec.maxReplicas ?? 0,
      metrics: metrics.length ? metrics : undefined,
      behavior: behavior ? behaviorIn(behavior) : undefined,
    }),
    status: given({
      observedGeneration: status?.observedGeneration,
      lastScaleTime: status?.lastScaleTime,
      currentReplicas: status?.currentReplicas || undefined,
      desiredReplicas: status?.desiredReplicas ?? 0,
      currentMetrics: statuses.length ? statuses : null,
      conditions: conditions.length ? conditions : undefined,
    }),
  } as unknown as KubeObject
}

/** @param side `target` for what is asked, `current` for what was measured */
function metricFromV1(metric: Json, side: 'target' | 'current'): Json {
  const cap = side === 'target' ? 'target' : 'current'
  const field = (source: Json, name: string) => source[`${cap}${name}`]
  const amount = (utilization: unknown, value: unknown, average: unknown): Json => {
    if (side === 'current') return given({ value, averageValue: average, averageUtilization: utilization })
    const type = utilization !== undefined ? 'Utilization' : average !== undefined ? 'AverageValue' : 'Value'
    return given({ type, value, averageValue: average, averageUtilization: utilization })
  }
  const out: Json = { type: metric.type ?? '' }
  const object = asObject(metric.object)
  if (object) {
    const average = object.averageValue
    out.object = {
      describedObject: object.target ?? { kind: '', name: '' },
      [side]: amount(undefined, average !== undefined && side === 'target' ? undefined : field(object, 'Value'), average),
      metric: given({ name: object.metricName ?? '', selector: object.selector }),
    }
  }
  const pods = asObject(metric.pods)
  if (pods)
    out.pods = { metric: given({ name: pods.metricName ?? '', selector: pods.selector }), [side]: amount(undefined, undefined, field(pods, 'AverageValue')) }
  const resource = asObject(metric.resource)
  if (resource) out.resource = { name: resource.name ?? '', [side]: amount(field(resource, 'AverageUtilization'), undefined, field(resource, 'AverageValue')) }
  const container = asObject(metric.containerResource)
  if (container)
    out.containerResource = {
      name: container.name ?? '',
      [side]: amount(field(container, 'AverageUtilization'), undefined, field(container, 'AverageValue')),
      container: container.container ?? '',
    }
  const external = asObject(metric.external)
  if (external)
    out.external = {
      metric: given({ name: external.metricName ?? '', selector: external.metricSelector }),
      [side]: amount(undefined, field(external, 'Value'), field(external, 'AverageValue')),
    }
  return out
}

function behaviorIn(behavior: Json): Json {
  const rules = (value: unknown) => {
    const r = asObject(value)
    if (!r) return undefined
    return given({
      stabilizationWindowSeconds: r.StabilizationWindowSeconds ?? undefined,
      selectPolicy: r.SelectPolicy ?? undefined,
      policies: Array.isArray(r.Policies)
        ? asList(r.Policies).map((p) => ({ type: p.Type ?? '', value: p.Value ?? 0, periodSeconds: p.PeriodSeconds ?? 0 }))
        : undefined,
      tolerance: r.Tolerance ?? undefined,
    })
  }
  return given({ scaleUp: rules(behavior.ScaleUp), scaleDown: rules(behavior.ScaleDown) })
}
