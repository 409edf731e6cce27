import type { Node, Pod, Service } from '../../api/core/v1/types.generated.ts'
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/discovery/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { BucketLimiter, type EventRecorder, ExponentialLimiter, type Informer, MaxOfLimiter, referenceTo } from '../../client/index.ts'
import { Controller, type ControllerContext, controllerRef, WriteTracker } from '../../controller-runtime/index.ts'
import {
  HEADLESS_LABEL,
  hasPodSelector,
  isHeadless,
  isIPv6,
  selectsPod,
  shouldBeInEndpoints,
  TRIGGER_TIME_ANNOTATION,
  TriggerTimeTracker,
  watchServicePods,
} from '../../controller-runtime/pods/service-pods.ts'
import { addressesOf, endpointOf, portsOf, withDistributionHints } from './endpoint.ts'
import { pack } from './packing.ts'

const SERVICE_LABEL = 'kubernetes.io/service-name'
const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by'
const MANAGER = 'endpointslice-controller.k8s.io'
const SERVICE_INDEX = 'service'
const MAX_RETRIES = 15
const MAX_ENDPOINTS = 100
type Family = 'IPv4' | 'IPv6'

/** Writes the endpoints of Services with selectors into EndpointSlices. */
export class EndpointSliceController {
  private readonly context: ControllerContext
  private readonly services: Informer<Service>
  private readonly pods: Informer<Pod>
  private readonly nodes: Informer<Node>
  private readonly slices: Informer<EndpointSlice>
  private readonly recorder: EventRecorder
  private readonly triggers = new TriggerTimeTracker()
  private readonly writes: WriteTracker<EndpointSlice>
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    const { informers, clock } = context
    this.services = informers.informer(resources.corev1.services)
    this.pods = informers.informer(resources.corev1.pods)
    this.nodes = informers.informer(resources.corev1.nodes)
    this.slices = informers.informer(resources.discoveryv1.endpointslices)
    this.slices.addIndex(SERVICE_INDEX, (slice) => {
      const labels = slice.metadata.labels ?? {}
      return labels[MANAGED_BY_LABEL] === MANAGER && labels[SERVICE_LABEL] ? [`${slice.metadata.namespace}/${labels[SERVICE_LABEL]}`] : []
    })
    this.recorder = context.events.recorder('endpoint-slice-controller')
    this.controller = new Controller(context, {
      name: 'endpointslice-controller',
      limiter: new MaxOfLimiter(new ExponentialLimiter(1000, 1_000_000), new BucketLimiter(clock, 10, 100)),
      maxRetries: MAX_RETRIES,
      informers: [this.services, this.pods, this.nodes, this.slices],
      reconcile: (key) => this.reconcile(key),
    })
    this.writes = new WriteTracker(clock, this.slices, (key) => this.controller.queue.add(key))
    this.watch()
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private watch(): void {
    const { queue } = this.controller
    const podChanged = watchServicePods(this.services, this.pods, queue)
    this.nodes.addHandler({
      // Pods may have been seen before their node.
      onAdd: (node) => {
        for (const pod of this.pods.lister.list()) if (pod.spec.nodeName === node.metadata.name) podChanged(pod)
      },
      onUpdate: (before, after) => {
        const zone = 'topology.kubernetes.io/zone'
        if (before.metadata.labels?.[zone] === after.metadata.labels?.[zone]) return
        for (const pod of this.pods.lister.list()) if (pod.spec.nodeName === after.metadata.name) podChanged(pod)
      },
    })
    const sliceChanged = (slice: EndpointSlice) => {
      const labels = slice.metadata.labels ?? {}
      if (labels[MANAGED_BY_LABEL] === MANAGER && labels[SERVICE_LABEL]) queue.add(`${slice.metadata.namespace}/${labels[SERVICE_LABEL]}`)
    }
    this.slices.addHandler({
      onUpdate: (before, after) => {
        if (before.metadata.labels?.[SERVICE_LABEL] !== after.metadata.labels?.[SERVICE_LABEL]) sliceChanged(before)
        sliceChanged(after)
      },
      onDelete: sliceChanged,
    })
  }

