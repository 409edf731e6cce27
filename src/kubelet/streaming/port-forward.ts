import type { Duplex, Readable } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Clock } from '../../base/index.ts'
import { SpdyConnection, type SpdyStream, WebSocketChannels, writeTo } from '../../component-base/streaming/index.ts'
import { RuntimeError, type StreamingRuntime } from '../runtime/runtime.ts'

export const PORT_FORWARD = 'portforward.k8s.io'
/** SPDY inside the binary messages of a WebSocket (KEP-4006). */
export const TUNNEL = 'SPDY/3.1+portforward.k8s.io'
export const PORT_FORWARD_WEBSOCKET = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io']

export interface Forwarding {
  streaming: StreamingRuntime
  sandboxId: string
  signal: AbortSignal
  clock: Clock
}

/** How long the second stream of a pair may take. */
const PAIR_MS = 30_000

/** Each forwarded connection is a pair of streams with the same request id. Resolves when the client went. */
export async function servePortStreams(socket: Duplex, head: Uint8Array, f: Forwarding): Promise<void> {
  const waiting = new Map<string, { stream: SpdyStream; cancel(): void }>()
  const connection: SpdyConnection = new SpdyConnection(socket, head, {
    role: 'server',
    onStream: (stream) => {
      const { streamtype: type = '', port = '' } = stream.headers
      if ((type !== 'data' && type !== 'error') || !/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535) return stream.refuse()
      // Clients without request ids open the error stream first, then the data stream.
      const id = stream.headers.requestid ?? String(type === 'error' ? stream.id : stream.id - 2)
      const other = waiting.get(id)
      if (!other) {
        stream.accept()
        const timer = f.clock.setTimeout(() => {
          waiting.delete(id)
          stream.destroy()
        }, PAIR_MS)
        waiting.set(id, { stream, cancel: () => timer.cancel() })
        return
      }
      if (other.stream.headers.streamtype === type) return stream.refuse()
      stream.accept()
      other.cancel()
      waiting.delete(id)
      const [data, error] = type === 'data' ? [stream, other.stream] : [other.stream, stream]
      void forward(f, Number(port), data, { write: (chunk) => writeTo(data, chunk) }, (text) => writeTo(error, Buffer.from(text))).then(() => {
        for (const s of [data, error]) if (!s.destroyed) s.end()
      })
    },
  })
  await connection.closed
  for (const { cancel } of waiting.values()) cancel()
}

/** The older form: the ports are known from the query; channel 2i carries the data of port i, 2i+1 its errors. Resolves when the client went. */
export async function servePortChannels(connection: WebSocket, protocol: string, ports: readonly number[], f: Forwarding): Promise<void> {
  const channels = new WebSocketChannels(
    connection,
    protocol,
    ports.map((_, i) => 2 * i),
  )
  for (const [i, port] of ports.entries()) {
    const first = Buffer.alloc(2)
    first.writeUInt16LE(port)
    await channels.write(2 * i, first)
    await channels.write(2 * i + 1, first)
    void forward(f, port, channels.input(2 * i), { write: (chunk) => channels.write(2 * i, chunk) }, (text) => channels.write(2 * i + 1, Buffer.from(text)))
  }
  await channels.closed
}

async function forward(
  f: Forwarding,
  port: number,
  input: Readable,
  output: { write(chunk: Uint8Array): Promise<void> },
  fail: (text: string) => Promise<void>,
): Promise<void> {
  try {
    await f.streaming.portForward(f.sandboxId, port, {
      input: input.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
      output,
      signal: f.signal,
    })
  } catch (error) {
    const why = error instanceof RuntimeError ? error.details : error instanceof Error ? error.message : String(error)
    await fail(`error forwarding port ${port} to pod ${f.sandboxId}, uid : ${why}`).catch(() => {})
  }
}
