import type { corev1, discoveryv1 } from '../../api/index.ts'

/** What is known of the cluster at the moment of a question. Objects are shared: read only. */
export interface ClusterView {
  /** Everything was read once. */
  synced(): boolean
  /** When something last changed that answers may depend on, in seconds since the Unix epoch: the serial number of the zone. */
  serial(): number
  namespaceExists(name: string): boolean
  service(namespace: string, name: string): corev1.Service | undefined
  /** The Services of a cluster address. */
  servicesByAddress(address: string): readonly corev1.Service[]
  endpointSlices(namespace: string, service: string): readonly discoveryv1.EndpointSlice[]
  endpointSlicesByAddress(address: string): readonly discoveryv1.EndpointSlice[]
  /** Pods that have an address and are not over; empty unless Pods are watched. */
  podsByAddress(address: string): readonly corev1.Pod[]
}

/** The label that names a slice's Service. */
export const SERVICE_NAME = 'kubernetes.io/service-name'

/** One address of a Service with one of its ports. */
export interface EndpointAddress {
  readonly address: string
  readonly hostname: string | undefined
  readonly podName: string | undefined
  readonly ports: readonly EndpointPort[]
}

export interface EndpointPort {
  readonly name: string
  readonly protocol: string
  /** Undefined where the Service declares none. */
  readonly port: number | undefined
}

const NO_PORT: readonly EndpointPort[] = [{ name: '', protocol: '', port: undefined }]

/** The addresses of a slice that take traffic; not ready is only what says so. */
export function readyAddresses(slice: discoveryv1.EndpointSlice): EndpointAddress[] {
  const ports = slice.ports?.length
    ? slice.ports.map((p) => ({ name: p.name ?? '', protocol: p.protocol ?? 'TCP', ...{ port: p.port ?? undefined } }))
    : NO_PORT
  const out: EndpointAddress[] = []
  for (const e of slice.endpoints ?? []) {
    if (e.conditions?.ready === false) continue
    const podName = e.targetRef?.name || undefined
    for (const address of e.addresses ?? []) out.push({ address, hostname: e.hostname || undefined, podName, ports })
  }
  return out
}

/** `None` is said by the first cluster address alone. */
export const isHeadless = (service: corev1.Service): boolean => service.spec?.clusterIP === 'None'

export const clusterAddresses = (service: corev1.Service): readonly string[] =>
  service.spec?.clusterIPs?.length ? service.spec.clusterIPs : service.spec?.clusterIP ? [service.spec.clusterIP] : []