  private async reconcile(key: string): Promise<void> {
    const service = this.services.lister.get(key)
    if (!service) {
      // The slices follow their owner through the garbage collector.
      this.triggers.forget(key)
      return
    }
    if (service.spec.type === 'ExternalName') {
      for (const slice of this.slices.lister.byIndex(SERVICE_INDEX, key)) await this.remove(slice)
      return
    }
    if (!hasPodSelector(service) || this.writes.stale(key)) return
    const pods = this.pods.lister.inNamespace(service.metadata.namespace).filter((p) => selectsPod(service, p))
    const slices = this.slices.lister.byIndex(SERVICE_INDEX, key).filter((s) => !s.metadata.deletionTimestamp)
    const trigger = this.triggers.compute(key, service, pods)
    const families = familiesOf(service)
    const errors: Error[] = []
    for (const slice of slices) if (!families.includes(slice.addressType as Family)) await this.remove(slice).catch((e) => errors.push(e))
    for (const family of families) {
      await this.reconcileFamily(
        service,
        pods,
        slices.filter((s) => s.addressType === family),
        { family, trigger, errors },
      )
    }
    if (errors.length === 0) return
    const text = errors.length === 1 ? (errors[0] as Error).message : `[${errors.map((e) => e.message).join(', ')}]`
    if (errors.every(isNamespaceTerminating)) return
    const message = `Error updating Endpoint Slices for Service ${key}: ${text}`
    this.recorder.event(referenceTo(resources.corev1.services, service), 'Warning', 'FailedToUpdateEndpointSlices', message)
    throw errors[0]
  }

  private async reconcileFamily(
    service: Service,
    pods: readonly Pod[],
    existing: readonly EndpointSlice[],
    options: { family: Family; trigger: number | undefined; errors: Error[] },
  ): Promise<void> {
    const { family, trigger, errors } = options
    const groups = new Map<string, { ports: EndpointPort[]; wanted: Endpoint[]; existing: EndpointSlice[] }>()
    const groupOf = (ports: readonly EndpointPort[]) => {
      const id = JSON.stringify([...ports].map((p) => [p.name ?? '', p.protocol ?? '', p.port ?? 0, p.appProtocol ?? '']).sort())
      let group = groups.get(id)
      if (!group) groups.set(id, (group = { ports: [...ports], wanted: [], existing: [] }))
      return group
    }
    for (const slice of existing) groupOf(slice.ports ?? []).existing.push(slice)
    for (const pod of pods) {
      if (!shouldBeInEndpoints(pod, true)) continue
      const node = this.nodes.lister.get(pod.spec.nodeName ?? '')
      if (!node && !service.spec.publishNotReadyAddresses) {
        const where = `${service.metadata.namespace}/${service.metadata.name}`
        errors.push(new Error(`skipping Pod ${pod.metadata.name} for Service ${where}: Node ${pod.spec.nodeName ?? ''} Not Found`))
        continue
      }
      const addresses = addressesOf(pod, family)
      if (addresses.length === 0) continue
      const ports = portsOf(pod, service)
      if (ports.length === 0 && (service.spec.ports ?? []).length > 0 && !isHeadless(service)) {
        groupOf([]).wanted.push(withDistributionHints(endpointOf(pod, node, service, addresses), service))
        continue
      }
      groupOf(ports).wanted.push(withDistributionHints(endpointOf(pod, node, service, addresses), service))
    }
    const make: { ports: EndpointPort[]; endpoints: Endpoint[] }[] = []
    let write: { slice: EndpointSlice; ports: EndpointPort[]; endpoints: Endpoint[] }[] = []
    const drop: EndpointSlice[] = []
    for (const { ports, wanted, existing: slices } of groups.values()) {
      const packed = pack(slices, wanted, MAX_ENDPOINTS)
      make.push(...packed.create.map((endpoints) => ({ ports, endpoints })))
      write.push(...packed.update.map((u) => ({ ...u, ports })))
      drop.push(...packed.remove)
      for (const slice of packed.unchanged) if (this.labelsDiffer(slice, service)) write.push({ slice, ports, endpoints: slice.endpoints ?? [] })
    }
    const kept = existing.length - drop.length
    if (make.length + kept === 0) make.push({ ports: [], endpoints: [] })
    // A slice that would go is rewritten in place of one that would be made: one write, not two.
    while (make.length > 0 && drop.length > 0) {
      const slice = drop.pop() as EndpointSlice
      const next = make.pop() as { ports: EndpointPort[]; endpoints: Endpoint[] }
      write.push({ slice, ...next })
    }
    write = write.filter((w) => !this.isAsWanted(w.slice, w, service))
    await this.carryOut(service, { make, write, drop }, { family, trigger, errors })
  }

