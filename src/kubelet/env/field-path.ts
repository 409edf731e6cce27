import type { Pod, ResourceFieldSelector } from '../../api/core/v1/types.generated.ts'
import { milliValue, parseAmount } from '../../component-helpers/amounts.ts'
import type { AnyContainer } from '../pods/pod.ts'
import { findContainer } from '../pods/pod.ts'

/** What downward API fields need beyond the Pod's spec. */
export interface FieldSources {
  podIPs: readonly string[]
  hostIPs: readonly string[]
  /** Allocatable of the node, for limits that are not set. */
  allocatable: Readonly<Record<string, string>>
}

/** The text of a field selector; throws for a field that cannot be used. Whole maps are lines of `key="value"`. */
export function fieldValue(pod: Pod, fieldPath: string, sources: FieldSources): string {
  const subscript = /^(metadata\.(?:labels|annotations))\['([^']*)'\]$/.exec(fieldPath)
  if (subscript) {
    const map = subscript[1] === 'metadata.labels' ? pod.metadata.labels : pod.metadata.annotations
    const key = subscript[2] as string
    return map && Object.hasOwn(map, key) ? (map[key] as string) : ''
  }
  switch (fieldPath) {
    case 'metadata.name':
      return pod.metadata.name ?? ''
    case 'metadata.namespace':
      return pod.metadata.namespace ?? ''
    case 'metadata.uid':
      return pod.metadata.uid ?? ''
    case 'metadata.labels':
      return mapLines(pod.metadata.labels)
    case 'metadata.annotations':
      return mapLines(pod.metadata.annotations)
    case 'spec.nodeName':
      return pod.spec.nodeName ?? ''
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? ''
    case 'status.hostIP':
      return sources.hostIPs[0] ?? ''
    case 'status.hostIPs':
      return sources.hostIPs.join(',')
    case 'status.podIP':
      return sources.podIPs[0] ?? ''
    case 'status.podIPs':
      return sources.podIPs.join(',')
  }
  throw new Error(`unsupported fieldPath: ${fieldPath}`)
}

function mapLines(map: Record<string, string> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([k, v]) => `${k}=${JSON.stringify(v)}`)
    .join('\n')
}

/** The number a resource selector gives, rounded up to the divisor. */
export function resourceValue(pod: Pod, selector: ResourceFieldSelector, own: AnyContainer | undefined, allocatable: Readonly<Record<string, string>>): string {
  const container = selector.containerName ? findContainer(pod, selector.containerName) : own
  if (!container) throw new Error(`container ${selector.containerName ?? ''} not found`)
  const match = /^(limits|requests)\.(.+)$/.exec(selector.resource)
  if (!match) throw new Error(`unsupported container resource : ${selector.resource}`)
  const kind = match[1] as 'limits' | 'requests'
  const name = match[2] as string
  const { resources } = container
  let text = resources?.[kind]?.[name]
  if (text === undefined || parseAmount(text).nano === 0n) {
    text = kind === 'limits' ? (pod.spec.resources?.limits?.[name] ?? allocatable[name] ?? '0') : '0'
  }
  const divisor = selector.divisor && parseAmount(selector.divisor).nano > 0n ? selector.divisor : '1'
  if (name === 'cpu') {
    const d = milliValue(divisor)
    return String(Math.ceil(milliValue(text) / d))
  }
  const value = parseAmount(text).nano
  const by = parseAmount(divisor).nano
  return String((value + by - 1n) / by)
}
