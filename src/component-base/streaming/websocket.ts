import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import type { WebSocket } from 'ws'
import { refuseUpgrade } from './upgrade.ts'

type Headers = Readonly<Record<string, string | undefined>>

/** Bytes of the largest message of a stream. */
const MAX_MESSAGE = 16 * 1024 * 1024
/** Bytes of one channel held here before nothing more is read. */
const CHANNEL_BUFFER = 256 * 1024
/** Sent bytes that may wait before a writer has to. */
const SEND_BUFFER = 256 * 1024

export const isWebSocketUpgrade = (headers: Headers): boolean => (headers.upgrade ?? '').toLowerCase() === 'websocket'

/** What the client offers, in its order. */
export function offeredProtocols(headers: Headers): string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((p) => p.trim())
    .filter((p) => p !== '')
}

/**
 * The first offered protocol that is supported; `''` when none is offered and `''` is supported; undefined when nothing fits.
 */
export function chooseProtocol(headers: Headers, supported: readonly string[]): string | undefined {
  const offered = offeredProtocols(headers)
  if (offered.length === 0) return supported.includes('') ? '' : undefined
  return offered.find((p) => supported.includes(p))
}

/**
 * Completes the handshake (RFC 6455). Rejects when it is no proper one: it is answered with 400 then.
 * @param maxPayload bytes of the largest message that is taken; a larger one ends the connection
 */
export async function acceptWebSocket(
  socket: Duplex,
  head: Uint8Array,
  headers: Headers,
  protocol: string,
  maxPayload: number = MAX_MESSAGE,
): Promise<WebSocket> {
  const { WebSocketServer } = await import('ws')
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
  })
  // Chosen here: names like `SPDY/3.1+portforward.k8s.io` are no tokens, and would not be let through.
  const { 'sec-websocket-protocol': _offered, ...rest } = headers
  if (protocol !== '') server.on('headers', (lines: string[]) => lines.push(`Sec-WebSocket-Protocol: ${protocol}`))
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error('WebSocket handshake failed'))
    socket.once('close', closed)
    server.on('wsClientError', (error: Error) => {
      socket.off('close', closed)
      refuseUpgrade(socket, 400, { 'content-type': 'text/plain; charset=utf-8' }, error.message)
      reject(error)
    })
    server.handleUpgrade({ headers: rest, method: 'GET', url: '/', socket } as never, socket, Buffer.from(head), (connection) => {
      socket.off('close', closed)
      connection.on('error', () => {})
      resolve(connection)
    })
  })
}

/** The bytes of the binary messages of a WebSocket as one stream, for protocols tunnelled through it. */
export async function webSocketDuplex(connection: WebSocket): Promise<Duplex> {
  const { createWebSocketStream } = await import('ws')
  const stream = createWebSocketStream(connection, { allowHalfOpen: true, readableHighWaterMark: CHANNEL_BUFFER, writableHighWaterMark: CHANNEL_BUFFER })
  stream.on('error', () => {})
  return stream
}

const CLOSE_CHANNEL = 255

/**
 * Several byte streams in one WebSocket: the first byte of a message (with `base64.` protocols an ASCII digit) names the channel. With
 * `v5.channel.k8s.io` the client can end one channel alone.
 */
export class WebSocketChannels {
  readonly protocol: string
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
  private readonly connection: WebSocket
  private readonly base64: boolean
  private readonly inputs = new Map<number, Readable>()
  private readonly blocked = new Set<number>()

  /** @param inputs the channels that are read here; what comes on others is dropped */
  constructor(connection: WebSocket, protocol: string, inputs: readonly number[]) {
    this.connection = connection
    this.protocol = protocol
    this.base64 = protocol.includes('base64')
    for (const channel of inputs) {
      this.inputs.set(channel, this.channelInput(channel))
    }
    connection.on('message', (data: Buffer) => this.receive(data))
    this.closed = new Promise((resolve) => {
      connection.once('close', () => {
        for (const input of this.inputs.values()) if (!input.readableEnded && !input.destroyed) input.push(null)
        resolve()
      })
    })
  }

  /** What the client sends on a channel. */
  input(channel: number): Readable {
    return this.inputs.get(channel) as Readable
  }

  /** Resolves when more may be written. */
  async write(channel: number, chunk: Uint8Array): Promise<void> {
    const { connection } = this
    if (connection.readyState !== connection.OPEN) throw new Error('connection closed')
    const message = this.base64
      ? String.fromCharCode(0x30 + channel) + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('base64')
      : Buffer.concat([Uint8Array.of(channel), chunk])
    if (connection.bufferedAmount + message.length < SEND_BUFFER) {
      connection.send(message)
      return
    }
    await new Promise<void>((resolve, reject) => connection.send(message, (error) => (error ? reject(error) : resolve())))
  }

  /** Sends what is written, then closes. */
  close(code = 1000): void {
    this.connection.close(code)
  }

  private receive(data: Buffer): void {
    if (data.length === 0) return
    const first = data[0] as number
    if (!this.base64 && first === CLOSE_CHANNEL && this.protocol.startsWith('v5.')) {
      const input = data.length > 1 ? this.inputs.get(data[1] as number) : undefined
      if (input && !input.destroyed && !input.readableEnded) input.push(null)
      return
    }
    const channel = this.base64 ? first - 0x30 : first
    const input = this.inputs.get(channel)
    const bytes = this.base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1)
    if (!input || input.destroyed || bytes.length === 0 || ended(input)) return
    if (!input.push(bytes)) {
      this.blocked.add(channel)
      this.connection.pause()
    }
  }

  private channelInput(channel: number): Readable {
    return new Readable({
      highWaterMark: CHANNEL_BUFFER,
      read: () => this.unblock(channel),
      destroy: (error, done) => {
        this.unblock(channel)
        done(error)
      },
    })
  }

  private unblock(channel: number): void {
    if (this.blocked.delete(channel) && this.blocked.size === 0) this.connection.resume()
  }
}

/** Whether an end was pushed already, read or not. */
const ended = (stream: Readable): boolean => stream.readableEnded || (stream as unknown as { _readableState: { ended: boolean } })._readableState.ended
