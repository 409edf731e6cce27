import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import { dnsFor, parseResolvConf } from './dns.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'k8ts-dns-'))
  await writeFile(
    join(folder, 'resolv.conf'),
    '# the host\nnameserver 192.0.2.1\nnameserver 192.0.2.2\nsearch old\nsearch lan. corp.example .\noptions edns0 ndots:2\n',
  )
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function forPod(spec: object, clusterDNS = ['10.96.0.10']) {
  const events: string[] = []
  const recorder = {
    event: (_: unknown, type: string, reason: string, message: string) => events.push(`${type} ${reason} ${message}`),
  } as unknown as EventRecorder
  const pod = { metadata: { name: 'p', namespace: 'shop', uid: 'u' }, spec: { containers: [], ...spec } } as unknown as Pod
  const dns = await dnsFor(pod, { clusterDNS, clusterDomain: 'cluster.local', resolvConf: join(folder, 'resolv.conf'), recorder })
  return { dns, events }
}
const CLUSTER = {
  servers: ['10.96.0.10'],
  searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'lan', 'corp.example'],
  options: ['ndots:5'],
}
const HOST = { servers: ['192.0.2.1', '192.0.2.2'], searches: ['lan', 'corp.example'], options: ['edns0', 'ndots:2'] }

describe("a Pod's name servers", () => {
  it.each([
    ['as it says nothing', {}, CLUSTER],
    ['ClusterFirst', { dnsPolicy: 'ClusterFirst' }, CLUSTER],
    ['ClusterFirst in the host network', { dnsPolicy: 'ClusterFirst', hostNetwork: true }, HOST],
    ['ClusterFirstWithHostNet', { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, CLUSTER],
    ['Default', { dnsPolicy: 'Default' }, HOST],
    ['None', { dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.9'], searches: ['x'] } }, { servers: ['192.0.2.9'], searches: ['x'], options: [] }],
    [
      'ClusterFirst with more of its own',
      { dnsConfig: { nameservers: ['192.0.2.9', '10.96.0.10'], searches: ['lan', 'more'], options: [{ name: 'ndots', value: '2' }, { name: 'rotate' }] } },
      { servers: ['10.96.0.10', '192.0.2.9'], searches: [...CLUSTER.searches, 'more'], options: ['ndots:2', 'rotate'] },
    ],
  ])('%s', async (_, spec, expected) => {
    expect(await forPod(spec)).toEqual({ dns: expected, events: [] })
  })

  it("are the host's where the kubelet knows no cluster DNS, which it tells", async () => {
    const { dns, events } = await forPod({}, [])
    expect(dns).toEqual(HOST)
    expect(events).toEqual([
      'Warning MissingClusterDNS pod: "p_shop(u)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
    ])
  })

  it('are three at most, which it tells', async () => {
    const { dns, events } = await forPod({ dnsConfig: { nameservers: ['192.0.2.7', '192.0.2.8', '192.0.2.9'] } })
    expect(dns.servers).toEqual(['10.96.0.10', '192.0.2.7', '192.0.2.8'])
    expect(events).toEqual([
      'Warning DNSConfigForming Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.96.0.10 192.0.2.7 192.0.2.8',
    ])
  })
})

it('reads what a machine has', () => {
  expect(parseResolvConf('nameserver 192.0.2.1 # x\n;nameserver 192.0.2.2\nsearch a\nsearch b c.\noptions ndots:1\noptions ndots:3 rotate\n')).toEqual({
    servers: ['192.0.2.1'],
    searches: ['b', 'c'],
    options: ['ndots:3', 'rotate'],
  })
})
