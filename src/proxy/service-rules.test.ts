import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import type { corev1, discoveryv1, networkingv1 } from '../api/index.ts'
import type { Family } from './address.ts'
import { parseProxyConfig } from './config.ts'
import { nodeFacts, nodeRules } from './node-facts.ts'
import { changeText, fullText, joinParts, type RulePart } from './ruleset.ts'
import { servicePorts } from './service-ports.ts'
import { serviceRules } from './service-rules.ts'

const config = parseProxyConfig('clusterCIDR: 10.244.0.0/16,fd00:10:244::/56')
const node = {
  metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'a' } },
  status: {
    addresses: [
      { type: 'InternalIP', address: '10.200.0.1' },
      { type: 'InternalIP', address: 'fd20::1' },
    ],
  },
} as unknown as corev1.Node
const cidrs = [{ metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/12', 'fd96::/112'] } }] as networkingv1.ServiceCIDR[]
const facts = (family: Family) => nodeFacts(config, 'n1', node, cidrs, [], family)

type Spec = Partial<corev1.ServiceSpec>
const service = (name: string, spec: Spec, ingress: string[] = []): corev1.Service =>
  ({
    metadata: { name, namespace: 'ns' },
    spec: { type: 'ClusterIP', clusterIP: '10.96.0.10', ports: [{ port: 80, protocol: 'TCP' }], ...spec },
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  }) as corev1.Service

type Sort = { node?: string; ready?: boolean; serving?: boolean; terminating?: boolean; zones?: string[]; nodes?: string[] }
const slice = (endpoints: Record<string, Sort>, port = 8080, protocol = 'TCP', name = ''): discoveryv1.EndpointSlice =>
  ({
    metadata: { name: 's', namespace: 'ns' },
    addressType: Object.keys(endpoints).some((a) => a.includes(':')) ? 'IPv6' : 'IPv4',
    ports: [{ name, port, protocol }],
    endpoints: Object.entries(endpoints).map(([ip, e]) => ({
      addresses: [ip],
      nodeName: e.node ?? 'n1',
      conditions: { ready: e.ready ?? true, serving: e.serving ?? e.ready ?? true, terminating: e.terminating ?? false },
      ...(e.zones || e.nodes
        ? {
            hints: { ...(e.zones ? { forZones: e.zones.map((z) => ({ name: z })) } : {}), ...(e.nodes ? { forNodes: e.nodes.map((n) => ({ name: n })) } : {}) },
          }
        : {}),
    })),
  }) as discoveryv1.EndpointSlice

const rulesOf = (s: corev1.Service, slices: discoveryv1.EndpointSlice[], family: Family = 'IPv4') =>
  serviceRules(servicePorts(s, family), slices, family, facts(family))

/** `container key -> verdict` with hashes left out. */
const elements = (part: RulePart) =>
  part.elements.filter((e) => e.container !== 'cluster-ips').map((e) => `${e.container} ${e.key} -> ${e.verdict?.replace(/-[A-Z2-7]{8}-/, '-')}`)
const chain = (part: RulePart, kind: string) =>
  [...part.chains].filter(([n]) => n.startsWith(`${kind}-`)).map(([, rules]) => rules.map((r) => r.replace(/-[A-Z2-7]{8}-/g, '-')))
const sentTo = (part: RulePart, kind: string) => chain(part, kind).flatMap((rules) => [...(rules.at(-1) ?? '').matchAll(/__([^/ ]+)\//g)].map((m) => m[1]))

const everything = (family: Family): RulePart[] => {
  const v4 = family === 'IPv4'
  const ip = (n: number) => (v4 ? `10.96.0.${n}` : `fd96::${n}`)
  const pod = (n: number) => (v4 ? `10.244.0.${n}` : `fd00:10:244::${n}`)
  return [
    nodeRules(facts(family), family),
    rulesOf(
      service('web', {
        type: 'NodePort',
        clusterIP: ip(10),
        clusterIPs: [ip(10)],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        externalIPs: [v4 ? '192.0.2.9' : '2001:db8::9'],
        ports: [{ name: 'http', port: 80, nodePort: 30080, protocol: 'TCP', targetPort: 8080 }],
      }),
      [slice({ [pod(5)]: {}, [pod(6)]: { node: 'n2' } }, 8080, 'TCP', 'http')],
      family,
    ),
    rulesOf(
      service('none', {
        clusterIP: ip(11),
        clusterIPs: [ip(11)],
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
          { name: 's', port: 5000, protocol: 'SCTP', targetPort: 5000 },
        ],
      }),
      [],
      family,
    ),
    rulesOf(
      service(
        'lb',
        {
          type: 'LoadBalancer',
          clusterIP: ip(12),
          clusterIPs: [ip(12)],
          externalTrafficPolicy: 'Local',
          internalTrafficPolicy: 'Local',
          loadBalancerSourceRanges: v4 ? ['10.0.0.0/8', '10.200.0.0/16'] : ['fd20::/16', 'fd20::/64'],
          ports: [{ port: 80, nodePort: 30081, protocol: 'TCP', targetPort: 80 }],
        },
        [v4 ? '198.51.100.7' : '2001:db8::7'],
      ),
      [slice({ [pod(6)]: { node: 'n2' } }, 80)],
      family,
    ),
  ]
}

describe('the rules of a table', () => {
  it('are these', async () => {
    await expect(fullText('IPv4', joinParts(everything('IPv4'))).join('')).toMatchFileSnapshot('testdata/table.ipv4.nft')
    await expect(fullText('IPv6', joinParts(everything('IPv6'))).join('')).toMatchFileSnapshot('testdata/table.ipv6.nft')
  })

  const usable = (() => {
    try {
      execFileSync('unshare', ['-n', 'nft', 'list', 'tables'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })()
  it.skipIf(!usable)('are accepted by the kernel, and so is every way between two contents', () => {
    for (const family of ['IPv4', 'IPv6'] as const) {
      const all = joinParts(everything(family))
      const few = joinParts(everything(family).slice(0, 2))
      const forth = changeText(family, few, all)
      const back = changeText(family, all, few)
      const input = [...fullText(family, few), forth.apply, forth.cleanup, back.apply, back.cleanup].join('')
      const table = `${family === 'IPv4' ? 'ip' : 'ip6'} kube-proxy`
      const list = (commands: string) =>
        execFileSync('unshare', ['-n', 'sh', '-c', `nft -f - && nft -s list table ${table}`], { input: commands, encoding: 'utf8' })
      const sorted = (text: string) =>
        text
          .split('\n')
          .map((l) => l.trim().replace(/[,}]$/, '').trim())
          .sort()
          .join('\n')
      expect(sorted(list(input))).toBe(sorted(list(fullText(family, few).join(''))))
    }
  })
})

describe('a Service', () => {
  it('with no endpoint is refused, and with some elsewhere alone is silent', () => {
    const nodePort: Spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30080, protocol: 'TCP', targetPort: 80 }] }
    expect(elements(rulesOf(service('a', nodePort), []))).toEqual([
      'no-endpoint-services 10.96.0.10 . tcp . 80 -> goto reject-chain',
      'no-endpoint-nodeports tcp . 30080 -> goto reject-chain',
    ])
    const away = [slice({ '10.244.1.5': { node: 'n2' } })]
    expect(elements(rulesOf(service('a', { ...nodePort, internalTrafficPolicy: 'Local' }), away))).toEqual([
      'no-endpoint-services 10.96.0.10 . tcp . 80 -> drop',
      'service-nodeports tcp . 30080 -> goto external-ns/a/tcp/',
    ])
    const local = rulesOf(service('a', { ...nodePort, externalTrafficPolicy: 'Local' }), away)
    expect(elements(local)).toEqual([
      'service-ips 10.96.0.10 . tcp . 80 -> goto service-ns/a/tcp/',
      'service-nodeports tcp . 30080 -> goto external-ns/a/tcp/',
      'no-endpoint-nodeports tcp . 30080 -> drop',
    ])
    // Pods and the node itself still get there.
    expect(chain(local, 'external')).toEqual([
      [
        'ip saddr 10.244.0.0/16 goto service-ns/a/tcp/ comment "short-circuit pod traffic"',
        'fib saddr type local jump mark-for-masquerade comment "masquerade local traffic"',
        'fib saddr type local goto service-ns/a/tcp/ comment "short-circuit local traffic"',
      ],
    ])
    expect(local.ports[0]?.noLocal).toEqual(['external'])
  })

  it('keeps local traffic on its node, without masquerading what comes from outside', () => {
    const both = [slice({ '10.244.0.5': {}, '10.244.1.5': { node: 'n2' } })]
    const spec: Spec = {
      type: 'NodePort',
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
      ports: [{ port: 80, nodePort: 30080, protocol: 'TCP', targetPort: 80 }],
    }
    const rules = rulesOf(service('a', spec), both)
    expect(elements(rules)).toEqual(['service-ips 10.96.0.10 . tcp . 80 -> goto local-ns/a/tcp/', 'service-nodeports tcp . 30080 -> goto external-ns/a/tcp/'])
    expect(sentTo(rules, 'local')).toEqual(['10.244.0.5'])
    expect(chain(rules, 'external')[0]).not.toContain('jump mark-for-masquerade')
    expect(chain(rules, 'external')[0]?.at(-1)).toBe('goto local-ns/a/tcp/')
  })

  it('falls back to endpoints that end but serve, only when none is ready', () => {
    const ending: Sort = { ready: false, serving: true, terminating: true }
    const sent = (endpoints: Record<string, Sort>) => sentTo(rulesOf(service('a', {}), [slice(endpoints)]), 'service')
    expect(sent({ '10.244.0.5': ending, '10.244.0.6': {} })).toEqual(['10.244.0.6'])
    expect(sent({ '10.244.0.5': ending, '10.244.0.6': { ready: false } })).toEqual(['10.244.0.5'])
    expect(sent({ '10.244.0.5': { ready: false, serving: false, terminating: true } })).toEqual([])
  })

  it('follows hints for this node, then for this zone, unless one is missing or none is for here', () => {
    const sent = (endpoints: Record<string, Sort>) => sentTo(rulesOf(service('a', {}), [slice(endpoints)]), 'service')
    expect(sent({ '10.244.0.5': { zones: ['a'] }, '10.244.0.6': { zones: ['b'] } })).toEqual(['10.244.0.5'])
    expect(sent({ '10.244.0.5': { zones: ['a'] }, '10.244.0.6': {} })).toEqual(['10.244.0.5', '10.244.0.6'])
    expect(sent({ '10.244.0.5': { zones: ['c'] }, '10.244.0.6': { zones: ['b'] } })).toEqual(['10.244.0.5', '10.244.0.6'])
    expect(sent({ '10.244.0.5': { zones: ['a'], nodes: ['n2'] }, '10.244.0.6': { zones: ['a'], nodes: ['n1'] } })).toEqual(['10.244.0.6'])
    expect(sent({ '10.244.0.5': { zones: ['a'], nodes: ['n2'] }, '10.244.0.6': { zones: ['b'], nodes: ['n3'] } })).toEqual(['10.244.0.5'])
  })

  it('is not proxied when it is headless, an external name or another proxy`s', () => {
    for (const s of [service('a', { clusterIP: 'None' }), service('a', { type: 'ExternalName', externalName: 'x' }), service('a', { clusterIP: '' })])
      expect(servicePorts(s, 'IPv4')).toEqual([])
    const other = service('a', {})
    other.metadata.labels = { 'service.kubernetes.io/service-proxy-name': 'mine' }
    expect(servicePorts(other, 'IPv4')).toEqual([])
  })

  it('puts nothing into a rule that is no address, range or name', () => {
    const bad = service('a', { type: 'LoadBalancer', externalIPs: ['1.2.3.4 } accept'], loadBalancerSourceRanges: ['0.0.0.0/0 accept', '10.0.0.0/99'] }, [
      'nonsense',
    ])
    expect(servicePorts(bad, 'IPv4')[0]).toMatchObject({ externalIPs: [], loadBalancerIPs: [], sourceRanges: undefined })
    expect(servicePorts(service('a" ; drop', {}), 'IPv4')).toEqual([])
    expect(sentTo(rulesOf(service('a', {}), [slice({ '10.244.0.5:80 ; accept': {} })]), 'service')).toEqual([])
  })
})
