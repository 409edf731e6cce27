import type { corev1, networkingv1 } from '../api/index.ts'
import { cidrHas, type Family, familyOf, isCIDR } from './address.ts'
import type { ProxyConfig } from './config.ts'
import type { Element, RulePart } from './ruleset.ts'

/** What rules depend on beside Services and their endpoints, in one family. */
export interface NodeFacts {
  nodeName: string
  zone: string
  nodeIPs: readonly string[]
  /** Addresses that take NodePort traffic; 'all' is every address of the machine but loopback. */
  nodePortIPs: readonly string[] | 'all'
  /** Matches packets that Pods of this node send, and all others; undefined: that cannot be told. */
  isPod: string | undefined
  isNotPod: string | undefined
  serviceCIDRs: readonly string[]
  masqueradeAll: boolean
  /** Bit of the packet's mark that asks for masquerading. */
  masqueradeBit: number
}

/** @param machine the addresses of this machine's interfaces */
export function nodeFacts(
  config: ProxyConfig,
  nodeName: string,
  node: corev1.Node | undefined,
  serviceCIDRs: readonly networkingv1.ServiceCIDR[],
  machine: readonly string[],
  family: Family,
): NodeFacts {
  const reported = (node?.status?.addresses ?? []).filter((a) => a.type === 'InternalIP').map((a) => a.address)
  const nodeIPs = [...new Set([config.bindAddress, ...reported].filter((a) => familyOf(a) === family && !/^(0\.0\.0\.0|::|127\..*|::1)$/.test(a)))]
  return {
    nodeName,
    zone: node?.metadata.labels?.['topology.kubernetes.io/zone'] ?? '',
    nodeIPs: nodeIPs.slice(0, 1),
    nodePortIPs: nodePortAddresses(config.nodePortAddresses, nodeIPs.slice(0, 1), machine, family),
    ...localTraffic(config, node, family),
    serviceCIDRs: [...new Set(serviceCIDRs.flatMap((s) => s.spec?.cidrs ?? []))].filter((c) => isCIDR(c, family)).sort(),
    masqueradeAll: config.masqueradeAll,
    masqueradeBit: config.masqueradeBit,
  }
}

function nodePortAddresses(wanted: readonly string[], nodeIPs: readonly string[], machine: readonly string[], family: Family): readonly string[] | 'all' {
  if (wanted.length === 0 || wanted.includes('primary')) return nodeIPs
  const cidrs = wanted.filter((c) => isCIDR(c, family))
  if (cidrs.some((c) => c.endsWith('/0'))) return 'all'
  const usable = machine.filter((a) => familyOf(a) === family && !/^127\.|^::1$|^fe80:/i.test(a))
  return [...new Set(usable.filter((a) => cidrs.some((c) => cidrHas(c, a))))].sort()
}

function localTraffic(config: ProxyConfig, node: corev1.Node | undefined, family: Family): Pick<NodeFacts, 'isPod' | 'isNotPod'> {
  const ip = family === 'IPv4' ? 'ip' : 'ip6'
  const matched = (field: string, value: string | undefined) => ({
    isPod: value === undefined ? undefined : `${field} ${value}`,
    isNotPod: value === undefined ? undefined : `${field} != ${value}`,
  })
  switch (config.detectLocalMode) {
    case 'NodeCIDR':
      return matched(
        `${ip} saddr`,
        (node?.spec?.podCIDRs ?? []).find((c) => isCIDR(c, family)),
      )
    case 'BridgeInterface':
      return matched('iifname', `"${config.bridgeInterface}"`)
    case 'InterfaceNamePrefix':
      return matched('iifname', `"${config.interfaceNamePrefix}*"`)
    default:
      return matched(
        `${ip} saddr`,
        config.clusterCIDRs.find((c) => isCIDR(c, family)),
      )
  }
}

/** The part of the table that is the node's: the way of a packet through it. */
export function nodeRules(node: NodeFacts, family: Family): RulePart {
  const ip = family === 'IPv4' ? 'ip' : 'ip6'
  const mark = `0x${(2 ** node.masqueradeBit).toString(16)}`
  const frontend = `${ip} daddr . meta l4proto . th dport vmap`
  const toNode = node.nodePortIPs === 'all' ? `fib daddr type local ${ip} daddr != ${family === 'IPv4' ? '127.0.0.0/8' : '::1'}` : `${ip} daddr @nodeport-ips`
  const chains: [string, string[]][] = [
    ['mark-for-masquerade', [`meta mark set meta mark or ${mark}`]],
    ['masquerading', [`meta mark & ${mark} == 0 return`, `meta mark set meta mark xor ${mark}`, 'masquerade fully-random']],
    // A TCP client behind a plain ICMP error may try for a second before it believes it.
    ['reject-chain', ['meta l4proto tcp reject with tcp reset', 'reject']],
    ['firewall-check', [`${frontend} @firewall-ips`]],
    ['service-endpoints-check', [`${frontend} @no-endpoint-services`]],
    ['nodeport-endpoints-check', [`${toNode} meta l4proto . th dport vmap @no-endpoint-nodeports`]],
    [
      'cluster-ips-check',
      [
        `${ip} daddr @cluster-ips goto reject-chain comment "Reject traffic to invalid ports of ClusterIPs"`,
        ...node.serviceCIDRs.map((cidr) => `${ip} daddr ${cidr} drop comment "Drop traffic to unallocated ClusterIPs"`),
      ],
    ],
    ['services', [`${frontend} @service-ips`, `${toNode} meta l4proto . th dport vmap @service-nodeports`]],
    ['filter-prerouting-pre-dnat', ['ct state new jump firewall-check']],
    ['filter-output-pre-dnat', ['ct state new jump firewall-check']],
    ['filter-input', ['ct state new jump nodeport-endpoints-check', 'ct state new jump service-endpoints-check']],
    ['filter-forward', ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check']],
    ['filter-output', ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check']],
    ['nat-prerouting', ['jump services']],
    ['nat-output', ['jump services']],
    ['nat-postrouting', ['jump masquerading']],
  ]
  const ips = node.nodePortIPs === 'all' ? [] : node.nodePortIPs
  return {
    chains: new Map(chains),
    affinitySets: new Map(),
    elements: ips.map((key): Element => ({ container: 'nodeport-ips', key, comment: 'node address' })),
  }
}
