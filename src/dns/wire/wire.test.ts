import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeMessage, FormatError } from './decode.ts'
import { encodeMessage } from './encode.ts'
import { type Message, queryFor, type ResourceRecord, replyTo, Type } from './message.ts'
import { canonical, isWithin, labelsOf, labelText } from './name.ts'
import { addressBytes, addressRecord, addressText, nameRecord, soaRecord, srvRecord, txtRecord } from './records.ts'

const label = fc.uint8Array({ minLength: 1, maxLength: 12 }).map(labelText)
const name = fc.array(label, { maxLength: 6 }).map((labels) => (labels.length === 0 ? '.' : `${labels.join('.')}.`))
const ttl = fc.integer({ min: 0, max: 0x7fffffff })
const address = fc.oneof(fc.ipV4(), fc.ipV6())
const u16 = fc.integer({ min: 0, max: 65_535 })
const record: fc.Arbitrary<ResourceRecord> = fc.oneof(
  fc.tuple(name, ttl, address).map(([n, t, a]) => addressRecord(n, t, a) as ResourceRecord),
  fc.tuple(name, ttl, name, fc.constantFrom<number>(Type.CNAME, Type.PTR, Type.NS)).map(([n, t, target, type]) => nameRecord(n, type, t, target)),
  fc.tuple(name, ttl, u16, u16, u16, name).map(([n, t, priority, weight, port, target]) => srvRecord(n, t, { priority, weight, port, target })),
  fc.tuple(name, ttl, fc.string({ maxLength: 40 })).map(([n, t, text]) => txtRecord(n, t, text)),
  fc
    .tuple(name, ttl, name, name, ttl)
    .map(([n, t, ns, mailbox, serial]) => soaRecord(n, t, { ns, mailbox, serial, refresh: 7200, retry: 1800, expire: 86_400, minimum: 5 })),
  fc
    .tuple(name, ttl, fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.constantFrom(Type.HINFO as number, Type.CAA, Type.HTTPS, 65_280))
    .map(([n, t, bytes, type]) => ({ name: n, type, class: 1, ttl: t, data: [bytes] })),
)
const edns = fc.record({
  udpSize: u16,
  version: fc.integer({ min: 0, max: 255 }),
  dnssecOk: fc.boolean(),
  options: fc.array(fc.record({ code: u16, data: fc.uint8Array({ maxLength: 8 }) }), { maxLength: 3 }),
})
const message: fc.Arbitrary<Message> = fc
  .record({
    id: u16,
    response: fc.boolean(),
    opcode: fc.integer({ min: 0, max: 15 }),
    authoritative: fc.boolean(),
    truncated: fc.boolean(),
    recursionDesired: fc.boolean(),
    recursionAvailable: fc.boolean(),
    authenticData: fc.boolean(),
    checkingDisabled: fc.boolean(),
    rcode: fc.integer({ min: 0, max: 15 }),
    question: fc.array(fc.record({ name, type: u16, class: u16 }), { maxLength: 2 }),
    answer: fc.array(record, { maxLength: 5 }),
    authority: fc.array(record, { maxLength: 2 }),
    additional: fc.array(record, { maxLength: 3 }),
    edns: fc.option(edns, { nil: undefined }),
  })
  .map(({ edns: e, ...m }) => (e ? { ...m, edns: e } : m))

const plain = (m: Message) => JSON.parse(JSON.stringify(m, (_, v) => (v instanceof Uint8Array ? [...v] : v)))

