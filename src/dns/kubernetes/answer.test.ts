import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { service, slice, type ViewObjects, viewOf } from '../testing/view.ts'
import { type Message, queryFor, Rcode, type ResourceRecord, replyTo, Type, typeName } from '../wire/message.ts'
import { addressRecord, dataText } from '../wire/records.ts'
import { answerFromCluster, type Lookup } from './answer.ts'
import type { ZoneOptions } from './find.ts'

const http = { name: 'http', port: 80, protocol: 'TCP' }
const objects: ViewObjects = {
  services: [
    service('svc1', { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ports: [http] }),
    service('two', { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'], ports: [http, { name: 'dns', port: 53, protocol: 'UDP' }] }),
    service('svc6', { clusterIP: '1234:abcd::1', clusterIPs: ['1234:abcd::1'], ports: [http] }),
    service('dual', { clusterIP: '10.0.0.3', clusterIPs: ['10.0.0.3', '10::3'], ports: [http] }),
    service('hdls1', { clusterIP: 'None', clusterIPs: ['None'], ports: [http] }),
    service('portless', { clusterIP: 'None', clusterIPs: ['None'] }),
    service('empty', { clusterIP: 'None', clusterIPs: ['None'], ports: [http] }),
    service('external', { type: 'ExternalName', externalName: 'ext.interwebs.test' }),
    service('to-service', { type: 'ExternalName', externalName: 'svc1.testns.svc.cluster.local' }),
    service('ping', { type: 'ExternalName', externalName: 'pong.testns.svc.cluster.local' }),
    service('pong', { type: 'ExternalName', externalName: 'ping.testns.svc.cluster.local' }),
    service('by-address', { type: 'ExternalName', externalName: '192.0.2.1' }),
    service('kube-dns', { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }, 'kube-system'),
  ],
  slices: [
    slice('hdls1', {
      ports: [http],
      endpoints: [
        { addresses: ['172.0.0.2'], conditions: { ready: true } },
        { addresses: ['172.0.0.3'], conditions: {}, targetRef: { kind: 'Pod', name: 'pod-3' } },
        { addresses: ['172.0.0.4'], hostname: 'dup-name', conditions: { ready: true } },
        { addresses: ['172.0.0.5'], hostname: 'dup-name', conditions: { ready: true } },
        { addresses: ['172.0.0.6'], hostname: 'sick', conditions: { ready: false } },
      ],
    }),
    slice('hdls1', {
      ports: [http],
      addressType: 'IPv6',
      endpoints: [
        { addresses: ['5678:abcd::1'], conditions: {} },
        { addresses: ['5678:abcd::2'], conditions: {} },
      ],
    }),
    slice('portless', { ports: [], endpoints: [{ addresses: ['172.0.0.20'], conditions: {} }] }),
    slice('svc1', { ports: [http], endpoints: [{ addresses: ['172.0.0.1'], hostname: 'ep1', conditions: {} }] }),
    slice('kube-dns', { ports: [{ name: 'dns', port: 53, protocol: 'UDP' }], endpoints: [{ addresses: ['10.244.0.254'], conditions: {} }] }, 'kube-system'),
  ],
  namespaces: ['testns', 'kube-system', 'empty-ns'],
}
const options: ZoneOptions = {
  zones: ['cluster.local.', 'in-addr.arpa.', 'ip6.arpa.'],
  ttl: 30,
  pods: 'insecure',
  namespaces: new Set(),
  endpointPodNames: false,
  noEndpoints: false,
  ignoreEmpty: false,
  fallthrough: ['in-addr.arpa.', 'ip6.arpa.'],
  localAddresses: ['10.244.0.254'],
}
const outside: Lookup = async (name, type) => {
  const query = queryFor(1, name, type)
  if (name !== 'ext.interwebs.test.') return undefined
  return replyTo(query, { answer: type === Type.A ? [addressRecord(name, 60, '1.2.3.4') as ResourceRecord] : [] })
}
const ask = (name: string, type: number, o: Partial<ZoneOptions> = {}, v: Partial<ViewObjects> = {}) =>
  answerFromCluster(viewOf({ ...objects, ...v }), { ...options, ...o }, { name, type, class: 1 }, outside)
const text = (r: ResourceRecord) => `${r.name} ${r.ttl} ${typeName(r.type)} ${dataText(r)}`
const told = async (name: string, type: number, o: Partial<ZoneOptions> = {}) => {
  const a = await ask(name, type, o)
  if (a === 'next') return 'next'
  const soa = a.authority.map((r) => `${r.name} ${typeName(r.type)}`).join()
  const parts = [...a.answer.map(text), ...a.additional.map((r) => `+ ${text(r)}`)]
  return a.rcode === Rcode.NOERROR && parts.length > 0 ? parts : [`${a.rcode === Rcode.NXDOMAIN ? 'NXDOMAIN' : a.rcode === 0 ? 'NODATA' : a.rcode} ${soa}`]
}
const NODATA = ['NODATA cluster.local. SOA']
const NXDOMAIN = ['NXDOMAIN cluster.local. SOA']
const L = 'testns.svc.cluster.local.'

const rows: [title: string, name: string, type: number, expected: string[] | 'next', o?: Partial<ZoneOptions>][] = [
  ['a Service', `svc1.${L}`, Type.A, [`svc1.${L} 30 A 10.0.0.1`]],
  ['a Service in odd case', `SvC1.TestNS.svc.Cluster.Local.`, Type.A, ['SvC1.TestNS.svc.Cluster.Local. 30 A 10.0.0.1']],
  ['no IPv6 for IPv4', `svc1.${L}`, Type.AAAA, NODATA],
  ['a Service of both families, IPv4', `dual.${L}`, Type.A, [`dual.${L} 30 A 10.0.0.3`]],
  ['a Service of both families, IPv6', `dual.${L}`, Type.AAAA, [`dual.${L} 30 AAAA 10::3`]],
  ['its SRV shares the weight', `dual.${L}`, Type.SRV, [`dual.${L} 30 SRV 0 50 80 dual.${L}`, `+ dual.${L} 30 A 10.0.0.3`, `+ dual.${L} 30 AAAA 10::3`]],
  ['a named port', `_http._tcp.svc1.${L}`, Type.SRV, [`_http._tcp.svc1.${L} 30 SRV 0 100 80 svc1.${L}`, `+ svc1.${L} 30 A 10.0.0.1`]],
  ['a named port with no SRV', `_http._tcp.svc1.${L}`, Type.A, [`_http._tcp.svc1.${L} 30 A 10.0.0.1`]],
  ['a port of another protocol', `_http._udp.svc1.${L}`, Type.SRV, NXDOMAIN],
  ['a port that is none', `_https._tcp.svc1.${L}`, Type.SRV, NXDOMAIN],
  ['one port of two', `_dns._udp.two.${L}`, Type.SRV, [`_dns._udp.two.${L} 30 SRV 0 100 53 two.${L}`, `+ two.${L} 30 A 10.0.0.2`]],
  ['all ports', `two.${L}`, Type.SRV, [`two.${L} 30 SRV 0 50 80 two.${L}`, `two.${L} 30 SRV 0 50 53 two.${L}`, `+ two.${L} 30 A 10.0.0.2`]],
  ['a headless Service', `hdls1.${L}`, Type.A, ['2', '3', '4', '5'].map((n) => `hdls1.${L} 30 A 172.0.0.${n}`)],
  ['a headless Service, IPv6', `hdls1.${L}`, Type.AAAA, ['1', '2'].map((n) => `hdls1.${L} 30 AAAA 5678:abcd::${n}`)],
  ['an endpoint by address', `172-0-0-2.hdls1.${L}`, Type.A, [`172-0-0-2.hdls1.${L} 30 A 172.0.0.2`]],
  ['an endpoint by IPv6 address', `5678-abcd--2.hdls1.${L}`, Type.AAAA, [`5678-abcd--2.hdls1.${L} 30 AAAA 5678:abcd::2`]],
  ['endpoints by hostname', `dup-name.hdls1.${L}`, Type.A, [`dup-name.hdls1.${L} 30 A 172.0.0.4`, `dup-name.hdls1.${L} 30 A 172.0.0.5`]],
  ['an endpoint that is not ready', `sick.hdls1.${L}`, Type.A, NXDOMAIN],
  ['an endpoint of a Service with an address', `ep1.svc1.${L}`, Type.A, [`ep1.svc1.${L} 30 A 172.0.0.1`]],
  ["an endpoint by its Pod's name, not said", `pod-3.hdls1.${L}`, Type.A, NXDOMAIN],
  ["an endpoint by its Pod's name", `pod-3.hdls1.${L}`, Type.A, [`pod-3.hdls1.${L} 30 A 172.0.0.3`], { endpointPodNames: true }],
  ['an endpoint that is none', `bogus.hdls1.${L}`, Type.A, NXDOMAIN],
  ['a headless Service without endpoints', `empty.${L}`, Type.A, NXDOMAIN],
  ['a headless Service without ports', `portless.${L}`, Type.A, [`portless.${L} 30 A 172.0.0.20`]],
  ['SRV without ports', `portless.${L}`, Type.SRV, NODATA],
  [
    'SRV of a headless Service',
    `_http._tcp.hdls1.${L}`,
    Type.SRV,
    [
      ...['172-0-0-2', '172-0-0-3', 'dup-name', '5678-abcd--1', '5678-abcd--2'].map((n) => `_http._tcp.hdls1.${L} 30 SRV 0 16 80 ${n}.hdls1.${L}`),
      `+ 172-0-0-2.hdls1.${L} 30 A 172.0.0.2`,
      `+ 172-0-0-3.hdls1.${L} 30 A 172.0.0.3`,
      `+ dup-name.hdls1.${L} 30 A 172.0.0.4`,
      `+ dup-name.hdls1.${L} 30 A 172.0.0.5`,
      `+ 5678-abcd--1.hdls1.${L} 30 AAAA 5678:abcd::1`,
      `+ 5678-abcd--2.hdls1.${L} 30 AAAA 5678:abcd::2`,
    ],
  ],
  ['an external name', `external.${L}`, Type.A, [`external.${L} 30 CNAME ext.interwebs.test.`, 'ext.interwebs.test. 60 A 1.2.3.4']],
  ['an external name alone', `external.${L}`, Type.CNAME, [`external.${L} 30 CNAME ext.interwebs.test.`]],
  ['an external name without an address of that kind', `external.${L}`, Type.AAAA, [`external.${L} 30 CNAME ext.interwebs.test.`]],
  ['an external name as SRV', `external.${L}`, Type.SRV, NODATA],
  ['below an external name', `endpoint.external.${L}`, Type.A, NXDOMAIN],
  ['a port of an external name', `_http._tcp.external.${L}`, Type.SRV, NXDOMAIN],
  ['an external name inside', `to-service.${L}`, Type.A, [`to-service.${L} 30 CNAME svc1.${L}`, `svc1.${L} 30 A 10.0.0.1`]],
  ['external names in a circle', `ping.${L}`, Type.A, NODATA],
  ['an external name that is an address', `by-address.${L}`, Type.A, NXDOMAIN],
  ['no Service', `svc0.${L}`, Type.A, NXDOMAIN],
  ['a wildcard is a name like others', `*.${L}`, Type.A, NXDOMAIN],
  ['any namespace is no namespace', 'svc1.*.svc.cluster.local.', Type.A, NXDOMAIN],
  ['no namespace', 'svc1.nons.svc.cluster.local.', Type.A, NXDOMAIN],
  ['a namespace', L, Type.A, NODATA],
  ['a namespace without Services', 'empty-ns.svc.cluster.local.', Type.A, NODATA],
  ['a namespace that is none', 'nons.svc.cluster.local.', Type.A, NXDOMAIN],
  ['svc', 'svc.cluster.local.', Type.A, NODATA],
  ['pod', 'pod.cluster.local.', Type.A, NODATA],
  ['the zone', 'cluster.local.', Type.A, NODATA],
  ['nothing below the zone', 'foo.cluster.local.', Type.NS, NXDOMAIN],
  ['more labels than there are', `a.b.c.svc1.${L}`, Type.A, NXDOMAIN],
  ['a type that is never there', `svc1.${L}`, Type.HINFO, NODATA],
  ['that type of no name', `svc0.${L}`, Type.HINFO, NXDOMAIN],
  ['MX', `svc1.${L}`, Type.MX, NODATA],
  ['TXT of a Service', `svc1.${L}`, Type.TXT, NODATA],
  ['TXT of no Service', `svc0.${L}`, Type.TXT, NXDOMAIN],
  ['the version', 'dns-version.cluster.local.', Type.TXT, ['dns-version.cluster.local. 28800 TXT "1.1.0"']],
  ['the version as an address', 'dns-version.cluster.local.', Type.A, NXDOMAIN],
  ['SOA of the zone', 'cluster.local.', Type.SOA, ['cluster.local. 30 SOA ns.dns.cluster.local. hostmaster.cluster.local. 1499347823 7200 1800 86400 30']],
  ['SOA below', `svc1.${L}`, Type.SOA, NODATA],
  [
    'NS of the zone',
    'cluster.local.',
    Type.NS,
    ['cluster.local. 30 NS kube-dns.kube-system.svc.cluster.local.', '+ kube-dns.kube-system.svc.cluster.local. 30 A 10.96.0.10'],
  ],
  ['NS below', `svc1.${L}`, Type.NS, NODATA],
  ['the name server', 'ns.dns.cluster.local.', Type.A, ['ns.dns.cluster.local. 30 A 10.96.0.10']],
  ['the name server on its own', 'ns.dns.cluster.local.', Type.A, ['ns.dns.cluster.local. 30 A 127.0.0.1'], { localAddresses: ['127.0.0.1'] }],
  ['a Pod', '10-240-0-1.testns.pod.cluster.local.', Type.A, ['10-240-0-1.testns.pod.cluster.local. 30 A 10.240.0.1']],
  ['a Pod with IPv6', 'fd00--1.testns.pod.cluster.local.', Type.AAAA, ['fd00--1.testns.pod.cluster.local. 30 AAAA fd00::1']],
  ['a Pod that is no address', 'web-0.testns.pod.cluster.local.', Type.A, NXDOMAIN],
  ['a Pod of no namespace', '10-240-0-1.nons.pod.cluster.local.', Type.A, NXDOMAIN],
  ['a Pod that is asked for', '10-240-0-1.testns.pod.cluster.local.', Type.A, NXDOMAIN, { pods: 'verified' }],
  ['Pods not at all', '10-240-0-1.testns.pod.cluster.local.', Type.A, NXDOMAIN, { pods: 'disabled' }],
  ['the name of an address', '1.0.0.10.in-addr.arpa.', Type.PTR, [`1.0.0.10.in-addr.arpa. 30 PTR svc1.${L}`]],
  ["the name of an endpoint's address", '4.0.0.172.in-addr.arpa.', Type.PTR, [`4.0.0.172.in-addr.arpa. 30 PTR dup-name.hdls1.${L}`]],
  ['the name of an endpoint without a hostname', '2.0.0.172.in-addr.arpa.', Type.PTR, [`2.0.0.172.in-addr.arpa. 30 PTR 172-0-0-2.hdls1.${L}`]],
  [
    'the name of an IPv6 address',
    '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.c.b.a.4.3.2.1.ip6.arpa.',
    Type.PTR,
    [`1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.c.b.a.4.3.2.1.ip6.arpa. 30 PTR svc6.${L}`],
  ],
  ['an address of nobody', '9.9.9.9.in-addr.arpa.', Type.PTR, 'next'],
  ['half an address', '0.10.in-addr.arpa.', Type.PTR, 'next'],
  ['an address of nobody, here to answer', '9.9.9.9.in-addr.arpa.', Type.PTR, ['NXDOMAIN in-addr.arpa. SOA'], { fallthrough: [] }],
  ['a PTR of a Service', `svc1.${L}`, Type.PTR, NODATA],
  ['another zone', 'example.org.', Type.A, 'next'],
  ['a namespace that is not served', `svc1.${L}`, Type.A, NXDOMAIN, { namespaces: new Set(['other']) }],
  ['a Service without endpoints, not wanted', `two.${L}`, Type.A, NXDOMAIN, { ignoreEmpty: true }],
]

describe('answers from the cluster', () => {
  it.each(rows)('%s', async (_title, name, type, expected, o) => {
    expect(await told(name, type, o)).toEqual(expected)
  })

  it('of names are failures until the cluster is known', async () => {
    const a = (await ask(`svc0.${L}`, Type.A, {}, { synced: false })) as Message
    expect(a.rcode).toBe(Rcode.SERVFAIL)
    expect(((await ask(`svc1.${L}`, Type.A, {}, { synced: false })) as Message).rcode).toBe(Rcode.NOERROR)
  })

  it('are given to any question', async () => {
    const label = fc.oneof(
      fc.constantFrom('svc', 'pod', 'testns', 'svc1', 'hdls1', '_http', '_tcp', 'external', 'ns', 'dns', '*', 'arpa', 'in-addr', '10'),
      fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/),
    )
    const name = fc
      .tuple(fc.array(label, { maxLength: 7 }), fc.constantFrom('cluster.local.', 'CLUSTER.local.', 'in-addr.arpa.', 'ip6.arpa.'))
      .map(([l, z]) => [...l, z].join('.'))
    await fc.assert(
      fc.asyncProperty(name, fc.integer({ min: 1, max: 70 }), async (n, type) => {
        const a = await ask(n, type)
        if (a === 'next') return void expect(/arpa\.$/i.test(n)).toBe(true)
        expect(a.rcode === Rcode.NOERROR || a.rcode === Rcode.NXDOMAIN).toBe(true)
        // No answer has a SOA instead, and the other way round.
        expect(a.authority.length).toBe(a.answer.length === 0 ? 1 : 0)
        for (const r of a.answer) expect(r.type === type || r.type === Type.CNAME).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})
