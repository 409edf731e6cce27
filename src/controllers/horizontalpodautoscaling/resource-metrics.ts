import type { Pod } from '../../api/core/v1/types.generated.ts'
import { StatusError } from '../../apimachinery/errors.ts'
import { timeMs } from '../../apimachinery/time.ts'
import type { Client } from '../../client/client.ts'
import { milliValue } from '../../component-helpers/amounts.ts'
import { findPodCondition } from '../../component-helpers/pod-conditions.ts'

const INITIALIZATION_MS = 5 * 60_000
const READINESS_DELAY_MS = 30_000

export interface PodMetric {
  /** Thousandths. */
  value: number
  timestamp: number
  windowMs: number
}

interface MetricsList {
  items: { metadata: { name: string }; timestamp: string; window: string; containers: { name: string; usage: Record<string, string> }[] }[]
}

/** Usage of the Pods behind a selector, from metrics.k8s.io. Throws with the original's wording. */
export async function podMetrics(client: Client, namespace: string, selector: string, resource: string, container?: string): Promise<Map<string, PodMetric>> {
  const fetchFailure = (why: string) => new Error(`unable to fetch metrics from resource metrics API: ${why}`)
  const response = await client.raw({
    path: `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods?labelSelector=${encodeURIComponent(selector)}`,
  })
  const text = await response.text()
  if (response.status !== 200) throw fetchFailure(failureText(response.status, text, 'get pods.metrics.k8s.io'))
  const out = new Map<string, PodMetric>()
  for (const item of (JSON.parse(text) as MetricsList).items) {
    const containers = container === undefined ? item.containers : item.containers.filter((c) => c.name === container)
    // A container without the figure leaves the whole Pod out.
    if (containers.length === 0 || containers.some((c) => c.usage[resource] === undefined)) continue
    const value = containers.reduce((sum, c) => sum + milliValue(c.usage[resource]), 0)
    out.set(item.metadata.name, { value, timestamp: timeMs(item.timestamp) ?? 0, windowMs: Number.parseFloat(item.window) * 1000 || 30_000 })
  }
  if (out.size === 0) throw new Error('no metrics returned from resource metrics API')
  return out
}

/** What a metrics API's refusal is called. */
export function failureText(status: number, body: string, what: string): string {
  if (status === 404 && !body.trimStart().startsWith('{')) return `the server could not find the requested resource (${what})`
  try {
    const parsed = JSON.parse(body) as { message?: string; reason?: string; code?: number }
    if (status === 404 && /^the server could not find/.test(parsed.message ?? '')) return `the server could not find the requested resource (${what})`
    return new StatusError({ code: status, reason: '', message: parsed.message ?? '' }).message
  } catch {
    return `the server is currently unable to handle the request (${what})`
  }
}

export interface Grouped {
  ready: Pod[]
  unready: Set<string>
  missing: Set<string>
  ignored: Set<string>
}

/** Sorts Pods by whether their figure says something. */
export function groupPods(pods: readonly Pod[], metrics: ReadonlyMap<string, PodMetric>, resource: string, now: number): Grouped {
  const out: Grouped = { ready: [], unready: new Set(), missing: new Set(), ignored: new Set() }
  for (const pod of pods) {
    const name = pod.metadata.name ?? ''
    if (pod.metadata.deletionTimestamp || pod.status?.phase === 'Failed') {
      out.ignored.add(name)
      continue
    }
    if (pod.status?.phase === 'Pending') {
      out.unready.add(name)
      continue
    }
    const metric = metrics.get(name)
    if (!metric) {
      out.missing.add(name)
      continue
    }
    if (resource === 'cpu' && isWarmingUp(pod, metric, now)) out.unready.add(name)
    else out.ready.push(pod)
  }
  return out
}

function isWarmingUp(pod: Pod, metric: PodMetric, now: number): boolean {
  const ready = findPodCondition(pod, 'Ready')
  const started = timeMs(pod.status?.startTime)
  const moved = timeMs(ready?.lastTransitionTime)
  if (!ready || started === undefined) return true
  if (started + INITIALIZATION_MS > now) return ready.status === 'False' || (moved !== undefined && metric.timestamp < moved + metric.windowMs)
  return ready.status === 'False' && moved !== undefined && started + READINESS_DELAY_MS > moved
}
