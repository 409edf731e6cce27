import { Duplex } from 'node:stream'
import {
  controlFrame,
  dataHead,
  FLAG_FIN,
  FLAG_UNIDIRECTIONAL,
  type Frame,
  FrameParser,
  frameType,
  resetStatus,
  synStream,
  uint32,
  withStreamId,
} from './spdy-frames.ts'
import { HeaderReader, HeaderWriter, type SpdyHeaders, SpdyProtocolError } from './spdy-headers.ts'

export interface SpdyConnectionOptions {
  role: 'client' | 'server'
  /** A stream the peer opened: call `accept` or `refuse` on it. Absent: all are refused. */
  onStream?: (stream: SpdyStream) => void
  /** Open at once; more are refused. @default 512 */
  maxStreams?: number
}

const MAX_DATA = 64 * 1024
/** Bytes of one stream held here before the connection is read no further. */
const STREAM_BUFFER = 256 * 1024
/** A peer that does not read gets no more answers to its pings than this. */
const MAX_UNREAD_ANSWERS = 1024 * 1024
const DEFAULT_MAX_STREAMS = 512

/**
 * SPDY/3.1 (draft-mbelshe-httpbis-spdy-00) on any byte stream, as Kubernetes' clients and runtimes speak it: flow control by the byte stream
 * itself, since those peers send no WINDOW_UPDATE. When the reader of one stream falls behind, nothing more is read from the connection.
 */
export class SpdyConnection {
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
  private readonly socket: Duplex
  private readonly options: SpdyConnectionOptions
  private readonly parser = new FrameParser()
  private readonly headerReader = new HeaderReader()
  private readonly headerWriter = new HeaderWriter()
  private readonly streams = new Map<number, SpdyStream>()
  private readonly blocked = new Set<SpdyStream>()
  private nextId: number
  private lastPeerId = 0
  private nextPing: number
  private over = false

  /** @param head what was read of the stream already */
  constructor(socket: Duplex, head: Uint8Array, options: SpdyConnectionOptions) {
    this.socket = socket
    this.options = options
    this.nextId = options.role === 'client' ? 1 : 2
    this.nextPing = this.nextId
    this.closed = new Promise((resolve) => {
      const ended = () => {
        this.fail(new Error('connection closed'))
        resolve()
      }
      if (socket.destroyed) return ended()
      socket.once('close', ended)
    })
    socket.on('error', (error) => this.fail(error))
    socket.on('end', () => {
      this.fail(new Error('connection closed by the peer'))
      socket.end()
    })
    if (head.length > 0) this.receive(head)
    socket.on('data', (chunk: Buffer) => this.receive(chunk))
    socket.resume()
  }

  get streamCount(): number {
    return this.streams.size
  }

  get destroyed(): boolean {
    return this.over || this.socket.destroyed
  }