  private isAsWanted(slice: EndpointSlice, want: { ports: EndpointPort[]; endpoints: Endpoint[] }, service: Service): boolean {
    return deepEqual(slice.endpoints ?? [], want.endpoints) && deepEqual(slice.ports ?? [], want.ports) && !this.labelsDiffer(slice, service)
  }

  private async carryOut(
    service: Service,
    plan: {
      make: { ports: EndpointPort[]; endpoints: Endpoint[] }[]
      write: { slice: EndpointSlice; ports: EndpointPort[]; endpoints: Endpoint[] }[]
      drop: EndpointSlice[]
    },
    { family, trigger, errors }: { family: Family; trigger: number | undefined; errors: Error[] },
  ): Promise<void> {
    const client = this.context.client.resource(resources.discoveryv1.endpointslices).namespace(service.metadata.namespace)
    const annotate = (old: Record<string, string> | undefined) => {
      const { [TRIGGER_TIME_ANNOTATION]: _, ...rest } = old ?? {}
      const all = trigger === undefined ? rest : { ...rest, [TRIGGER_TIME_ANNOTATION]: formatTime(trigger) }
      return Object.keys(all).length > 0 ? { annotations: all } : {}
    }
    const attempt = async (work: Promise<EndpointSlice | undefined>) => {
      try {
        const written = await work
        if (written) this.writes.written(objectKey(service), written)
      } catch (error) {
        errors.push(error as Error)
      }
    }
    const body = (p: { ports: EndpointPort[]; endpoints: Endpoint[] }) => ({
      endpoints: p.endpoints.length > 0 ? p.endpoints : (null as unknown as Endpoint[]),
      ports: p.ports.length > 0 ? p.ports : (null as unknown as EndpointPort[]),
    })
    for (const p of plan.make) {
      await attempt(
        client.create({
          metadata: {
            generateName: `${service.metadata.name}-`,
            namespace: service.metadata.namespace ?? '',
            labels: labelsFor(service),
            ...annotate(undefined),
            ownerReferences: [controllerRef(resources.corev1.services, service)],
          },
          addressType: family,
          ...body(p),
        } as EndpointSlice),
      )
    }
    for (const { slice, ...p } of plan.write) {
      const { annotations, ...metadata } = deepCopy(slice.metadata)
      const next = { ...deepCopy(slice), metadata: { ...metadata, labels: labelsFor(service), ...annotate(annotations) }, ...body(p) }
      await attempt(client.update(next as EndpointSlice))
    }
    for (const slice of plan.drop) await attempt(this.remove(slice))
  }

  private labelsDiffer(slice: EndpointSlice, service: Service): boolean {
    return !deepEqual(slice.metadata.labels ?? {}, labelsFor(service))
  }

  private async remove(slice: EndpointSlice): Promise<undefined> {
    try {
      await this.context.client
        .resource(resources.discoveryv1.endpointslices)
        .namespace(slice.metadata.namespace)
        .delete(slice.metadata.name ?? '')
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

const RESERVED = new Set([SERVICE_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL])

function labelsFor(service: Service): Record<string, string> {
  const labels: Record<string, string> = {}
  for (const [key, value] of Object.entries(service.metadata.labels ?? {})) if (!RESERVED.has(key)) labels[key] = value
  if (isHeadless(service)) labels[HEADLESS_LABEL] = ''
  labels[SERVICE_LABEL] = service.metadata.name ?? ''
  labels[MANAGED_BY_LABEL] = MANAGER
  return labels
}

function familiesOf(service: Service): Family[] {
  const { ipFamilies, clusterIP } = service.spec
  if (ipFamilies?.length) return ipFamilies as Family[]
  return [clusterIP && clusterIP !== 'None' && isIPv6(clusterIP) ? 'IPv6' : 'IPv4']
}
