import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Message, MessageCodec, type MessageTable } from './message-codec.ts'
import { criMessages } from './messages.generated.ts'

const table = JSON.parse(criMessages) as MessageTable
const codec = new MessageCodec(table)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** Any value of a type, in the form it is decoded to; nested messages down to a depth. */
function anyOf(type: string, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return fc.string({ unit: 'binary', maxLength: 40 })
    case 'bytes':
      return fc.uint8Array({ maxLength: 40 })
    case 'bool':
      return fc.boolean()
    case 'double':
      return fc.double({ noNaN: true }).map((n) => n + 0)
    case 'int32':
      return fc.integer()
    case 'uint32':
      return fc.nat()
    case 'int64':
      return fc.maxSafeInteger()
    case 'uint64':
      return fc.maxSafeNat()
    default: {
      const names = table.enums[type]
      return names ? fc.constantFrom(...Object.keys(names)) : messageOf(type, depth - 1)
    }
  }
}

function messageOf(type: string, depth: number): fc.Arbitrary<Message> {
  const fields = (table.messages[type] ?? []).map(([name, , t, extra]) => {
    const inner = t === 'map' ? (extra as string) : t
    const isMessage = table.messages[inner] !== undefined
    if (t === 'map')
      return [
        name,
        isMessage && depth <= 0 ? fc.constant({}) : fc.dictionary(fc.string({ maxLength: 8 }), anyOf(inner, depth), { maxKeys: 3, noNullPrototype: true }),
      ]
    if (extra === 1) return [name, isMessage && depth <= 0 ? fc.constant([]) : fc.array(anyOf(inner, depth), { maxLength: 3 })]
    if (isMessage) return [name, depth <= 0 ? fc.constant(undefined) : fc.option(anyOf(inner, depth), { nil: undefined })]
    return [name, anyOf(inner, depth)]
  })
  return fc.record(Object.fromEntries(fields))
}

describe('messages of runtime.v1', () => {
  it.each([
    'RunPodSandboxRequest',
    'ListContainersResponse',
    'ContainerStatusResponse',
    'CreateContainerRequest',
    'ListContainerStatsResponse',
    'StatusResponse',
  ])('%s is read back as it was written', (type) => {
    fc.assert(
      fc.property(messageOf(type, 4), (message) => {
        expect(codec.decode(type, codec.encode(type, message))).toEqual(message)
      }),
      { numRuns: 40 },
    )
  })

  it('are the bytes protobuf says', () => {
    expect(hex(codec.encode('VersionRequest', { version: 'v1' }))).toBe('0a027631')
    // Order of numbers, an enum by name, a negative int32 in ten bytes, empty text left out.
    expect(hex(codec.encode('PortMapping', { protocol: 'UDP', container_port: -1, host_port: 300, host_ip: '' }))).toBe('080110ffffffffffffffffff0118ac02')
    expect(hex(codec.encode('DNSConfig', { servers: ['a', ''], searches: [], options: ['b'] }))).toBe('0a01610a001a0162')
  })

  it('cut short are refused, and unknown fields passed over', () => {
    const bytes = codec.encode('DNSConfig', { servers: ['abc'] })
    expect(() => codec.decode('DNSConfig', bytes.subarray(0, 3))).toThrow('unexpected EOF')
    expect(codec.decode('VersionRequest', Buffer.from('f80601fa0602ffff0a027631', 'hex'))).toEqual({ version: 'v1' })
  })

  it('may have a label that is called __proto__', () => {
    const labels = JSON.parse('{"__proto__":"x"}') as Record<string, string>
    const read = codec.decode('PodSandboxConfig', codec.encode('PodSandboxConfig', { labels }))['labels'] as object
    expect(Object.entries(read)).toEqual([['__proto__', 'x']])
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })
})
