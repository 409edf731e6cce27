import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isForbidden, isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, type Informer, referenceTo } from '../../client/index.ts'
import { isPodReady } from '../../component-helpers/pod-conditions.ts'
import { Controller, type ControllerContext, WriteTracker } from '../../controller-runtime/index.ts'
import {
  HEADLESS_LABEL,
  hasPodSelector,
  hasServiceHostname,
  isHeadless,
  isIPv6,
  selectsPod,
  shouldBeInEndpoints,
  TRIGGER_TIME_ANNOTATION,
  TriggerTimeTracker,
  targetPortOf,
  watchServicePods,
} from '../../controller-runtime/pods/service-pods.ts'
import { repackSubsets, truncateSubsets } from './subsets.ts'

const MANAGED_BY_LABEL = 'endpoints.kubernetes.io/managed-by'
const MANAGER = 'endpoint-controller'
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity'
const MAX_RETRIES = 15

/** Writes the older Endpoints object of each Service with a selector. */
export class EndpointsController {
  private readonly context: ControllerContext
  private readonly services: Informer<Service>
  private readonly pods: Informer<Pod>
  private readonly endpoints: Informer<Endpoints>
  private readonly recorder: EventRecorder
  private readonly triggers = new TriggerTimeTracker()
  private readonly writes: WriteTracker<Endpoints>
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.services = context.informers.informer(resources.corev1.services)
    this.pods = context.informers.informer(resources.corev1.pods)
    this.endpoints = context.informers.informer(resources.corev1.endpoints)
    this.recorder = context.events.recorder('endpoint-controller')
    this.controller = new Controller(context, {
      name: 'endpoints-controller',
      maxRetries: MAX_RETRIES,
      informers: [this.services, this.pods, this.endpoints],
      reconcile: (key) => this.reconcile(key),
    })
    const { queue } = this.controller
    watchServicePods(this.services, this.pods, queue)
    this.writes = new WriteTracker(context.clock, this.endpoints, (key) => queue.add(key))
    // Somebody took it away: it comes back.
    this.endpoints.addHandler({ onDelete: (e) => queue.add(objectKey(e)) })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async reconcile(key: string): Promise<void> {
    const service = this.services.lister.get(key)
    const current = this.endpoints.lister.get(key)
    if (!service) {
      this.triggers.forget(key)
      // Only what this controller made goes with the Service.
      if (current?.metadata.labels?.[MANAGED_BY_LABEL] === MANAGER) await this.remove(current)
      return
    }
    if (!hasPodSelector(service) || this.writes.stale(key)) return
    const pods = this.pods.lister.inNamespace(service.metadata.namespace).filter((p) => selectsPod(service, p))
    const trigger = this.triggers.compute(key, service, pods)
    const all = repackSubsets(pods.flatMap((pod) => subsetOf(pod, service)))
    const { subsets, truncated } = truncateSubsets(all)
    const labels: Record<string, string> = { ...service.metadata.labels }
    if (isHeadless(service)) labels[HEADLESS_LABEL] = ''
    else delete labels[HEADLESS_LABEL]
    labels[MANAGED_BY_LABEL] = MANAGER
    const annotations = { ...current?.metadata.annotations }
    if (
      current &&
      deepEqual(current.subsets ?? [], subsets) &&
      deepEqual(current.metadata.labels ?? {}, labels) &&
      (annotations[OVER_CAPACITY] !== undefined) === truncated
    ) {
      return
    }
    delete annotations[TRIGGER_TIME_ANNOTATION]
    delete annotations[OVER_CAPACITY]
    if (trigger !== undefined) annotations[TRIGGER_TIME_ANNOTATION] = formatTime(trigger)
    if (truncated) annotations[OVER_CAPACITY] = 'truncated'
    await this.write(service, current, { labels, annotations, subsets })
  }

  private async write(
    service: Service,
    current: Endpoints | undefined,
    want: { labels: Record<string, string>; annotations: Record<string, string>; subsets: EndpointSubset[] },
  ): Promise<void> {
    const client = this.context.client.resource(resources.corev1.endpoints).namespace(service.metadata.namespace)
    const { annotations: _, ...metadata } = current
      ? deepCopy(current.metadata)
      : { name: service.metadata.name ?? '', namespace: service.metadata.namespace ?? '', annotations: undefined }
    const object = {
      metadata: { ...metadata, labels: want.labels, ...(Object.keys(want.annotations).length > 0 ? { annotations: want.annotations } : {}) },
      ...(want.subsets.length > 0 ? { subsets: want.subsets } : {}),
    } as Endpoints
    try {
      this.writes.written(objectKey(service), await (current ? client.update(object) : client.create(object)))
    } catch (error) {
      if (isNamespaceTerminating(error)) return
      const about = referenceTo(resources.corev1.services, service)
      const err = (error as Error).message
      if (current) this.recorder.event(about, 'Warning', 'FailedToUpdateEndpoint', `Failed to update endpoint ${objectKey(service)}: ${err}`)
      else if (!isForbidden(error)) {
        this.recorder.event(about, 'Warning', 'FailedToCreateEndpoint', `Failed to create endpoint for service ${objectKey(service)}: ${err}`)
      }
      throw error
    }
  }

  private async remove(endpoints: Endpoints): Promise<void> {
    try {
      await this.context.client
        .resource(resources.corev1.endpoints)
        .namespace(endpoints.metadata.namespace)
        .delete(endpoints.metadata.name ?? '')
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

function subsetOf(pod: Pod, service: Service): EndpointSubset[] {
  const notReady = service.spec.publishNotReadyAddresses === true
  if (!shouldBeInEndpoints(pod, notReady)) return []
  const family = service.spec.ipFamilies?.[0] ?? (isIPv6(service.spec.clusterIP ?? '') ? 'IPv6' : 'IPv4')
  const ips = pod.status?.podIPs?.length ? pod.status.podIPs.map((p) => p.ip ?? '') : [pod.status?.podIP ?? '']
  const ip = ips.find((a) => a !== '' && isIPv6(a) === (family === 'IPv6'))
  if (!ip) return []
  const { namespace, name, uid } = pod.metadata
  const address: EndpointAddress = {
    ip,
    ...(hasServiceHostname(pod, service) && pod.spec.hostname ? { hostname: pod.spec.hostname } : {}),
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    targetRef: { kind: 'Pod', ...(namespace ? { namespace } : {}), ...(name ? { name } : {}), ...(uid ? { uid } : {}) },
  }
  const ports: EndpointPort[] = []
  for (const port of service.spec.ports ?? []) {
    const number = targetPortOf(pod, port)
    if (number === undefined) continue
    ports.push({
      ...(port.name ? { name: port.name } : {}),
      port: number,
      protocol: port.protocol ?? 'TCP',
      ...(port.appProtocol ? { appProtocol: port.appProtocol } : {}),
    })
  }
  // A Service with ports of which the Pod has none leaves it out; a headless one may have no ports at all.
  if (ports.length === 0 && ((service.spec.ports ?? []).length > 0 || !isHeadless(service))) return []
  const list = notReady || isPodReady(pod) ? { addresses: [address] } : { notReadyAddresses: [address] }
  // One subset per port, repacked afterwards: an address may have only some of the ports.
  return ports.length === 0 ? [list] : ports.map((port) => ({ ...list, ports: [port] }))
}
