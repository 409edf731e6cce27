import { describe, expect, it } from 'vitest'
import { type corev1, type discoveryv1, resources } from '../api/index.ts'
import { seededRandom, VirtualClock } from '../base/index.ts'
import { createClient } from '../client/rest/client.ts'
import { silentLogger } from '../component-base/index.ts'
import { FakeApi } from '../testing/fake-api.ts'
import { parseProxyConfig } from './config.ts'
import type { PacketFilter } from './packet-filter.ts'
import { runProxy } from './run.ts'

class FakeFilter implements PacketFilter {
  readonly applied: string[] = []
  readonly flows: string[] = []
  fail = 0
  table = true
  async apply(commands: string): Promise<void> {
    if (this.fail-- > 0) throw new Error('nft: no')
    this.applied.push(commands)
    this.table = true
  }
  async hasTable(): Promise<boolean> {
    return this.table
  }
  async forgetFlows(filter: readonly string[]): Promise<void> {
    this.flows.push(filter.slice(5).join(' '))
  }
  take(): string[] {
    return this.applied.splice(0)
  }
}

async function setUp() {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const client = createClient(new FakeApi(clock, random), { clock })
  const filter = new FakeFilter()
  const stop = new AbortController()
  const services = client.resource(resources.corev1.services).namespace('a')
  const slices = client.resource(resources.discoveryv1.endpointslices).namespace('a')
  await client
    .resource(resources.corev1.nodes)
    .create({ metadata: { name: 'n1' }, status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } } as corev1.Node)
  const service = (name: string, ip: string, protocol = 'TCP') =>
    services.create({ metadata: { name }, spec: { type: 'ClusterIP', clusterIP: ip, ports: [{ port: 80, protocol }] } } as unknown as corev1.Service)
  const slice = (name: string, ips: string[], protocol = 'TCP') =>
    ({
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ port: 8080, protocol, name: '' }],
      endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    }) as unknown as discoveryv1.EndpointSlice
  // Nothing listens: health is another test's.
  const config = { ...parseProxyConfig('clusterCIDR: 10.244.0.0/16'), healthzBindAddress: '', metricsBindAddress: '' }
  const running = runProxy({ clock, random, log: silentLogger(), signal: stop.signal }, { client, config, nodeName: 'n1', filter })
  await clock.settle()
  const pass = async (ms: number) => {
    await clock.advance(ms)
    await clock.settle()
  }
  const end = async () => {
    stop.abort(new Error('end'))
    await clock.settle()
    await running
  }
  return { clock, client, filter, services, slices, service, slice, pass, end }
}

describe('the proxier', () => {
  it('writes all of the table once, then what changes, at most once a second', async () => {
    const { filter, service, slices, slice, services, pass, end } = await setUp()
    const [first, ...more] = filter.take()
    expect(first).toContain('delete table ip kube-proxy')
    expect(more).toEqual([])
    await service('one', '10.96.0.1')
    await slices.create(slice('one', ['10.244.0.5']))
    await pass(0)
    expect(filter.take()).toEqual([])
    await pass(1000)
    const [change, none] = filter.take()
    expect(change).toContain('dnat to 10.244.0.5:8080')
    expect(change).not.toContain('delete table')
    expect(none).toBeUndefined()
    // After a pause a change is written at once, and removes what it leaves.
    await pass(5000)
    await services.delete('one')
    await slices.delete('one')
    await pass(0)
    await pass(1000)
    const gone = filter.take().join('')
    expect(gone).toContain('delete element ip kube-proxy service-ips { 10.96.0.1 . tcp . 80 }')
    expect(gone).toMatch(/delete chain ip kube-proxy endpoint-/)
    await end()
  })

  it('writes all of it again after a failure, and when somebody took it away', async () => {
    const { filter, service, pass, end } = await setUp()
    filter.take()
    await pass(2000)
    filter.fail = 1
    await service('one', '10.96.0.1')
    await pass(0)
    expect(filter.take()).toEqual([])
    await pass(1000)
    const [again] = filter.take()
    expect(again).toContain('delete table ip kube-proxy')
    expect(again).toContain('10.96.0.1 . tcp . 80')
    await pass(29_000)
    expect(filter.take()).toEqual([])
    filter.table = false
    await pass(32_000)
    expect(filter.take()[0]).toContain('delete table ip kube-proxy')
    await end()
  })

  it('forgets UDP flows to endpoints that are gone, and those from before there were any', async () => {
    const { filter, service, slices, slice, pass, end } = await setUp()
    await pass(2000)
    await service('dns', '10.96.0.10', 'UDP')
    await slices.create(slice('dns', [], 'UDP'))
    await pass(2000)
    expect(filter.flows).toEqual([])
    await slices.update(slice('dns', ['10.244.0.5', '10.244.0.6'], 'UDP'))
    await pass(2000)
    expect(filter.flows.splice(0)).toEqual(['--orig-dst 10.96.0.10 --orig-port-dst 80'])
    await slices.update(slice('dns', ['10.244.0.6'], 'UDP'))
    await pass(2000)
    expect(filter.flows.splice(0)).toEqual(['--orig-dst 10.96.0.10 --orig-port-dst 80 --dst-nat 10.244.0.5'])
    await end()
  })
})
