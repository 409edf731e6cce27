import type { Pod } from '../../api/core/v1/types.generated.ts'
import { milliValue } from '../../component-helpers/amounts.ts'
import type { Grouped, PodMetric } from './resource-metrics.ts'

export const TOLERANCE = 0.1

export interface Proposal {
  replicas: number
  /** Percent of the request, when that was asked for. */
  utilization?: number
  /** Thousandths per Pod. */
  average: number
}

export interface ResourceTarget {
  resource: string
  container?: string
  averageUtilization?: number
  /** Thousandths per Pod. */
  averageValue?: number
}

/** The request of the Pod, or of one container, in thousandths. */
function requestOf(pod: Pod, target: ResourceTarget): number {
  const sidecars = (pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')
  const containers = [...pod.spec.containers, ...sidecars].filter((c) => target.container === undefined || c.name === target.container)
  let sum = 0
  for (const c of containers) {
    const text = c.resources?.requests?.[target.resource]
    if (text === undefined) throw new Error(`missing request for ${target.resource} in container ${c.name} of Pod ${pod.metadata.name}`)
    sum += milliValue(text)
  }
  return sum
}

/** How many replicas bring usage to its target; Pods without a figure weigh against the change (see the grouping). */
export function resourceReplicas(
  current: number,
  target: ResourceTarget,
  pods: readonly Pod[],
  grouped: Grouped,
  metrics: ReadonlyMap<string, PodMetric>,
  tolerance: { up: number; down: number },
): Proposal {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count')
  const { ready, unready, missing, ignored } = grouped
  if (ready.length === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)')
  const byName = new Map(pods.map((p) => [p.metadata.name ?? '', p]))
  const values = new Map(ready.map((p) => [p.metadata.name ?? '', metrics.get(p.metadata.name ?? '')?.value ?? 0]))
  const measure = (): { ratio: number; utilization?: number; average: number } => {
    const total = [...values.values()].reduce((a, b) => a + b, 0)
    const average = total / values.size
    if (target.averageUtilization !== undefined) {
      let requests = 0
      for (const name of values.keys()) requests += requestOf(byName.get(name) as Pod, target)
      if (requests === 0) throw new Error(`no metrics returned matched known pods`)
      const utilization = Math.trunc((total * 100) / requests)
      return { ratio: utilization / target.averageUtilization, utilization, average }
    }
    return { ratio: average / (target.averageValue ?? 1), average }
  }
  // Every Pod is asked for its request, also those that do not count now.
  if (target.averageUtilization !== undefined) for (const pod of pods) if (!ignored.has(pod.metadata.name ?? '')) requestOf(pod, target)
  const first = measure()
  const shown = { average: Math.trunc(first.average), ...(first.utilization === undefined ? {} : { utilization: first.utilization }) }
  const within = (ratio: number) => ratio <= 1 + tolerance.up && ratio >= 1 - tolerance.down
  const scaleUpWithUnready = unready.size > 0 && first.ratio > 1
  if (!scaleUpWithUnready && missing.size === 0) {
    return { replicas: within(first.ratio) ? current : Math.ceil(first.ratio * ready.length), ...shown }
  }
  for (const name of missing) {
    const pod = byName.get(name) as Pod
    const full =
      target.averageUtilization === undefined ? (target.averageValue ?? 0) : (requestOf(pod, target) * Math.max(100, target.averageUtilization)) / 100
    values.set(name, first.ratio < 1 ? full : 0)
  }
  if (scaleUpWithUnready) for (const name of unready) values.set(name, 0)
  const second = measure()
  if (within(second.ratio) || (first.ratio < 1 && second.ratio > 1) || (first.ratio > 1 && second.ratio < 1)) return { replicas: current, ...shown }
  const replicas = Math.ceil(second.ratio * values.size)
  const crosses = (second.ratio < 1 && replicas > current) || (second.ratio > 1 && replicas < current)
  return { replicas: crosses ? current : replicas, ...shown }
}
