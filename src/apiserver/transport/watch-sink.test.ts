import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { ChunkSink, Chunks, StreamSink } from './watch-sink.ts'

const MB = 1024 * 1024
const turn = () => new Promise((r) => setImmediate(r))

test('asks to wait while much is unsent, until the reader has taken it', async () => {
  const out = new PassThrough()
  const sink = new StreamSink(out)
  expect(sink.write(Buffer.alloc(1000))).toBe(true)
  expect(sink.drained()).toBeUndefined()
  expect(sink.write(Buffer.alloc(2 * MB))).toBe(true)
  let free = false
  void sink.drained()?.then(() => (free = true))
  await turn()
  expect(free).toBe(false)
  out.resume()
  await turn()
  await turn()
  expect(free).toBe(true)
  expect(out.listenerCount('close')).toBeLessThanOrEqual(1)
})

test('a reader that goes frees who waits; one that never reads is cut off, and what it left with it', async () => {
  const gone = new PassThrough()
  const sink = new StreamSink(gone)
  sink.write(Buffer.alloc(2 * MB))
  const wait = sink.drained()
  gone.destroy()
  await wait
  expect(sink.write(Buffer.alloc(1))).toBe(false)

  const stuck = new PassThrough()
  const other = new StreamSink(stuck)
  let i = 0
  while (other.write(Buffer.alloc(MB)) && i < 100) i++
  expect(i).toBeGreaterThan(20)
  expect(i).toBeLessThan(40)
  expect(stuck.destroyed).toBe(true)
})

test('chunks are made once for all who are sent the same, and an empty one never', () => {
  const chunks = new Chunks()
  const frames = Buffer.from('{"type":"ADDED"}\n')
  const sockets = [new PassThrough(), new PassThrough()]
  let ends = 0
  const sinks = sockets.map((socket) => new ChunkSink({ socket, end: () => ends++, destroyed: false } as never, chunks))
  const made = chunks.of(frames)
  for (const sink of sinks) {
    expect(sink.write(frames)).toBe(true)
    expect(sink.write(Buffer.alloc(0))).toBe(true)
    sink.end()
    sink.end()
    expect(sink.write(frames)).toBe(false)
  }
  expect(chunks.of(frames)).toBe(made)
  expect(ends).toBe(2)
  for (const socket of sockets) expect(String(socket.read())).toBe('11\r\n{"type":"ADDED"}\n\r\n')
})
