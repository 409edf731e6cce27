import type { corev1 } from '../../api/index.ts'
import { Type } from '../wire/message.ts'
import { absolute, canonical, isWithin } from '../wire/name.ts'
import { addressBytes } from '../wire/records.ts'
import { type ClusterView, clusterAddresses, type EndpointAddress, isHeadless, readyAddresses, SERVICE_NAME } from './cluster-view.ts'
import { parseRequestName, type RequestName } from './request-name.ts'

/** How a zone of a cluster is answered; the defaults are those of CoreDNS, not of kubeadm's Corefile. */
export interface ZoneOptions {
  /** Canonical. The first one that is not for reverse names is the cluster's. */
  readonly zones: readonly string[]
  readonly ttl: number
  readonly pods: 'disabled' | 'insecure' | 'verified'
  /** Only these; empty: all. */
  readonly namespaces: ReadonlySet<string>
  /** Endpoints without a hostname are called as their Pods. */
  readonly endpointPodNames: boolean
  readonly noEndpoints: boolean
  /** Services without a ready endpoint are no names. */
  readonly ignoreEmpty: boolean
  /** Zones whose unknown names are somebody else's to answer. */
  readonly fallthrough: readonly string[]
  /** Where this server listens. */
  readonly localAddresses: readonly string[]
}

/** One thing that a name stands for. */
export interface Found {
  /** An address, or a name. */
  readonly host: string
  /** 0 where it does not matter; undefined where none is declared. */
  readonly port: number | undefined
  /** The name that this very thing has. */
  readonly owner: string
}

/** What a name stands for; undefined: there is no such name. */
export type Findings = readonly Found[] | undefined

export const isReverseZone = (zone: string): boolean => zone.endsWith('in-addr.arpa.') || zone.endsWith('ip6.arpa.')
export const clusterZone = (o: ZoneOptions): string => o.zones.find((z) => !isReverseZone(z)) ?? (o.zones[0] as string)
export const isAddress = (host: string): boolean => addressBytes(host) !== undefined

export function endpointName(e: EndpointAddress, o: ZoneOptions): string {
  return e.hostname ?? (o.endpointPodNames && e.podName ? e.podName : e.address.replace(/[.:]/g, '-'))
}

/** Everything that a name of the zone stands for, whatever was asked of it. */
export function find(view: ClusterView, o: ZoneOptions, name: string, zone: string): Findings {
  const lower = canonical(name)
  if (isReverseZone(zone)) return lower === zone ? [] : undefined
  const request = parseRequestName(lower, zone)
  if (!request) return undefined
  if (!request.kind || request.namespace === undefined) return []
  if (!isExposed(view, o, request.namespace)) return undefined
  if (request.name === undefined) return request.kind === 'pod' && o.pods === 'disabled' ? undefined : []
  return request.kind === 'pod' ? findPods(view, o, request, zone) : findService(view, o, request, zone)
}

function isExposed(view: ClusterView, o: ZoneOptions, namespace: string): boolean {
  return (o.namespaces.size === 0 || o.namespaces.has(namespace)) && view.namespaceExists(namespace)
}

function findPods(view: ClusterView, o: ZoneOptions, r: RequestName, zone: string): Findings {
  if (o.pods === 'disabled') return undefined
  const name = r.name as string
  const dashes = name.split('-').length - 1
  const address = dashes === 3 && !name.includes('--') ? name.replaceAll('-', '.') : name.replaceAll('-', ':')
  if (!isAddress(address)) return undefined
  if (o.pods === 'verified' && !view.podsByAddress(address).some((p) => p.metadata.namespace === r.namespace)) return undefined
  return [{ host: address, port: 0, owner: `${name}.${r.namespace}.pod.${zone}` }]
}

