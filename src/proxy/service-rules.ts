import { createHash } from 'node:crypto'
import type { discoveryv1 } from '../api/index.ts'
import { type Family, joinHostPort } from './address.ts'
import { chooseEndpoints, type Endpoint, endpointsOf } from './endpoints.ts'
import type { NodeFacts } from './node-facts.ts'
import type { Element, RulePart } from './ruleset.ts'
import { allowedSources, externallyAccessible, type ServicePort, servicePortLabel, usesClusterEndpoints } from './service-ports.ts'

/** What one Service adds to the table, and what is left to do beside it. */
export interface ServiceRules extends RulePart {
  readonly ports: readonly PortRules[]
}

export interface PortRules {
  readonly port: ServicePort
  /** Endpoints its traffic may be sent to, as `address:port`. */
  readonly destinations: readonly string[]
  /** Ready endpoints of this node. */
  readonly localReady: number
  /** A policy that says Local finds no endpoint here, though there are some elsewhere. */
  readonly noLocal: readonly ('internal' | 'external')[]
}

/** The rules of a Service's ports in one family. Depends on nothing but its arguments. */
export function serviceRules(ports: readonly ServicePort[], slices: readonly discoveryv1.EndpointSlice[], family: Family, node: NodeFacts): ServiceRules {
  const chains = new Map<string, readonly string[]>()
  const affinitySets = new Map<string, number>()
  const elements: Element[] = []
  const done: PortRules[] = []
  const clusterIP = ports[0]?.clusterIP
  if (clusterIP) elements.push({ container: 'cluster-ips', key: clusterIP, comment: `${ports[0]?.namespace}/${ports[0]?.name}`.slice(0, MAX_COMMENT) })
  for (const port of ports)
    done.push(new PortWriter(port, family, node, chains, affinitySets, elements).write(endpointsOf(port, slices, family, node.nodeName)))
  return { chains, affinitySets, elements, ports: done }
}

/** Of nft's, less its end. */
const MAX_COMMENT = 120
const MAX_NAME = 200