describe('messages', () => {
  it('come back from the wire as they went, compressed and with the case of their letters', () => {
    fc.assert(
      fc.property(message, (m) => {
        const back = decodeMessage(encodeMessage(m))
        // A compressed name may take its letters' case from the one it points to, as with every server.
        const lower = (x: Message) => JSON.stringify(plain(x)).toLowerCase()
        expect(lower(back)).toBe(lower(m))
        expect(back.question.map((q) => q.name.toLowerCase())).toEqual(m.question.map((q) => q.name.toLowerCase()))
      }),
      { numRuns: 300 },
    )
  })

  it('never are longer than allowed, and say so when something is missing', () => {
    fc.assert(
      fc.property(message, fc.integer({ min: 512, max: 1500 }), (m, limit) => {
        fc.pre(m.question.length < 2)
        const bytes = encodeMessage(m, limit)
        const back = decodeMessage(bytes)
        const whole = (x: Message) => x.answer.length + x.authority.length + x.additional.length
        expect(bytes.length <= limit).toBe(true)
        expect(back.truncated).toBe(m.truncated || whole(back) < whole(m))
        expect(back.edns === undefined).toBe(m.edns === undefined)
      }),
      { numRuns: 200 },
    )
  })

  it('of any bytes are read or refused, and nothing else', () => {
    const attempt = (bytes: Uint8Array) => {
      try {
        return decodeMessage(bytes)
      } catch (e) {
        expect(e).toBeInstanceOf(FormatError)
        return undefined
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void attempt(bytes)),
      { numRuns: 1000 },
    )
    // Changed bytes and cut ends of real messages go deeper.
    fc.assert(
      fc.property(message, fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }), fc.nat(400), (m, changes, end) => {
        const bytes = encodeMessage(m)
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
        const read = attempt(bytes.slice(0, Math.max(12, bytes.length - (end % 40))))
        if (read) encodeMessage(read)
      }),
      { numRuns: 500 },
    )
  })

  it('with names that point at themselves or forward are refused', () => {
    const head = [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    expect(() => decodeMessage(Uint8Array.from([...head, 0xc0, 12, 0, 1, 0, 1]))).toThrow(FormatError)
    expect(() => decodeMessage(Uint8Array.from([...head, 0xc0, 18, 0, 1, 0, 1, 0]))).toThrow(FormatError)
    expect(() => decodeMessage(Uint8Array.from([...head, 1, 0x61, 0xc0, 12, 0, 1, 0, 1]))).toThrow(FormatError)
  })

  it('compress the names of answers', () => {
    const q = queryFor(7, 'kubernetes.default.svc.cluster.local.', Type.A)
    const bytes = encodeMessage(replyTo(q, { answer: [addressRecord('kubernetes.default.svc.cluster.local.', 30, '10.96.0.1') as ResourceRecord] }))
    expect(bytes.length).toBe(12 + 38 + 4 + 2 + 10 + 4)
  })

  it('keep targets of SRV whole', () => {
    const q = queryFor(7, 'a.example.', Type.SRV)
    const bytes = encodeMessage(replyTo(q, { answer: [srvRecord('a.example.', 30, { priority: 0, weight: 1, port: 2, target: 'a.example.' })] }))
    expect(bytes.length).toBe(12 + 11 + 4 + 2 + 10 + 6 + 11)
  })
})

describe('names', () => {
  it('are taken apart at dots that are not escaped', () => {
    expect(labelsOf('a\\.b.c.')).toEqual(['a\\.b', 'c'])
    expect(labelsOf('.')).toEqual([])
    expect(labelsOf('a\\046b.c')).toEqual(['a\\046b', 'c'])
    expect(canonical('FOO.Bar')).toBe('foo.bar.')
  })

  it('lie within zones by whole labels', () => {
    expect(isWithin('x.cluster.local.', 'cluster.local.')).toBe(true)
    expect(isWithin('xcluster.local.', 'cluster.local.')).toBe(false)
    expect(isWithin('x\\.cluster.local.', 'cluster.local.')).toBe(false)
    expect(isWithin('anything.', '.')).toBe(true)
  })
})

describe('addresses', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(address, (a) => {
        const bytes = addressBytes(a) as Uint8Array
        expect(addressBytes(addressText(bytes))).toEqual(bytes)
      }),
    )
    for (const text of ['::', '::1', '1::', 'fd00:10:96::a', '2001:db8::1:0:0:1']) expect(addressText(addressBytes(text) as Uint8Array)).toBe(text)
    expect(addressText(addressBytes('::ffff:1.2.3.4') as Uint8Array)).toBe('::ffff:102:304')
    for (const text of ['1.2.3', '1.2.3.4.5', 'x', '', 'fe80::1%eth0']) expect(addressBytes(text)).toBeUndefined()
  })
})
