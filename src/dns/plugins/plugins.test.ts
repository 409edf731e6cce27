import { describe, expect, it } from 'vitest'
import { seededRandom, VirtualClock } from '../../base/index.ts'
import { parseCorefile } from '../corefile/config.ts'
import { type Message, queryFor, Rcode, type ResourceRecord, replyTo, Type } from '../wire/message.ts'
import { canonical } from '../wire/name.ts'
import { addressRecord, dataText, nameRecord, soaRecord } from '../wire/records.ts'
import { cachePlugin } from './cache.ts'
import { type Handler, isFailure, type Query } from './handler.ts'
import { hostsPlugin, parseHosts } from './hosts.ts'
import { shuffled } from './loadbalance.ts'
import { LoopDetector } from './loop.ts'

const query = (name: string, type: number = Type.A, options: Partial<Message> = {}): Query => {
  const message = queryFor(1, name, type, options)
  return { message, question: message.question[0] as Query['question'], name: canonical(name), client: { address: '127.0.0.1', port: 1 }, transport: 'udp' }
}
const a = (name: string, address: string, ttl = 300) => addressRecord(name, ttl, address) as ResourceRecord
const soa = soaRecord('example.org.', 300, { ns: 'ns.', mailbox: 'm.', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 7 })

function cached(corefile: string, next: Handler) {
  const clock = new VirtualClock()
  const seen: string[] = []
  const [server] = parseCorefile(`. {\n cache ${corefile}\n}`, { file: 'Corefile' })
  const metrics = {
    request: () => {},
    hit: (t: string) => seen.push(`hit ${t}`),
    miss: () => seen.push('miss'),
    entries: (t: string, n: number) => seen.push(`${t} ${n}`),
  }
  const handler = cachePlugin(server?.cache as NonNullable<typeof server>['cache'] & object, clock, metrics)(next)
  return { clock, seen, ask: async (q: Query) => (await handler(q)) as Message }
}

describe('the cache', () => {
  it('answers until the time to live is over, and counts it down', async () => {
    let asked = 0
    const c = cached('30', async (q) => {
      asked++
      return replyTo(q.message, { answer: [a('example.org.', '192.0.2.1')], recursionAvailable: true })
    })
    expect((await c.ask(query('example.org.'))).answer[0]?.ttl).toBe(30)
    await c.clock.advance(10_000)
    const again = await c.ask(query('EXAMPLE.org.', Type.A, { id: 9 }))
    expect(again).toMatchObject({ id: 9, authoritative: true, recursionAvailable: true, answer: [{ ttl: 20 }], question: [{ name: 'EXAMPLE.org.' }] })
    await c.ask(query('example.org.', Type.AAAA))
    expect(asked).toBe(2)
    await c.clock.advance(20_000)
    await c.ask(query('example.org.'))
    expect(asked).toBe(3)
  })

  it('keeps denials as long as their SOA says, and failures for 5 s', async () => {
    let asked = 0
    const c = cached('30', async (q) => {
      asked++
      return q.name === 'bad.' ? replyTo(q.message, { rcode: Rcode.SERVFAIL }) : replyTo(q.message, { rcode: Rcode.NXDOMAIN, authority: [soa] })
    })
    await c.ask(query('no.'))
    await c.clock.advance(6000)
    expect((await c.ask(query('no.'))).rcode).toBe(Rcode.NXDOMAIN)
    expect(asked).toBe(1)
    await c.clock.advance(1000)
    await c.ask(query('no.'))
    expect(asked).toBe(2)
    await c.ask(query('bad.'))
    await c.clock.advance(4999)
    await c.ask(query('bad.'))
    expect(asked).toBe(3)
    await c.clock.advance(1)
    await c.ask(query('bad.'))
    expect(asked).toBe(4)
  })

  it('does not keep what it is told not to, what is cut short, or what answers another question', async () => {
    let asked = 0
    const c = cached('30 {\n disable success cluster.local\n disable denial cluster.local\n}', async (q) => {
      asked++
      if (q.name === 'cut.') return replyTo(q.message, { truncated: true, answer: [a('cut.', '192.0.2.1')] })
      if (q.name === 'other.') return replyTo(queryFor(1, 'example.org.', Type.A), { answer: [a('example.org.', '192.0.2.1')] })
      return replyTo(q.message, { answer: [a(q.name, '192.0.2.1')] })
    })
    for (const name of ['x.cluster.local.', 'cut.', 'other.']) for (let i = 0; i < 2; i++) await c.ask(query(name))
    expect(asked).toBe(6)
  })

  it('holds no more than it may', async () => {
    const c = cached('30 {\n success 2\n}', async (q) => replyTo(q.message, { answer: [a(q.name, '192.0.2.1')] }))
    for (const name of ['a.', 'b.', 'c.', 'a.', 'c.']) await c.ask(query(name))
    expect(c.seen).toEqual(['miss', 'success 1', 'miss', 'success 2', 'miss', 'success 2', 'miss', 'success 2', 'hit success'])
  })
})

describe('hosts', () => {
  const [server] = parseCorefile('. {\n hosts {\n 192.0.2.1 A.example b.example\n 2001:db8::1 a.example\n fallthrough example.org\n}\n}', { file: 'Corefile' })
  const next: Handler = async () => ({ failure: Rcode.REFUSED })
  const handler = hostsPlugin(server?.hosts as NonNullable<NonNullable<typeof server>['hosts']>, () => parseHosts('127.0.0.1 localhost # x\nbad line'))(next)
  const told = async (name: string, type: number) => {
    const out = await handler(query(name, type))
    return isFailure(out) ? 'next' : out.answer.length > 0 ? out.answer.map(dataText) : out.rcode
  }
  it('has names and addresses', async () => {
    expect(await told('a.example.', Type.A)).toEqual(['192.0.2.1'])
    expect(await told('a.example.', Type.AAAA)).toEqual(['2001:db8::1'])
    expect(await told('b.example.', Type.AAAA)).toBe(Rcode.NOERROR)
    expect(await told('localhost.', Type.A)).toEqual(['127.0.0.1'])
    expect(await told('1.2.0.192.in-addr.arpa.', Type.PTR)).toEqual(['a.example.', 'b.example.'])
    expect(await told('x.example.org.', Type.A)).toBe('next')
    expect(await told('x.example.', Type.A)).toBe(Rcode.NXDOMAIN)
  })
})

describe('load balancing', () => {
  it('mixes addresses and leaves aliases first', () => {
    const records = [nameRecord('x.', Type.CNAME, 1, 'y.'), ...['1', '2', '3', '4'].map((n) => a('y.', `192.0.2.${n}`))]
    const random = seededRandom(3)
    const orders = new Set(Array.from({ length: 50 }, () => shuffled(records, random).map(dataText).join()))
    expect(orders.size).toBeGreaterThan(5)
    for (const o of orders) expect(o.split(',').sort()).toEqual(records.map(dataText).sort())
    for (const o of orders) expect(o.startsWith('y.,')).toBe(true)
  })
})

describe('the loop detector', () => {
  it('tells of a question that comes back', async () => {
    const loops: string[] = []
    const d = new LoopDetector('.', seededRandom(1), (q) => loops.push(q))
    const handler: Handler = d.plugin(async (q) => handler(q))
    const out = await handler(query(d.name, Type.HINFO))
    expect(isFailure(out)).toBe(true)
    expect(loops).toEqual([`HINFO ${d.name}`])
  })
})
