import type { autoscalingv2 } from '../../api/index.ts'
import { NONE, namedColumns, UNSET } from '../named-age.ts'

type Spec = autoscalingv2.MetricSpec
type Status = autoscalingv2.MetricStatus

/** Type, field of the spec and the status, and whether an average is marked as one. */
const SOURCES: Record<string, ['resource' | 'containerResource' | 'pods' | 'object' | 'external', boolean]> = {
  Resource: ['resource', false],
  ContainerResource: ['containerResource', false],
  Pods: ['pods', false],
  Object: ['object', true],
  External: ['external', true],
}

function targetText(spec: Spec, status: Status | undefined): string {
  const source = SOURCES[spec.type]
  if (!source) return '<unknown type>'
  const [field, marked] = source
  const target = spec[field]?.target
  const current = status?.[field]?.current
  const unknown = '<unknown>'
  if (field === 'resource' || field === 'containerResource') {
    const name = spec[field]?.name ?? ''
    if (target?.averageValue !== undefined) return `${name}: ${current?.averageValue ?? unknown}/${target.averageValue}`
    const used = current?.averageUtilization === undefined || current.averageUtilization === null ? unknown : `${current.averageUtilization}%`
    return `${name}: ${used}/${target?.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`}`
  }
  if (field === 'pods') return `${current?.averageValue ?? unknown}/${target?.averageValue ?? ''}`
  if (marked && target?.averageValue !== undefined) return `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`
  return `${current?.value ?? unknown}/${target?.value ?? ''}`
}

function targets(specs: readonly Spec[], statuses: readonly Status[]): string {
  if (specs.length === 0) return NONE
  const shown = specs.slice(0, 2).map((s, i) => targetText(s, statuses[i]))
  const text = shown.join(', ')
  return specs.length > 2 ? `${text} + ${specs.length - 2} more...` : text
}

export const autoscalerColumns = namedColumns<autoscalingv2.HorizontalPodAutoscaler>('Reference|Targets|MinPods|MaxPods|Replicas|Age', ({ spec, status }) => [
  `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
  targets(spec.metrics ?? [], status?.currentMetrics ?? []),
  spec.minReplicas === undefined ? UNSET : String(spec.minReplicas),
  spec.maxReplicas,
  status?.currentReplicas ?? 0,
])
