import type { Pod, Service, ServicePort } from '../../api/core/v1/types.generated.ts'
import { selectorFromLabels } from '../../apimachinery/labels.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { deepEqual } from '../../base/deep-freeze.ts'
import type { Informer } from '../../client/index.ts'
import { findPodCondition, isPodTerminal } from '../../component-helpers/pod-conditions.ts'

export const HEADLESS_LABEL = 'service.kubernetes.io/headless'
export const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time'

/** A Service whose endpoints are made from Pods. */
export const hasPodSelector = (service: Service): boolean => Object.keys(service.spec.selector ?? {}).length > 0 && service.spec.type !== 'ExternalName'

export const isHeadless = (service: Service): boolean => !service.spec.clusterIP || service.spec.clusterIP === 'None'

export function selectsPod(service: Service, pod: Pod): boolean {
  return hasPodSelector(service) && selectorFromLabels(service.spec.selector).matches(pod.metadata.labels)
}

/** Not finished, with an address, and (unless asked for) not ending. */
export function shouldBeInEndpoints(pod: Pod, includeTerminating: boolean): boolean {
  if (isPodTerminal(pod)) return false
  if (!pod.status?.podIP && !pod.status?.podIPs?.length) return false
  return includeTerminating || !pod.metadata.deletionTimestamp
}

/** The Pod's number for a port of the Service; undefined when a named one is not there. */
export function targetPortOf(pod: Pod, port: ServicePort): number | undefined {
  const { targetPort } = port
  if (typeof targetPort === 'number') return targetPort
  if (targetPort === undefined) return port.port
  const sidecars = (pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')
  for (const container of [...pod.spec.containers, ...sidecars]) {
    for (const p of container.ports ?? []) {
      if (p.name === targetPort && (p.protocol ?? 'TCP') === (port.protocol ?? 'TCP')) return p.containerPort
    }
  }
  return undefined
}

/** Whether a Pod's name in DNS is its hostname: it names the Service as its subdomain. */
export function hasServiceHostname(pod: Pod, service: Service): boolean {
  return Boolean(pod.spec.hostname) && pod.spec.subdomain === service.metadata.name && pod.metadata.namespace === service.metadata.namespace
}

/** What of a Pod shows in endpoints: a change of anything else is of no concern. */
function endpointsFingerprint(pod: Pod): string {
  const ready = findPodCondition(pod, 'Ready')?.status ?? ''
  const { podIP, podIPs, phase } = pod.status ?? {}
  const { nodeName, hostname, subdomain } = pod.spec
  return JSON.stringify([
    ready,
    podIP,
    podIPs,
    phase === 'Succeeded' || phase === 'Failed',
    nodeName,
    hostname,
    subdomain,
    Boolean(pod.metadata.deletionTimestamp),
  ])
}

export function isIPv6(address: string): boolean {
  return address.includes(':')
}

interface TriggerState {
  service: number
  pods: Map<string, number>
}

/** Finds when the change happened that a sync answers to, for latency measurements of those who read endpoints. */
export class TriggerTimeTracker {
  private readonly states = new Map<string, TriggerState>()

  /** @returns ms since the epoch, undefined when nothing changed since the last call */
  compute(key: string, service: Service, pods: readonly Pod[]): number | undefined {
    const before = this.states.get(key)
    const now: TriggerState = { service: timeMs(service.metadata.creationTimestamp) ?? 0, pods: new Map() }
    let earliest: number | undefined
    for (const pod of pods) {
      const at = timeMs(findPodCondition(pod, 'Ready')?.lastTransitionTime)
      if (at === undefined) continue
      const name = pod.metadata.name ?? ''
      now.pods.set(name, at)
      if (before && at > (before.pods.get(name) ?? 0)) earliest = Math.min(earliest ?? at, at)
    }
    if (!before || now.service > before.service) earliest = before ? Math.min(earliest ?? now.service, now.service) : now.service
    this.states.set(key, now)
    return earliest
  }

  forget(key: string): void {
    this.states.delete(key)
  }
}

/**
 * Puts Services on the queue: each when it changes, and those that select a Pod, or did, when what endpoints show of the Pod changes.
 * @returns what is to be called for a Pod whose endpoints change otherwise
 */
export function watchServicePods(services: Informer<Service>, pods: Informer<Pod>, queue: { add(key: string): void }): (pod: Pod) => void {
  const enqueue = (service: Service) => queue.add(objectKey(service))
  const podChanged = (pod: Pod) => {
    for (const service of services.lister.inNamespace(pod.metadata.namespace)) if (selectsPod(service, pod)) enqueue(service)
  }
  services.addHandler({ onAdd: enqueue, onUpdate: (_, s) => enqueue(s), onDelete: enqueue })
  pods.addHandler({
    onAdd: podChanged,
    onUpdate: (before, after) => {
      const relabelled = !deepEqual(before.metadata.labels, after.metadata.labels)
      if (!relabelled && endpointsFingerprint(before) === endpointsFingerprint(after)) return
      if (relabelled) podChanged(before)
      podChanged(after)
    },
    onDelete: podChanged,
  })
  return podChanged
}