function findService(view: ClusterView, o: ZoneOptions, r: RequestName, zone: string): Findings {
  const service = view.service(r.namespace as string, r.name as string)
  if (!service) return undefined
  const owner = `${r.name}.${r.namespace}.svc.${zone}`
  if (service.spec?.type === 'ExternalName') {
    const { externalName = '' } = service.spec
    if (r.endpoint !== undefined || r.port !== undefined || externalName === '' || isAddress(externalName)) return undefined
    return [{ host: absolute(externalName), port: 0, owner }]
  }
  const out: Found[] = []
  if (isHeadless(service) || r.endpoint !== undefined) {
    for (const e of endpointsOf(view, o, service)) {
      if (r.endpoint !== undefined && endpointName(e, o) !== r.endpoint) continue
      for (const p of e.ports) if (fits(r, p.name, p.protocol)) out.push({ host: e.address, port: p.port, owner: `${endpointName(e, o)}.${owner}` })
    }
  } else {
    if (o.ignoreEmpty && endpointsOf(view, o, service).length === 0) return undefined
    for (const p of service.spec?.ports ?? [])
      if (fits(r, p.name ?? '', p.protocol ?? 'TCP')) for (const host of clusterAddresses(service)) out.push({ host, port: p.port, owner })
  }
  return out.length > 0 ? out : undefined
}

function endpointsOf(view: ClusterView, o: ZoneOptions, service: corev1.Service): EndpointAddress[] {
  if (o.noEndpoints) return []
  return view.endpointSlices(service.metadata.namespace ?? '', service.metadata.name ?? '').flatMap(readyAddresses)
}

/** Names of ports and protocols are compared without case; one that was not asked for fits all. */
function fits(r: RequestName, port: string, protocol: string): boolean {
  return (!r.port || r.port === port.toLowerCase()) && (!r.protocol || r.protocol === protocol.toLowerCase())
}

/** The names of an address: its Service's, else those of its endpoints. */
export function findReverse(view: ClusterView, o: ZoneOptions, address: string): string[] {
  const zone = clusterZone(o)
  const exposed = (namespace = '') => o.namespaces.size === 0 || o.namespaces.has(namespace)
  for (const { metadata: m } of view.servicesByAddress(address)) if (exposed(m.namespace)) return [`${m.name}.${m.namespace}.svc.${zone}`]
  const names: string[] = []
  for (const slice of o.noEndpoints ? [] : view.endpointSlicesByAddress(address)) {
    const service = slice.metadata.labels?.[SERVICE_NAME]
    if (!service || !exposed(slice.metadata.namespace)) continue
    for (const e of readyAddresses(slice))
      if (sameAddress(e.address, address)) names.push(`${endpointName(e, o)}.${service}.${slice.metadata.namespace}.svc.${zone}`)
  }
  return names
}

const sameAddress = (a: string, b: string): boolean => a === b || addressBytes(a)?.join() === addressBytes(b)?.join()

/** The names and addresses of this server: those of the Services in front of it, else `ns.dns` with its own address. */
export function nameServers(view: ClusterView, o: ZoneOptions, zone: string): Found[] {
  const out: Found[] = []
  const add = (host: string, owner: string) => {
    if (!out.some((f) => f.host === host && f.owner === owner)) out.push({ host, port: 0, owner })
  }
  for (const address of o.localAddresses) {
    for (const slice of view.endpointSlicesByAddress(address)) {
      const service = view.service(slice.metadata.namespace ?? '', slice.metadata.labels?.[SERVICE_NAME] ?? '')
      if (!service) continue
      const owner = `${service.metadata.name}.${service.metadata.namespace}.svc.${zone}`
      if (isHeadless(service)) for (const e of readyAddresses(slice)) add(e.address, `${endpointName(e, o)}.${owner}`)
      else for (const host of clusterAddresses(service)) add(host, owner)
    }
  }
  if (out.length === 0) for (const host of o.localAddresses) add(host, `ns.dns.${zone}`)
  return out
}

/** The zone that a canonical name lies in: the longest. */
export function zoneOf(zones: readonly string[], name: string): string | undefined {
  let best: string | undefined
  for (const zone of zones) if (isWithin(name, zone) && (best === undefined || zone.length > best.length)) best = zone
  return best
}

export const addressType = (host: string): number | undefined => {
  const bytes = addressBytes(host)
  return bytes && (bytes.length === 4 ? Type.A : Type.AAAA)
}
