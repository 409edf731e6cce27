import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { corev1, discoveryv1 } from '../api/index.ts'
import { parseProxyConfig } from './config.ts'
import { nodeFacts, nodeRules } from './node-facts.ts'
import { changeText, type Element, fullText, joinParts, type Ruleset } from './ruleset.ts'
import { servicePorts } from './service-ports.ts'
import { serviceRules } from './service-rules.ts'

/** A table as nft keeps it, with nft's own refusals: nothing may be used before it is there, or removed while it is used. */
class Model {
  chains = new Map<string, string[]>()
  sets = new Set<string>()
  elements = new Map<string, string>()

  run(commands: string): void {
    for (const line of commands.split('\n').filter((l) => l !== '')) {
      const [, verb, what, rest] = /^(add|delete|flush) (table|chain|set|map|rule|element) ip kube-proxy ?(.*)$/.exec(line) as unknown as string[]
      const [name = '', ...more] = (rest ?? '').split(' ')
      if (what === 'table') {
        if (verb === 'delete') Object.assign(this, new Model())
      } else if (what === 'set' || what === 'map') {
        if (verb === 'add') this.sets.add(name)
        else {
          if (this.uses(`@${name}`)) throw new Error(`${name} is in use`)
          if (!this.sets.delete(name)) throw new Error(`no set ${name}`)
        }
      } else if (what === 'chain') {
        if (verb === 'add') this.chains.set(name, this.chains.get(name) ?? [])
        else if (!this.chains.has(name)) throw new Error(`no chain ${name}`)
        else if (verb === 'flush') this.chains.set(name, [])
        else {
          if (this.uses(name)) throw new Error(`${name} is in use`)
          this.chains.delete(name)
        }
      } else if (what === 'rule') {
        const rule = more.join(' ')
        this.check(rule)
        const chain = this.chains.get(name)
        if (!chain) throw new Error(`no chain ${name}`)
        chain.push(rule)
      } else {
        if (!this.sets.has(name)) throw new Error(`no set ${name}`)
        for (const text of more
          .join(' ')
          .replace(/^\{ | \}$/g, '')
          .split(', ')) {
          const key = `${name} ${text.replace(/ comment .*$/, '')}`
          const verdict = / : (.*)$/.exec(text)?.[1] ?? ''
          if (verb === 'delete') {
            if (!this.elements.delete(key)) throw new Error(`no element ${key}`)
          } else {
            if (this.elements.has(key)) throw new Error(`element ${key} is there`)
            this.check(verdict)
            this.elements.set(key, verdict)
          }
        }
      }
    }
  }

  private uses(name: string): boolean {
    const word = (text: string) => text.split(/[ ,]/).includes(name)
    return [...this.chains.values()].some((rules) => rules.some(word)) || [...this.elements.values()].some(word)
  }

  private check(text: string): void {
    for (const [, chain] of text.matchAll(/(?:goto|jump) ([^\s,]+)/g)) if (!this.chains.has(chain as string)) throw new Error(`no chain ${chain}`)
    for (const [, set] of text.matchAll(/@(\S+)/g)) if (!this.sets.has(set as string)) throw new Error(`no set ${set}`)
  }

  state() {
    return { chains: sorted(this.chains), sets: [...this.sets].sort(), elements: sorted(this.elements) }
  }
}

const sorted = <V>(map: Map<string, V>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))

const facts = nodeFacts(
  parseProxyConfig('clusterCIDR: 10.244.0.0/16'),
  'n1',
  {
    metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'z1' } },
    status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
  } as unknown as corev1.Node,
  [],
  [],
  'IPv4',
)

const endpoint = fc.record({
  ip: fc.integer({ min: 1, max: 6 }).map((n) => `10.244.0.${n}`),
  node: fc.constantFrom('n1', 'n2'),
  ready: fc.boolean(),
  serving: fc.boolean(),
  terminating: fc.boolean(),
  zone: fc.constantFrom(undefined, 'z1', 'z2'),
})
const oneService = fc.record({
  type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
  internal: fc.constantFrom('Cluster', 'Local'),
  external: fc.constantFrom('Cluster', 'Local'),
  affinity: fc.constantFrom(0, 10, 20),
  protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
  ports: fc.integer({ min: 1, max: 2 }),
  shared: fc.boolean(),
  ranges: fc.boolean(),
  endpoints: fc.array(endpoint, { maxLength: 5 }),
})
type Drawn = typeof oneService extends fc.Arbitrary<infer T> ? T : never

