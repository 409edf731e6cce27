import { Duplex } from 'node:stream'
import { constants, createDeflate } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SpdyConnection, type SpdyStream } from './spdy-connection.ts'
import { controlFrame, dataHead, FrameParser, frameType, synStream, uint32 } from './spdy-frames.ts'
import { HeaderReader, HeaderWriter, SPDY_DICTIONARY } from './spdy-headers.ts'

/** One end of a connection in memory that holds one chunk on its way. */
class End extends Duplex {
  other: End | undefined
  private waiting: (() => void) | undefined
  constructor() {
    super({ highWaterMark: 4096, allowHalfOpen: true })
    this.on('error', () => {})
  }
  override _read(): void {
    const go = this.waiting
    this.waiting = undefined
    go?.()
  }
  override _write(chunk: Buffer, _e: BufferEncoding, done: (e?: Error | null) => void): void {
    const to = this.other as End
    if (to.destroyed) return done(new Error('closed'))
    to.waiting = done
    if (to.push(chunk)) queueMicrotask(() => to._read())
  }
  override _final(done: () => void): void {
    if (!this.other?.destroyed) this.other?.push(null)
    done()
  }
  override _destroy(_e: Error | null, done: (e?: Error | null) => void): void {
    done(null)
    this._read()
    queueMicrotask(() => this.other?.destroyed || this.other?.destroy())
  }
}

function pair(): [Duplex, Duplex] {
  const [a, b] = [new End(), new End()]
  a.other = b
  b.other = a
  return [a, b]
}

async function readAll(stream: SpdyStream): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) parts.push(chunk as Buffer)
  return Buffer.concat(parts)
}

const taking = (into: SpdyStream[]) => (s: SpdyStream) => {
  s.accept()
  into.push(s)
}

/** A header block as a peer with a real compressor sends it. */
function deflated(): (plain: Buffer) => Promise<Buffer> {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY, flush: constants.Z_SYNC_FLUSH })
  let out: Buffer[] = []
  deflate.on('data', (chunk: Buffer) => out.push(chunk))
  return (plain) =>
    new Promise((resolve) => {
      out = []
      deflate.write(plain, () => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve(Buffer.concat(out))))
    })
}

function block(headers: [string, string][]): Buffer {
  const field = (t: string) => Buffer.concat([uint32(Buffer.byteLength(t)), Buffer.from(t)])
  return Buffer.concat([uint32(headers.length), ...headers.flatMap(([k, v]) => [field(k), field(v)])])
}

const name = fc.stringMatching(/^[a-z][a-z-]{0,20}$/)
const headerList = fc.uniqueArray(fc.tuple(name, fc.string({ maxLength: 60 })), { selector: ([k]) => k, maxLength: 8 })

test('the dictionary is that of the SPDY draft', () => {
  // Adler-32 (RFC 1950) of the published bytes.
  let [a, b] = [1, 0]
  for (const byte of SPDY_DICTIONARY) [a, b] = [(a + byte) % 65521, (a + byte + b) % 65521]
  expect([SPDY_DICTIONARY.length, ((b << 16) | a) >>> 0]).toEqual([1423, 0xe3c6a7c2])
})

test('what the header writer writes, the reader reads, block after block', () => {
  fc.assert(
    fc.property(fc.array(headerList, { minLength: 1, maxLength: 6 }), (blocks) => {
      const [writer, reader] = [new HeaderWriter(), new HeaderReader()]
      for (const headers of blocks) expect(Object.entries(reader.read(writer.write(Object.fromEntries(headers))))).toEqual(headers)
    }),
  )
})

test('blocks of a real compressor with the shared window are read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(headerList, { minLength: 1, maxLength: 12 }), async (blocks) => {
      const compress = deflated()
      const reader = new HeaderReader()
      for (const headers of blocks) expect(Object.entries(reader.read(await compress(block(headers))))).toEqual(headers)
    }),
    { numRuns: 30 },
  )
})

test('a header block that inflates without end is refused', async () => {
  const bomb = await deflated()(Buffer.alloc(4 * 1024 * 1024))
  expect(bomb.length).toBeLessThan(10_000)
  expect(() => new HeaderReader().read(bomb)).toThrow(/header block/)
})

test('header names of objects are only names', () => {
  const headers = new HeaderReader().read(Buffer.concat([Buffer.from([0x78, 0x9c]), stored(block([['__proto__', 'x']]))]))
  expect(Object.entries(headers)).toEqual([['__proto__', 'x']])
})

const stored = (plain: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.writeUInt16LE(plain.length, 1)
  head.writeUInt16LE(~plain.length & 0xffff, 3)
  return Buffer.concat([head, plain, Buffer.from([0, 0, 0, 0xff, 0xff])])
}