/** `kind-HASH-namespace/name/protocol/port`: unique by its hash, readable by the rest. */
function chainName(kind: string, p: ServicePort, rest = '', hashed = ''): string {
  const title = `${p.namespace}/${p.name}/${p.protocol}/${p.portName}`
  return `${kind}-${shortHash(`${title}${rest}${hashed}`)}-${title}${rest.replaceAll(':', '.')}`.slice(0, MAX_NAME)
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function shortHash(text: string): string {
  const bytes = createHash('sha256').update(text).digest()
  let out = ''
  for (let i = 0; i < 8; i++) out += ALPHABET[(bytes[i] as number) & 31]
  return out
}

class PortWriter {
  private readonly port: ServicePort
  private readonly ip: 'ip' | 'ip6'
  private readonly node: NodeFacts
  private readonly chains: Map<string, readonly string[]>
  private readonly affinitySets: Map<string, number>
  private readonly elements: Element[]
  private readonly comment: string

  constructor(port: ServicePort, family: Family, node: NodeFacts, chains: Map<string, readonly string[]>, sets: Map<string, number>, elements: Element[]) {
    this.port = port
    this.ip = family === 'IPv4' ? 'ip' : 'ip6'
    this.node = node
    this.chains = chains
    this.affinitySets = sets
    this.elements = elements
    this.comment = servicePortLabel(port).slice(0, MAX_COMMENT)
  }

  write(endpoints: readonly Endpoint[]): PortRules {
    const p = this.port
    const { cluster, local, any } = chooseEndpoints(p, endpoints, this.node)
    const external = externallyAccessible(p)
    const clusterChain = chainName('service', p)
    const localChain = chainName('local', p)
    for (const e of new Set([...cluster, ...local])) this.endpointChain(e)
    const internalChain = p.internalLocal ? localChain : clusterChain
    if (cluster.length > 0) this.balancer(clusterChain, cluster, internalChain === clusterChain)
    if (local.length > 0) this.balancer(localChain, local, internalChain === localChain)
    const internalTo = p.internalLocal ? local : cluster
    const externalTo = p.externalLocal ? local : cluster
    // Nobody anywhere: say so at once. Somebody, but elsewhere: another node may do better if this one is silent.
    const refusal = any ? 'drop' : 'goto reject-chain'
    if (internalTo.length > 0) this.frontend('service-ips', p.clusterIP, p.port, `goto ${internalChain}`)
    else this.frontend('no-endpoint-services', p.clusterIP, p.port, refusal)
    if (external) this.external(cluster, externalTo, clusterChain, p.externalLocal ? localChain : clusterChain, refusal)
    const noLocal: ('internal' | 'external')[] = []
    if (any && p.internalLocal && local.length === 0) noLocal.push('internal')
    if (any && external && p.externalLocal && local.length === 0) noLocal.push('external')
    return {
      port: p,
      destinations: [...new Set([...cluster, ...local].map((e) => joinHostPort(e.ip, e.port)))],
      localReady: endpoints.filter((e) => e.local && e.ready).length,
      noLocal,
    }
  }

  private external(cluster: readonly Endpoint[], to: readonly Endpoint[], clusterChain: string, policyChain: string, refusal: string): void {
    const p = this.port
    const { ip } = this
    const chain = chainName('external', p)
    const rules: string[] = []
    const everywhere = cluster.length > 0 && usesClusterEndpoints(p)
    if (!p.externalLocal) rules.push('jump mark-for-masquerade')
    else {
      // Pods and this machine are inside the cluster, and need no local endpoint, when there is a chain for all of them.
      const short = everywhere ? clusterChain : undefined
      if (short && this.node.isPod) rules.push(`${this.node.isPod} goto ${short} comment "short-circuit pod traffic"`)
      rules.push('fib saddr type local jump mark-for-masquerade comment "masquerade local traffic"')
      if (short) rules.push(`fib saddr type local goto ${short} comment "short-circuit local traffic"`)
    }
    if (to.length > 0) rules.push(`goto ${policyChain}`)
    const live = to.length > 0 || (p.externalLocal && everywhere)
    if (live) this.chains.set(chain, rules)
    const addresses = [...new Set([...p.externalIPs, ...p.loadBalancerIPs])].filter((a) => a !== p.clusterIP)
    for (const address of addresses) {
      if (live) this.frontend('service-ips', address, p.port, `goto ${chain}`)
      if (to.length === 0) this.frontend('no-endpoint-services', address, p.port, refusal)
    }
    if (p.nodePort !== 0) {
      if (live) this.frontend('service-nodeports', undefined, p.nodePort, `goto ${chain}`)
      if (to.length === 0) this.frontend('no-endpoint-nodeports', undefined, p.nodePort, refusal)
    }
    if (p.sourceRanges && p.loadBalancerIPs.length > 0) {
      const firewall = chainName('firewall', p)
      this.chains.set(firewall, [...allowedSources(p, this.node.nodeIPs).map((range) => `${ip} saddr ${range} return`), 'drop'])
      for (const address of p.loadBalancerIPs) this.frontend('firewall-ips', address, p.port, `goto ${firewall}`)
    }
  }

  private frontend(container: Element['container'], address: string | undefined, port: number, verdict: string): void {
    const key = `${address ? `${address} . ` : ''}${this.port.protocol} . ${port}`
    this.elements.push({ container, key, verdict, comment: this.comment })
  }

  /** Sends a connection to one of some endpoints. */
  private balancer(chain: string, endpoints: readonly Endpoint[], internal: boolean): void {
    const p = this.port
    const { node, ip } = this
    const rules: string[] = []
    if (internal) {
      const forClusterIP = `${ip} daddr ${p.clusterIP} ${p.protocol} dport ${p.port}`
      if (node.masqueradeAll) rules.push(`${forClusterIP} jump mark-for-masquerade`)
      // Who is no Pod may not be found by the endpoint's answer.
      else if (node.isNotPod) rules.push(`${forClusterIP} ${node.isNotPod} jump mark-for-masquerade`)
    }
    if (p.affinitySeconds > 0) for (const e of endpoints) rules.push(`${ip} saddr @${this.affinitySet(e)} goto ${this.endpointName(e)}`)
    rules.push(`numgen random mod ${endpoints.length} vmap { ${endpoints.map((e, i) => `${i} : goto ${this.endpointName(e)}`).join(', ')} }`)
    this.chains.set(chain, rules)
  }

  private endpointName(e: Endpoint): string {
    return chainName('endpoint', this.port, `__${e.ip}/${e.port}`)
  }

  /** Another timeout is another set: one that is in use cannot change. */
  private affinitySet(e: Endpoint): string {
    return chainName('affinity', this.port, `__${e.ip}/${e.port}`, ` ${this.port.affinitySeconds}`)
  }

  private endpointChain(e: Endpoint): void {
    const p = this.port
    const { ip } = this
    const rules = [`${ip} saddr ${e.ip} jump mark-for-masquerade comment "hairpin"`]
    if (p.affinitySeconds > 0) {
      const set = this.affinitySet(e)
      this.affinitySets.set(set, p.affinitySeconds)
      rules.push(`update @${set} { ${ip} saddr }`)
    }
    rules.push(`meta l4proto ${p.protocol} dnat to ${joinHostPort(e.ip, e.port)}`)
    this.chains.set(this.endpointName(e), rules)
  }
}