function partOf(name: string, i: number, d: Drawn) {
  const service = {
    metadata: { name, namespace: 'ns' },
    spec: {
      type: d.type,
      clusterIP: `10.96.0.${i + 1}`,
      ports: Array.from({ length: d.ports }, (_, p) => ({
        name: `p${p}`,
        port: 80 + p,
        nodePort: d.type === 'ClusterIP' ? 0 : 30000 + 10 * i + p,
        protocol: d.protocol,
      })),
      // Two Services may claim one address.
      ...(d.shared ? { externalIPs: ['192.0.2.1'] } : {}),
      ...(d.affinity ? { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: d.affinity } } } : {}),
      internalTrafficPolicy: d.internal,
      externalTrafficPolicy: d.external,
      ...(d.ranges ? { loadBalancerSourceRanges: ['10.0.0.0/8', '10.1.0.0/16'] } : {}),
    },
    status: { loadBalancer: { ingress: [{ ip: `198.51.100.${i + 1}` }] } },
  } as unknown as corev1.Service
  const slice = {
    metadata: { name, namespace: 'ns' },
    addressType: 'IPv4',
    ports: Array.from({ length: d.ports }, (_, p) => ({ name: `p${p}`, port: 8080 + p, protocol: d.protocol })),
    endpoints: d.endpoints.map((e) => ({
      addresses: [e.ip],
      nodeName: e.node,
      conditions: { ready: e.ready, serving: e.serving, terminating: e.terminating },
      ...(e.zone ? { hints: { forZones: [{ name: e.zone }] } } : {}),
    })),
  } as unknown as discoveryv1.EndpointSlice
  return serviceRules(servicePorts(service, 'IPv4'), [slice], 'IPv4', facts)
}

const cluster = fc
  .array(fc.option(oneService, { nil: undefined }), { minLength: 4, maxLength: 4 })
  .map((list) => list.flatMap((d, i) => (d ? [partOf(`s${i}`, i, d)] : [])))
const table = cluster.map((parts) => joinParts([nodeRules(facts, 'IPv4'), ...parts]))

const modelOf = (...commands: string[]) => {
  const model = new Model()
  for (const c of commands) model.run(c)
  return model.state()
}

describe('changes of a table', () => {
  it('lead from any content to any other, using nothing that is not there and leaving nothing behind', () => {
    fc.assert(
      fc.property(table, table, table, (a, b, c) => {
        const [ab, bc] = [changeText('IPv4', a, b), changeText('IPv4', b, c)]
        const direct = modelOf(...fullText('IPv4', c))
        expect(modelOf(...fullText('IPv4', a), ab.apply, ab.cleanup, bc.apply, bc.cleanup)).toEqual(direct)
        // Nothing of the first content matters after a full write.
        expect(modelOf(...fullText('IPv4', a), ...fullText('IPv4', c))).toEqual(direct)
        expect(changeText('IPv4', c, c)).toEqual({ apply: '', cleanup: '' })
      }),
      { numRuns: 40 },
    )
  })

  it('send each address and port that is claimed to one place, and every client somewhere or away', () => {
    fc.assert(
      fc.property(cluster, (parts) => {
        for (const { ports, elements, chains } of parts) {
          for (const { port, destinations } of ports) {
            const at = (container: Element['container']) =>
              elements.some((e) => e.container === container && e.key === `${port.clusterIP} . ${port.protocol} . ${port.port}`)
            expect(at('service-ips')).not.toBe(at('no-endpoint-services'))
            for (const d of destinations) expect([...chains.values()].some((rules) => rules.at(-1)?.endsWith(`dnat to ${d}`))).toBe(true)
          }
        }
      }),
      { numRuns: 50 },
    )
  })

  it('are written in several transactions when they are very many, each of which stands by itself', () => {
    const many: Ruleset = { chains: new Map(nodeRules(facts, 'IPv4').chains), affinitySets: new Map(), elements: new Map() }
    for (let i = 0; i < 3000; i++) {
      // The chain that is named comes after the one that names it.
      many.chains.set(`external-${i}`, [`goto service-${i}`])
      many.chains.set(`service-${i}`, [`goto endpoint-${i}`])
      many.chains.set(`endpoint-${i}`, [`meta l4proto tcp dnat to 10.0.0.1:${i + 1}`])
      const e: Element = { container: 'service-ips', key: `10.96.${i >> 8}.${i & 255} . tcp . 80`, verdict: `goto external-${i}`, comment: 'x' }
      many.elements.set(`service-ips ${e.key}`, e)
    }
    const texts = fullText('IPv4', many)
    expect(texts.length).toBeGreaterThan(1)
    const state = modelOf(...texts)
    expect(state.chains.length).toBe(many.chains.size + 8 - [...nodeRules(facts, 'IPv4').chains.keys()].filter((n) => /^(filter|nat)-/.test(n)).length)
    expect(state.elements.length).toBe(3000)
  })
})
