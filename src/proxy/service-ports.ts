import type { corev1 } from '../api/index.ts'
import { cidrHas, type Family, familyOf, isCIDR } from './address.ts'

export type Protocol = 'tcp' | 'udp' | 'sctp'

/** One port of a Service in one family: everything about it that rules are made from. */
export interface ServicePort {
  namespace: string
  name: string
  /** Of the port; '' when it has none. */
  portName: string
  protocol: Protocol
  clusterIP: string
  port: number
  nodePort: number
  externalIPs: readonly string[]
  loadBalancerIPs: readonly string[]
  /** Undefined: everybody may use the load balancer's addresses. */
  sourceRanges: readonly string[] | undefined
  /** Seconds a client stays with its endpoint; 0 = no affinity. */
  affinitySeconds: number
  internalLocal: boolean
  externalLocal: boolean
}

const DEFAULT_AFFINITY_SECONDS = 10_800
const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' }
/** What may stand in the name of a chain. */
const NAME = /^[A-Za-z0-9.-]{1,63}$/

export const externallyAccessible = (p: ServicePort): boolean => p.nodePort !== 0 || p.externalIPs.length > 0 || p.loadBalancerIPs.length > 0
/** Whether any of its traffic may go to endpoints of other nodes. */
export const usesClusterEndpoints = (p: ServicePort): boolean => !p.internalLocal || (!p.externalLocal && externallyAccessible(p))
export const usesLocalEndpoints = (p: ServicePort): boolean => p.internalLocal || (p.externalLocal && externallyAccessible(p))
/** `namespace/name:port`, as events and comments call it. */
export const servicePortLabel = (p: ServicePort): string => `${p.namespace}/${p.name}${p.portName ? `:${p.portName}` : ''}`

/** The ports of a Service that are proxied in a family; none for headless ones, external names and those of another proxy. */
export function servicePorts(service: corev1.Service, family: Family): ServicePort[] {
  const { metadata, spec, status } = service
  const namespace = metadata.namespace ?? ''
  const name = metadata.name ?? ''
  if (!spec || spec.type === 'ExternalName' || !NAME.test(namespace) || !NAME.test(name)) return []
  if (metadata.labels && ('service.kubernetes.io/service-proxy-name' in metadata.labels || 'service.kubernetes.io/headless' in metadata.labels)) return []
  const ofFamily = (list: readonly (string | undefined)[]): string[] => [...new Set(list.filter((a): a is string => a !== undefined && familyOf(a) === family))]
  const clusterIP = ofFamily(spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP])[0]
  if (clusterIP === undefined) return []
  const balanced = spec.type === 'LoadBalancer'
  const ranges = (spec.loadBalancerSourceRanges ?? []).map((r) => r.trim()).filter((r) => isCIDR(r, family))
  const open = ranges.length === 0 || ranges.some((r) => r.endsWith('/0'))
  const affinity = spec.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS) : 0
  const out: ServicePort[] = []
  for (const port of spec.ports ?? []) {
    const protocol = PROTOCOLS[port.protocol ?? 'TCP']
    const portName = port.name ?? ''
    if (!protocol || (portName !== '' && !NAME.test(portName)) || !isPort(port.port)) continue
    out.push({
      namespace,
      name,
      portName,
      protocol,
      clusterIP,
      port: port.port,
      nodePort: isPort(port.nodePort) && spec.type !== 'ClusterIP' ? port.nodePort : 0,
      externalIPs: ofFamily(spec.externalIPs ?? []),
      // An address whose packets come addressed to the node itself is not the proxy's to match.
      loadBalancerIPs: balanced ? ofFamily((status?.loadBalancer?.ingress ?? []).filter((i) => (i.ipMode ?? 'VIP') === 'VIP').map((i) => i.ip)) : [],
      sourceRanges: balanced && !open ? ranges : undefined,
      affinitySeconds: affinity,
      internalLocal: spec.internalTrafficPolicy === 'Local',
      externalLocal: spec.externalTrafficPolicy === 'Local',
    })
  }
  return out
}

/** The sources that may use a load balancer's addresses; with a node among them also the addresses themselves, which the node's own packets come from. */
export function allowedSources(p: ServicePort, nodeIPs: readonly string[]): string[] {
  const ranges = p.sourceRanges ?? []
  const fromNode = nodeIPs.some((ip) => ranges.some((r) => cidrHas(r, ip)))
  return fromNode ? [...ranges, ...p.loadBalancerIPs] : [...ranges]
}

function isPort(n: number | undefined): n is number {
  return n !== undefined && Number.isInteger(n) && n > 0 && n < 65_536
}
