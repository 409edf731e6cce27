import type { Node, Pod, Service } from '../../api/core/v1/types.generated.ts'
import type { Endpoint, EndpointPort } from '../../api/discovery/v1/types.generated.ts'
import { isPodReady } from '../../component-helpers/pod-conditions.ts'
import { hasServiceHostname, isIPv6, targetPortOf } from '../../controller-runtime/pods/service-pods.ts'

const ZONE_LABEL = 'topology.kubernetes.io/zone'

/** The Pod's addresses of one family. */
export function addressesOf(pod: Pod, family: 'IPv4' | 'IPv6'): string[] {
  const all = pod.status?.podIPs?.length ? pod.status.podIPs.map((p) => p.ip ?? '') : [pod.status?.podIP ?? '']
  return all.filter((ip) => ip !== '' && isIPv6(ip) === (family === 'IPv6'))
}

export function endpointOf(pod: Pod, node: Node | undefined, service: Service, addresses: string[]): Endpoint {
  const serving = isPodReady(pod)
  const terminating = Boolean(pod.metadata.deletionTimestamp)
  const { nodeName } = pod.spec
  const zone = node?.metadata.labels?.[ZONE_LABEL]
  return {
    addresses,
    conditions: { ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating), serving, terminating },
    ...(hasServiceHostname(pod, service) && pod.spec.hostname ? { hostname: pod.spec.hostname } : {}),
    targetRef: {
      kind: 'Pod',
      ...(pod.metadata.namespace ? { namespace: pod.metadata.namespace } : {}),
      ...(pod.metadata.name ? { name: pod.metadata.name } : {}),
      ...(pod.metadata.uid ? { uid: pod.metadata.uid } : {}),
    },
    ...(nodeName ? { nodeName } : {}),
    ...(zone ? { zone } : {}),
  }
}

/** The Service's ports as this Pod has them; a named port it does not have is left out. */
export function portsOf(pod: Pod, service: Service): EndpointPort[] {
  const out: EndpointPort[] = []
  for (const port of service.spec.ports ?? []) {
    const number = targetPortOf(pod, port)
    if (number === undefined) continue
    out.push({ name: port.name ?? '', protocol: port.protocol ?? 'TCP', port: number, ...(port.appProtocol ? { appProtocol: port.appProtocol } : {}) })
  }
  return out
}

/** Hints of spec.trafficDistribution: the endpoint's own zone, and node when asked for. */
export function withDistributionHints(endpoint: Endpoint, service: Service): Endpoint {
  const wish = service.spec.trafficDistribution
  const auto = /^auto$/i.test(service.metadata.annotations?.['service.kubernetes.io/topology-mode'] ?? '')
  if (!wish || auto || !endpoint.conditions?.ready) return endpoint
  const zone = endpoint.zone ? { forZones: [{ name: endpoint.zone }] } : {}
  const node = wish === 'PreferSameNode' && endpoint.nodeName ? { forNodes: [{ name: endpoint.nodeName }] } : {}
  return Object.keys(zone).length + Object.keys(node).length > 0 ? { ...endpoint, hints: { ...zone, ...node } } : endpoint
}

/** Same address and Pod: the same endpoint, whatever its condition. */
export function endpointKey(endpoint: Endpoint): string {
  return `${endpoint.targetRef?.uid ?? ''}|${[...endpoint.addresses].sort().join(',')}`
}
