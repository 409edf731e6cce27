import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { resources } from '../../api/index.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import { seededRandom, systemClock, VirtualClock } from '../../base/index.ts'
import { createClient } from '../../client/rest/client.ts'
import { silentLogger } from '../../component-base/index.ts'
import { FakeApi } from '../../testing/fake-api.ts'
import { framed } from '../plugins/exchange.ts'
import { service, slice } from '../testing/view.ts'
import { decodeMessage } from '../wire/decode.ts'
import { encodeMessage } from '../wire/encode.ts'
import { type Message, queryFor, Rcode, type ResourceRecord, replyTo, Type } from '../wire/message.ts'
import { addressRecord, dataText } from '../wire/records.ts'
import { DnsServer } from './dns-server.ts'
import { Listener } from './listener.ts'
import { type Origin, respond } from './respond.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const CLUSTER = `kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 30
  }`

/** Another server, which answers as it is told. */
async function upstream(answer: (query: Message, transport: 'udp' | 'tcp') => Message | undefined) {
  const listener = await Listener.open({
    host: '127.0.0.1',
    port: 0,
    clock: systemClock(),
    answer: async (bytes, origin) => {
      const reply = answer(decodeMessage(bytes), origin.transport)
      return reply && encodeMessage(reply)
    },
  })
  closers.push(() => listener.close())
  return listener.port
}

async function start(corefile: string, objects: object[] = []) {
  const clock = systemClock()
  const random = seededRandom(1)
  const api = new FakeApi(clock, random)
  const client = createClient(api, { userAgent: 'test' })
  const handles: Record<string, ResourceHandle> = {
    Namespace: resources.corev1.namespaces,
    Service: resources.corev1.services,
    EndpointSlice: resources.discoveryv1.endpointslices,
  }
  for (const o of [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'testns' } }, ...objects] as KubeObject[])
    await client
      .resource(handles[o.kind as string] as ResourceHandle)
      .namespace(o.metadata.namespace)
      .create(o)
  const lines: string[] = []
  const server = new DnsServer({
    clock,
    random,
    log: silentLogger(),
    print: (line) => lines.push(line),
    corefile: 'Corefile',
    hosts: ['127.0.0.1'],
    onlyHosts: true,
    lameduck: false,
    readFile: async (path) => {
      if (path !== 'Corefile') throw new Error(`open ${path}: no such file or directory`)
      return corefile
    },
    connect: async () => ({ client, close: () => {} }),
  })
  const stop = new AbortController()
  let ended: Promise<void> | undefined
  await new Promise<void>((resolve, reject) => {
    ended = server.run(stop.signal, resolve)
    ended.catch(reject)
  })
  closers.push(async () => {
    stop.abort(new Error('over'))
    await ended
  })
  const port = server.endpoints.dns[0]?.port as number
  const resolver = new Resolver({ timeout: 2000, tries: 1 })
  resolver.setServers([`127.0.0.1:${port}`])
  return { server, port, resolver, lines, stop, ended: ended as unknown as Promise<void> }
}

async function udp(port: number, bytes: Uint8Array): Promise<Message> {
  const socket = createSocket('udp4')
  const reply = new Promise<Buffer>((resolve) => socket.once('message', resolve))
  await new Promise<void>((resolve) => socket.send(bytes, port, '127.0.0.1', () => resolve()))
  const message = decodeMessage(await reply)
  socket.close()
  return message
}

const tcp = (port: number, ...queries: Message[]) =>
  new Promise<Message[]>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const replies: Message[] = []
    let have = Buffer.alloc(0)
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      have = Buffer.concat([have, chunk])
      while (have.length >= 2 && have.length >= 2 + have.readUInt16BE(0)) {
        const end = 2 + have.readUInt16BE(0)
        replies.push(decodeMessage(have.subarray(2, end)))
        have = have.subarray(end)
      }
      if (replies.length === queries.length) {
        socket.destroy()
        resolve(replies)
      }
    })
    socket.write(Buffer.concat(queries.map((q) => framed(encodeMessage(q)))))
  })

const many = slice('many', {
  ports: [{ name: 'p', port: 1, protocol: 'TCP' }],
  endpoints: Array.from({ length: 60 }, (_, i) => ({ addresses: [`10.1.0.${i}`], conditions: {} })),
})
const objects = [
  service('web', { clusterIP: '10.96.3.3', clusterIPs: ['10.96.3.3'], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }),
  service('many', { clusterIP: 'None', clusterIPs: ['None'], ports: [{ name: 'p', port: 1, protocol: 'TCP' }] }),
  service('outside', { type: 'ExternalName', externalName: 'example.org' }),
  many,
]

describe('a server', () => {
  it('answers a resolver of another make', async () => {
    const port = await upstream((q) =>
      replyTo(q, {
        recursionAvailable: true,
        answer: q.question[0]?.type === Type.A ? [addressRecord(q.question[0].name, 60, '192.0.2.7') as ResourceRecord] : [],
      }),
    )
    const { resolver } = await start(`.:0 {\n ${CLUSTER}\n forward . 127.0.0.1:${port}\n cache 30\n loadbalance\n}`, objects)
    expect(await resolver.resolve4('web.testns.svc.cluster.local', { ttl: true })).toEqual([{ address: '10.96.3.3', ttl: 30 }])
    expect(await resolver.resolveSrv('_http._tcp.web.testns.svc.cluster.local')).toEqual([
      { name: 'web.testns.svc.cluster.local', port: 80, priority: 0, weight: 100 },
    ])
    expect(await resolver.reverse('10.96.3.3')).toEqual(['web.testns.svc.cluster.local'])
    expect(await resolver.resolveTxt('dns-version.cluster.local')).toEqual([['1.1.0']])
    expect(await resolver.resolve4('example.org')).toEqual(['192.0.2.7'])
    expect(await resolver.resolve4('outside.testns.svc.cluster.local')).toEqual(['192.0.2.7'])
    expect(await resolver.resolveCname('outside.testns.svc.cluster.local')).toEqual(['example.org'])
    // More than fits: the resolver comes again by TCP.
    expect(await resolver.resolve4('many.testns.svc.cluster.local')).toHaveLength(60)
    await expect(resolver.resolve4('nope.testns.svc.cluster.local')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await expect(resolver.resolve6('web.testns.svc.cluster.local')).rejects.toMatchObject({ code: 'ENODATA' })
  })

  it('keeps to the size that a client takes', async () => {
    const { port } = await start(`.:0 {\n ${CLUSTER}\n}`, objects)
    const ask = async (options: Partial<Message>) => udp(port, encodeMessage(queryFor(5, 'many.testns.svc.cluster.local.', Type.A, options)))
    const plain = await ask({})
    expect([plain.truncated, plain.answer.length < 60, plain.edns]).toEqual([true, true, undefined])
    const cookie = { code: 10, data: Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]) }
    const large = await ask({ edns: { udpSize: 1232, version: 0, dnssecOk: true, options: [cookie, { code: 8, data: Uint8Array.from([0]) }] } })
    expect([large.truncated, large.answer.length, large.edns]).toEqual([false, 60, { udpSize: 1232, version: 0, dnssecOk: true, options: [cookie] }])
    expect((await ask({ edns: { udpSize: 1232, version: 1, dnssecOk: false, options: [] } })).rcode).toBe(Rcode.BADVERS)
    const [first, second] = await tcp(port, queryFor(1, 'many.testns.svc.cluster.local.', Type.A), queryFor(2, 'web.testns.svc.cluster.local.', Type.A))
    expect([first?.id, first?.truncated, first?.answer.length, second?.id, second?.answer.map(dataText)]).toEqual([1, false, 60, 2, ['10.96.3.3']])
  })

  it('fails when nobody answers, and asks another one first', async () => {
    const silent = await upstream(() => undefined)
    const good = await upstream((q, transport) =>
      replyTo(q, { truncated: transport === 'udp', answer: [addressRecord(q.question[0]?.name ?? '', 60, '192.0.2.8') as ResourceRecord] }),
    )
    const closed = await Listener.open({ host: '127.0.0.1', port: 0, clock: systemClock(), answer: async () => undefined })
    const nobody = closed.port
    await closed.close()
    const { port, lines } = await start(
      `one.:0 {\n errors\n forward . 127.0.0.1:${nobody} 127.0.0.1:${good} {\n policy sequential\n}\n forward . 127.0.0.1:${silent}\n}\ntwo.:0 {\n errors\n forward . 127.0.0.1:${nobody} {\n max_fails 0\n}\n}`,
    )
    const reply = await udp(port, encodeMessage(queryFor(5, 'x.one.', Type.A)))
    expect([reply.truncated, reply.rcode]).toEqual([true, Rcode.NOERROR])
    expect((await tcp(port, queryFor(6, 'x.one.', Type.A)))[0]).toMatchObject({ id: 6, truncated: false, rcode: Rcode.NOERROR })
    expect((await udp(port, encodeMessage(queryFor(7, 'x.two.', Type.A)))).rcode).toBe(Rcode.SERVFAIL)
    expect(lines.filter((l) => l.startsWith('[ERROR]'))).toEqual([`[ERROR] plugin/errors: 2 x.two. A: read udp 127.0.0.1:${nobody}: ECONNREFUSED`])
    expect((await udp(port, encodeMessage(queryFor(8, 'x.three.', Type.A)))).rcode).toBe(Rcode.REFUSED)
  })

  it('shows health, readiness and metrics', async () => {
    const { server, resolver } = await start(`.:0 {\n health :0\n ready :0\n prometheus :0\n ${CLUSTER}\n}`, objects)
    await resolver.resolve4('web.testns.svc.cluster.local')
    const [page] = server.endpoints.pages.values()
    const get = async (path: string) => {
      const r = await fetch(`http://127.0.0.1:${page}${path}`)
      return `${r.status} ${await r.text()}`
    }
    expect(await get('/health')).toBe('200 OK')
    expect(await get('/ready')).toBe('200 OK')
    expect(await get('/metrics')).toContain('coredns_dns_requests_total{family="1",proto="udp",server="dns://:0",type="A",view="",zone="."} 1\n')
    expect(await get('/metrics')).toContain('coredns_dns_responses_total{plugin="",rcode="NOERROR",server="dns://:0",view="",zone="."} 1\n')
    expect(await get('/other')).toBe('404 404 page not found\n')
  })

  it('ends when it finds itself in a loop', async () => {
    let own = 0
    // A relay to itself, in place of a resolv.conf that names it.
    const relay = createSocket('udp4')
    await new Promise<void>((resolve) => relay.bind(0, '127.0.0.1', resolve))
    closers.push(() => new Promise<void>((resolve) => relay.close(() => resolve())))
    relay.on('message', (bytes) => own && relay.send(bytes, own, '127.0.0.1'))
    const running = await start(`.:0 {\n loop\n forward . 127.0.0.1:${relay.address().port} {\n max_fails 0\n}\n}`)
    closers.splice(-1)
    own = running.port
    // The server's own first question may have gone by before the relay knew where to send it.
    const ended = expect(running.ended).rejects.toThrow(/^Loop \(127\.0\.0\.1:0 -> :0\) detected for zone "\."/)
    await ended
  })

  it('takes a changed Corefile into force and keeps the last one that is right', async () => {
    const clock = new VirtualClock()
    let corefile = '.:0 {\n hosts {\n 192.0.2.1 a.example\n}\n reload 10s\n}'
    const lines: string[] = []
    const server = new DnsServer({
      clock,
      random: seededRandom(1),
      log: silentLogger(),
      print: (line) => lines.push(line.replace(/= [0-9a-f]{128}$/, '= <hash>')),
      corefile: 'Corefile',
      hosts: ['127.0.0.1'],
      onlyHosts: true,
      lameduck: false,
      readFile: async (path) => (path === 'Corefile' ? corefile : ''),
      connect: () => Promise.reject(new Error('no cluster')),
    })
    const stop = new AbortController()
    let ended: Promise<void> | undefined
    await new Promise<void>((resolve) => {
      ended = server.run(stop.signal, resolve)
    })
    const port = server.endpoints.dns[0]?.port as number
    const told = async () => (await udp(port, encodeMessage(queryFor(5, 'a.example.', Type.A)))).answer.map(dataText)
    const reloaded = async (text: string, last: string) => {
      corefile = text
      lines.length = 0
      for (let i = 0; i < 50 && !lines.at(-1)?.startsWith(last); i++) await clock.advance(1000)
    }
    expect(await told()).toEqual(['192.0.2.1'])
    await reloaded(corefile.replace('192.0.2.1', '192.0.2.2'), '[INFO] Reloading complete')
    expect(lines).toEqual(['[INFO] Reloading', '[INFO] plugin/reload: Running configuration SHA512 = <hash>', '[INFO] Reloading complete'])
    expect([await told(), server.endpoints.dns[0]?.port]).toEqual([['192.0.2.2'], port])
    await reloaded('.:0 {\n bad\n}', '[ERROR] plugin/reload')
    expect(lines[1]).toBe("[ERROR] Restart failed: Corefile:2 - Error during parsing: Unknown directive 'bad'")
    expect(await told()).toEqual(['192.0.2.2'])
    stop.abort(new Error('over'))
    await ended
    expect(server.metrics.expose()).toContain('coredns_reload_failed_total 1\n')
  })

  it('does not listen where it may not', async () => {
    await expect(start('.:0 {\n bind 192.0.2.1\n}')).rejects.toThrow('Corefile: this server listens on 127.0.0.1 alone, not on 192.0.2.1')
    await expect(start('.:0 {\n prometheus 192.0.2.1:0\n}')).rejects.toThrow('not on 192.0.2.1')
    const { server } = await start('.:0 {\n bind 0.0.0.0\n health [::]:0\n}')
    expect([server.endpoints.dns.map((e) => e.host), [...server.endpoints.pages.keys()]]).toEqual([['127.0.0.1'], ['127.0.0.1 0']])
    await expect(start('.:0 {\n wrong\n}')).rejects.toThrow("Corefile:2 - Error during parsing: Unknown directive 'wrong'")
  })
})