test('frames come out whole however the bytes are cut', () => {
  const frame = fc.oneof(
    fc.record({ type: fc.constantFrom(1, 2, 3, 4, 6, 7, 8, 9), flags: fc.nat(3), payload: fc.uint8Array({ maxLength: 300 }) }),
    fc.record({ id: fc.integer({ min: 1, max: 0x7fffffff }), data: fc.uint8Array({ maxLength: 300 }), fin: fc.boolean() }),
  )
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 10 }), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (frames, cuts) => {
      const wire = Buffer.concat(
        frames.map((f) => ('type' in f ? controlFrame(f.type, f.flags, f.payload) : Buffer.concat([dataHead(f.id, f.data.length, f.fin), f.data]))),
      )
      const parser = new FrameParser()
      const seen: unknown[] = []
      for (let at = 0, i = 0; at < wire.length; i++) {
        const size = cuts[i % cuts.length] as number
        for (const f of parser.push(wire.subarray(at, at + size))) {
          const last = seen.at(-1) as { id?: number; data: string; fin: boolean } | undefined
          if (f.kind === 'control') seen.push({ type: f.type, flags: f.flags, payload: f.payload.toString('hex') })
          else if (last?.id === f.streamId && !last.fin && last.data !== '') Object.assign(last, { data: last.data + f.data.toString('hex'), fin: f.fin })
          else seen.push({ id: f.streamId, data: f.data.toString('hex'), fin: f.fin })
        }
        at += size
      }
      const wanted: unknown[] = []
      for (const f of frames) {
        if ('type' in f) wanted.push({ type: f.type, flags: f.flags, payload: Buffer.from(f.payload).toString('hex') })
        else if (f.data.length > 0 || f.fin) {
          const data = Buffer.from(f.data).toString('hex')
          const last = wanted.at(-1) as { id?: number; data: string; fin: boolean } | undefined
          if (last?.id === f.id && !last.fin && last.data !== '') Object.assign(last, { data: last.data + data, fin: f.fin })
          else wanted.push({ id: f.id, data, fin: f.fin })
        }
      }
      expect(seen).toEqual(wanted)
    }),
  )
})

test('streams carry both ways, end one by one, and are forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 40_000 }), { minLength: 1, maxLength: 5 }), async (messages) => {
      const [left, right] = pair()
      const server = new SpdyConnection(right, new Uint8Array(0), {
        role: 'server',
        onStream: (s) => {
          s.accept()
          s.pipe(s)
        },
      })
      const client = new SpdyConnection(left, new Uint8Array(0), { role: 'client' })
      const answers = await Promise.all(
        messages.map(async (m, i) => {
          const stream = await client.open({ streamType: 'data', n: String(i) })
          stream.end(Buffer.from(m))
          return readAll(stream)
        }),
      )
      expect(answers.map((a) => a.toString('hex'))).toEqual(messages.map((m) => Buffer.from(m).toString('hex')))
      expect([client.streamCount, server.streamCount]).toEqual([0, 0])
      client.destroy()
      server.destroy()
    }),
    { numRuns: 20 },
  )
})

test('a reader that stands still stops the writer; nothing piles up', async () => {
  const [left, right] = pair()
  const opened: SpdyStream[] = []
  new SpdyConnection(right, new Uint8Array(0), { role: 'server', onStream: taking(opened) })
  const client = new SpdyConnection(left, new Uint8Array(0), { role: 'client' })
  const stream = await client.open({ streamtype: 'stdin' })
  const chunk = Buffer.alloc(64 * 1024)
  let written = 0
  const writer = (async () => {
    for (; written < 100; written++) await new Promise<void>((resolve, reject) => stream.write(chunk, (e) => (e ? reject(e) : resolve())))
    stream.end()
  })()
  for (let i = 0; i < 200; i++) await new Promise(setImmediate)
  expect(written).toBeLessThan(12)
  const received = await readAll(opened[0] as SpdyStream)
  await writer
  expect(received.length).toBe(100 * chunk.length)
  client.destroy()
})

test('streams beyond the limit, and to a side that takes none, are refused', async () => {
  const [left, right] = pair()
  new SpdyConnection(right, new Uint8Array(0), { role: 'server', maxStreams: 2, onStream: (s) => s.accept() })
  const client = new SpdyConnection(left, new Uint8Array(0), { role: 'client' })
  await client.open({})
  await client.open({})
  await expect(client.open({})).rejects.toThrow('stream reset with status 3')
  client.destroy()
})

test('a connection that breaks ends what was read and fails what is written', async () => {
  const [left, right] = pair()
  const opened: SpdyStream[] = []
  new SpdyConnection(right, new Uint8Array(0), { role: 'server', onStream: taking(opened) })
  const client = new SpdyConnection(left, new Uint8Array(0), { role: 'client' })
  const stream = await client.open({ streamtype: 'stdin' })
  stream.write('last words')
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  right.destroy()
  expect((await readAll(opened[0] as SpdyStream)).toString()).toBe('last words')
  expect(opened[0]?.cut).toBeInstanceOf(Error)
  await expect(new Promise<void>((resolve, reject) => opened[0]?.write('x', (e) => (e ? reject(e) : resolve())))).rejects.toThrow('stream closed')
})

test('nonsense ends the connection with a GOAWAY, never the process', () => {
  const bad = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(3)).map((b, i) => (i === 0 ? 0x80 : b)),
    controlFrame(frameType.synStream, 0, new Uint8Array(3)),
    synStream(2, 0, new HeaderWriter().write({})),
    synStream(1, 0, Buffer.from('not zlib at all')),
    controlFrame(frameType.ping, 0, new Uint8Array(0)),
  ]
  for (const bytes of bad) {
    const [left, right] = pair()
    const server = new SpdyConnection(right, bytes, { role: 'server', onStream: (s) => s.accept() })
    expect(server.destroyed).toBe(true)
    left.destroy()
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const [, right] = pair()
      const server = new SpdyConnection(right, bytes, { role: 'server', onStream: (s) => s.accept() })
      expect(server.streamCount).toBeLessThan(2)
      server.destroy()
    }),
  )
})