  /** Opens a stream; resolves when the peer took it. */
  open(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.destroyed) return Promise.reject(new Error('connection closed'))
    const id = this.nextId
    this.nextId += 2
    const stream = new SpdyStream(this, id, headers)
    this.streams.set(id, stream)
    this.socket.write(synStream(id, 0, this.headerWriter.write(headers)))
    return stream.opened.then(() => stream)
  }

  ping(): void {
    if (this.destroyed) return
    this.socket.write(controlFrame(frameType.ping, 0, uint32(this.nextPing)))
    this.nextPing = (this.nextPing + 2) % 0x7fffffff
  }

  /** Sends what is written, then closes the writing side. */
  end(): void {
    if (this.over) return
    this.over = true
    if (this.socket.writable) this.socket.write(controlFrame(frameType.goAway, 0, Buffer.concat([uint32(this.lastPeerId), uint32(0)])))
    this.socket.end()
    this.socket.resume()
    for (const stream of [...this.streams.values()]) stream.lost(new Error('connection closed'))
  }

  destroy(): void {
    this.fail(new Error('connection closed'))
    this.socket.destroy()
  }

  private fail(error: Error): void {
    this.over = true
    this.blocked.clear()
    for (const stream of [...this.streams.values()]) stream.lost(error)
    this.streams.clear()
  }

  private receive(chunk: Uint8Array): void {
    if (this.over) return
    try {
      for (const frame of this.parser.push(chunk)) {
        this.take(frame)
        if (this.over) return
      }
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)))
      this.socket.end(controlFrame(frameType.goAway, 0, Buffer.concat([uint32(this.lastPeerId), uint32(1)])), () => this.socket.destroy())
    }
  }

  private take(frame: Frame): void {
    if (frame.kind === 'data') {
      const stream = this.streams.get(frame.streamId)
      if (!stream) return
      if (frame.data.length > 0 && !stream.deliver(frame.data)) this.block(stream)
      if (frame.fin) stream.deliverEnd()
      return
    }
    const { payload, flags, type } = frame
    const need = (n: number) => {
      if (payload.length < n) throw new SpdyProtocolError('control frame is cut off')
    }
    switch (type) {
      case frameType.synStream: {
        need(10)
        const headers = this.headerReader.read(payload.subarray(10))
        this.peerOpened(payload.readUInt32BE(0) & 0x7fffffff, headers, flags)
        return
      }
      case frameType.synReply: {
        need(4)
        const headers = this.headerReader.read(payload.subarray(4))
        const stream = this.streams.get(payload.readUInt32BE(0) & 0x7fffffff)
        stream?.answered(headers)
        if (flags & FLAG_FIN) stream?.deliverEnd()
        return
      }
      case frameType.headers:
        need(4)
        this.headerReader.read(payload.subarray(4))
        if (flags & FLAG_FIN) this.streams.get(payload.readUInt32BE(0) & 0x7fffffff)?.deliverEnd()
        return
      case frameType.rstStream:
        need(8)
        this.streams.get(payload.readUInt32BE(0) & 0x7fffffff)?.lost(new Error(`stream reset with status ${payload.readUInt32BE(4)}`))
        return
      case frameType.ping: {
        need(4)
        const id = payload.readUInt32BE(0)
        // Answers to pings of this side are of its own parity.
        if (id % 2 !== this.nextPing % 2 && this.socket.writable && this.socket.writableLength < MAX_UNREAD_ANSWERS)
          this.socket.write(controlFrame(frameType.ping, 0, uint32(id)))
        return
      }
      // A GOAWAY ends nothing that is open; windows and settings mean nothing to these peers.
      default:
        return
    }
  }

  private peerOpened(id: number, headers: SpdyHeaders, flags: number): void {
    if (id === 0 || id <= this.lastPeerId || id % 2 === this.nextId % 2) throw new SpdyProtocolError(`stream id ${id} is out of order`)
    this.lastPeerId = id
    if (!this.options.onStream || this.streams.size >= (this.options.maxStreams ?? DEFAULT_MAX_STREAMS)) {
      this.reset(id, resetStatus.refusedStream)
      return
    }
    const stream = new SpdyStream(this, id, headers)
    this.streams.set(id, stream)
    if (flags & FLAG_FIN) stream.deliverEnd()
    if (flags & FLAG_UNIDIRECTIONAL) stream.end()
    this.options.onStream(stream)
  }

  /** For streams: what follows is not for others. */
  reply(id: number): void {
    if (!this.destroyed) this.socket.write(withStreamId(frameType.synReply, 0, id, this.headerWriter.write({})))
  }

  reset(id: number, status: number): void {
    if (!this.destroyed && this.socket.writable) this.socket.write(withStreamId(frameType.rstStream, 0, id, uint32(status)))
  }

  send(id: number, chunk: Buffer, fin: boolean, done: (error?: Error | null) => void): void {
    if (this.destroyed) return done(new Error('connection closed'))
    const { socket } = this
    socket.cork()
    for (let at = 0; at === 0 || at < chunk.length; at += MAX_DATA) {
      const piece = chunk.subarray(at, at + MAX_DATA)
      const last = at + MAX_DATA >= chunk.length
      socket.write(dataHead(id, piece.length, fin && last))
      if (!last) socket.write(piece)
      else if (piece.length === 0) done()
      else if (socket.writableLength + piece.length < socket.writableHighWaterMark) {
        socket.write(piece)
        done()
      } else socket.write(piece, (error) => done(error ?? null))
    }
    socket.uncork()
  }

  block(stream: SpdyStream): void {
    this.blocked.add(stream)
    this.socket.pause()
  }

  unblock(stream: SpdyStream): void {
    if (this.blocked.delete(stream) && this.blocked.size === 0) this.socket.resume()
  }

  forget(stream: SpdyStream): void {
    this.streams.delete(stream.id)
    this.unblock(stream)
  }
}

/** One stream of a connection; each side may end its half alone. */
export class SpdyStream extends Duplex {
  readonly id: number
  /** What it was opened with, names in lower case. */
  readonly headers: Readonly<SpdyHeaders>
  /** Resolves when the peer took a stream opened here. */
  readonly opened: Promise<void>
  private readonly connection: SpdyConnection
  private settle: { resolve: () => void; reject: (error: Error) => void } | undefined
  private remoteEnded = false
  private localEnded = false
  private gone = false
  /** Why the peer's half ended without its saying so. */
  cut: Error | undefined

  constructor(connection: SpdyConnection, id: number, headers: SpdyHeaders) {
    super({ allowHalfOpen: true, readableHighWaterMark: STREAM_BUFFER, writableHighWaterMark: MAX_DATA, autoDestroy: false, emitClose: true })
    this.connection = connection
    this.id = id
    this.headers = headers
    this.opened = new Promise((resolve, reject) => {
      this.settle = { resolve, reject }
    })
    this.opened.catch(() => {})
    // A lost stream is not an accident of the process; readers see the error all the same.
    this.on('error', () => {})
  }

  /** Takes a stream the peer opened. */
  accept(): void {
    this.connection.reply(this.id)
  }

  refuse(): void {
    this.connection.reset(this.id, resetStatus.refusedStream)
    this.gone = true
    this.connection.forget(this)
    this.destroy()
  }

  answered(_headers: SpdyHeaders): void {
    this.settle?.resolve()
  }

  deliver(data: Buffer): boolean {
    if (this.remoteEnded || this.destroyed) return true
    return this.push(data)
  }

  deliverEnd(): void {
    if (this.remoteEnded || this.destroyed) return
    this.remoteEnded = true
    this.push(null)
    this.release()
  }

  /** The peer reset it, or the connection is over: readers get what came and then the end, writers an error. */
  lost(error: Error): void {
    this.settle?.reject(error)
    if (this.gone) return
    this.gone = true
    this.connection.forget(this)
    if (this.remoteEnded || this.destroyed) return
    this.remoteEnded = true
    this.cut = error
    this.push(null)
  }

  override _read(): void {
    this.connection.unblock(this)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.gone) done(new Error('stream closed'))
    else this.connection.send(this.id, chunk, false, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.localEnded = true
    if (!this.gone && !this.connection.destroyed) this.connection.send(this.id, Buffer.alloc(0), true, () => {})
    this.release()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.gone && !(this.remoteEnded && this.localEnded)) this.connection.reset(this.id, resetStatus.cancel)
    this.gone = true
    this.connection.forget(this)
    this.settle?.reject(error ?? new Error('stream closed'))
    done(error)
  }

  private release(): void {
    if (this.remoteEnded && this.localEnded) this.connection.forget(this)
  }
}