describe('an answer', () => {
  const origin: Origin = { client: { address: '127.0.0.1', port: 9 }, transport: 'udp' }
  const responder = {
    route: () => ({
      zone: '.',
      handler: async (q: { message: Message }) => replyTo(q.message, { answer: [addressRecord('a.', 1, '192.0.2.1') as ResourceRecord] }),
    }),
  }
  const ask = async (bytes: Uint8Array, o = responder) => {
    const reply = await respond(bytes, origin, o, () => 0)
    return reply && decodeMessage(reply)
  }
  const changed = (at: number, value: number) => {
    const bytes = encodeMessage(queryFor(0x1234, 'a.', Type.A))
    bytes[at] = value
    return bytes
  }

  it('keeps the id, and the case of the name', async () => {
    expect(await ask(encodeMessage(queryFor(0x1234, 'aBc.', Type.A)))).toMatchObject({ id: 0x1234, response: true, question: [{ name: 'aBc.' }], answer: [{}] })
  })

  it.each([
    ['two questions', changed(5, 2), Rcode.FORMERR],
    ['no question', changed(5, 0), Rcode.FORMERR],
    ['an end that is missing', changed(0, 0x12).slice(0, -1), Rcode.FORMERR],
    ['another operation', changed(2, 0x28), Rcode.NOTIMP],
    ['a notification', changed(2, 0x20), Rcode.NOTIMP],
    ['another class', changed(18, 3), Rcode.REFUSED],
  ])('to %s is refused', async (_, bytes, rcode) => {
    expect(await ask(bytes)).toMatchObject({ id: 0x1234, response: true, rcode, answer: [] })
  })

  it('is not given to answers, nor to less than a head', async () => {
    expect(await ask(changed(2, 0x81))).toBeUndefined()
    expect(await ask(new Uint8Array(11))).toBeUndefined()
  })

  it('is a failure when the server fails', async () => {
    const errors: unknown[] = []
    const broken = { route: () => ({ zone: '.', handler: async () => Promise.reject(new Error('x')) }), panicked: (e: unknown) => errors.push(e) }
    expect(await ask(changed(0, 0x12), broken as unknown as typeof responder)).toMatchObject({ rcode: Rcode.SERVFAIL })
    expect(errors).toHaveLength(1)
  })

  it('to any bytes is a message or none', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (bytes) => {
        const reply = await ask(bytes)
        if (reply) expect([reply.response, reply.id]).toEqual([true, ((bytes[0] as number) << 8) | (bytes[1] as number)])
      }),
      { numRuns: 500 },
    )
  })
})
