import type { discoveryv1 } from '../api/index.ts'
import { type Family, familyOf } from './address.ts'
import { type ServicePort, usesClusterEndpoints, usesLocalEndpoints } from './service-ports.ts'

/** One endpoint of a Service's port. */
export interface Endpoint {
  ip: string
  port: number
  local: boolean
  ready: boolean
  serving: boolean
  terminating: boolean
  /** Zones and nodes that shall use it; undefined = no such hint. */
  zones: readonly string[] | undefined
  nodes: readonly string[] | undefined
}

/** Where the proxy stands. */
export interface Position {
  nodeName: string
  /** `topology.kubernetes.io/zone` of the node, or ''. */
  zone: string
}

/** The endpoints of a port in a Service's slices, each address once, in a steady order. */
export function endpointsOf(port: ServicePort, slices: readonly discoveryv1.EndpointSlice[], family: Family, nodeName: string): Endpoint[] {
  const found = new Map<string, Endpoint>()
  for (const slice of slices) {
    if (slice.addressType !== family) continue
    for (const p of slice.ports ?? []) {
      if ((p.name ?? '') !== port.portName || (p.protocol ?? 'TCP').toLowerCase() !== port.protocol) continue
      if (p.port === undefined || p.port === null || !Number.isInteger(p.port) || p.port < 1 || p.port > 65_535) continue
      for (const e of slice.endpoints ?? []) {
        // All addresses of an endpoint are the same one; only the first counts.
        const ip = e.addresses?.[0]
        if (ip === undefined || familyOf(ip) !== family) continue
        const ready = e.conditions?.ready ?? true
        const endpoint: Endpoint = {
          ip,
          port: p.port,
          local: e.nodeName !== undefined && e.nodeName === nodeName,
          ready,
          serving: e.conditions?.serving ?? ready,
          terminating: e.conditions?.terminating ?? false,
          zones: e.hints?.forZones?.length ? e.hints.forZones.map((z) => z.name) : undefined,
          nodes: e.hints?.forNodes?.length ? e.hints.forNodes.map((n) => n.name) : undefined,
        }
        const key = `${ip} ${p.port}`
        const before = found.get(key)
        // While it moves between slices it may be in two of them.
        if (!before || (!before.ready && endpoint.ready)) found.set(key, endpoint)
      }
    }
  }
  return [...found.keys()].sort().map((key) => found.get(key) as Endpoint)
}

/** Which endpoints take what traffic on this node. */
export interface Choice {
  /** For traffic that may leave the node. */
  cluster: readonly Endpoint[]
  /** For traffic that may not. */
  local: readonly Endpoint[]
  /** Some endpoint somewhere could take traffic, if policy allowed it. */
  any: boolean
}

/**
 * Ready endpoints, narrowed by hints; where there is none, those that end but still serve. Local traffic has no other choice than its
 * node's, so hints do not count for it.
 */
export function chooseEndpoints(port: ServicePort, endpoints: readonly Endpoint[], at: Position): Choice {
  const usable = (list: readonly Endpoint[]): readonly Endpoint[] => {
    const ready = list.filter((e) => e.ready)
    return ready.length > 0 ? ready : list.filter((e) => e.serving && e.terminating)
  }
  const all = usable(endpoints)
  const local = usable(endpoints.filter((e) => e.local))
  const cluster = usesClusterEndpoints(port) ? hinted(all, at) : []
  return { cluster, local: usesLocalEndpoints(port) ? local : [], any: all.length > 0 }
}

/** Hints hold only when each ready endpoint has one and one of them is for here: else traffic could find nobody. */
function hinted(endpoints: readonly Endpoint[], at: Position): readonly Endpoint[] {
  if (!endpoints.some((e) => e.ready)) return endpoints
  if (endpoints.every((e) => e.nodes)) {
    const here = endpoints.filter((e) => e.nodes?.includes(at.nodeName))
    if (here.length > 0) return here
  }
  if (at.zone !== '' && endpoints.every((e) => e.zones)) {
    const here = endpoints.filter((e) => e.zones?.includes(at.zone))
    if (here.length > 0) return here
  }
  return endpoints
}
