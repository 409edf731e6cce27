import type { Family } from './address.ts'
import type { PortRules, ServiceRules } from './service-rules.ts'

/** Arguments of one `conntrack -D`: UDP clients whose flows lead to where they shall go no more. */
export type FlowFilter = readonly string[]

/**
 * UDP has no end of a connection: a client that goes on sending keeps its flow, to an endpoint that is gone, or past the Service
 * that had none when the flow began. What to forget when a Service's rules change.
 */
export function staleFlows(before: ServiceRules | undefined, after: ServiceRules | undefined, family: Family): FlowFilter[] {
  const out: FlowFilter[] = []
  const now = new Map((after?.ports ?? []).map((p) => [keyOf(p), p]))
  const seen = new Set<string>()
  for (const old of before?.ports ?? []) {
    if (old.port.protocol !== 'udp') continue
    const key = keyOf(old)
    seen.add(key)
    const next = now.get(key)
    const gone = old.destinations.filter((d) => !next?.destinations.includes(d))
    for (const d of gone) out.push(...frontends(old).map((f) => [...base(family), ...f, '--dst-nat', addressOf(d)]))
    if (next && old.destinations.length === 0 && next.destinations.length > 0) out.push(...frontends(next).map((f) => [...base(family), ...f]))
  }
  for (const [key, next] of now) {
    if (seen.has(key) || next.port.protocol !== 'udp' || next.destinations.length === 0) continue
    out.push(...frontends(next).map((f) => [...base(family), ...f]))
  }
  return out
}

const keyOf = (p: PortRules): string => `${p.port.portName}/${p.port.protocol}/${p.port.clusterIP}/${p.port.port}`
const base = (family: Family): string[] => ['-D', '-f', family === 'IPv4' ? 'ipv4' : 'ipv6', '-p', 'udp']
const addressOf = (destination: string): string => destination.slice(0, destination.lastIndexOf(':')).replace(/^\[|\]$/g, '')

function frontends({ port }: PortRules): string[][] {
  const addresses = [...new Set([port.clusterIP, ...port.externalIPs, ...port.loadBalancerIPs])]
  return [
    ...addresses.map((a) => ['--orig-dst', a, '--orig-port-dst', String(port.port)]),
    ...(port.nodePort ? [['--orig-port-dst', String(port.nodePort)]] : []),
  ]
}
