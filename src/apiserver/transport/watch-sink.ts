import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { WatchSink } from '../request/api-request.ts'

/** A reader this far behind is cut off: it starts again with a fresh watch. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024
/** With this much unsent, the watch is asked to wait. */
const HOLD_BYTES = 1024 * 1024

/** Sends the frames of a watch over a connection. Frames of one turn go out together. */
export class StreamSink implements WatchSink {
  private readonly out: Writable
  private ended = false

  constructor(out: Writable) {
    this.out = out
  }

  write(frames: Uint8Array): boolean {
    if (this.ended || this.out.destroyed) return false
    if (frames.length === 0) return true
    if (this.out.writableLength < MAX_PENDING_BYTES) {
      this.out.write(frames)
      return true
    }
    // Nobody reads: what is unsent goes with the connection.
    this.ended = true
    this.out.destroy()
    return false
  }

  drained(): Promise<void> | undefined {
    return this.ended ? undefined : whenDrained(this.out)
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    if (!this.out.destroyed) this.out.end()
  }
}

function whenDrained(out: Writable): Promise<void> | undefined {
  if (out.destroyed || out.writableLength < HOLD_BYTES) return undefined
  return new Promise((resolve) => {
    const done = () => {
      out.off('drain', done)
      out.off('close', done)
      resolve()
    }
    out.on('drain', done)
    out.on('close', done)
  })
}

const CRLF = Buffer.from('\r\n')

/** Frames as a chunk of HTTP/1.1 (RFC 9112, 7.1), made once for all watches that are sent the same frames one after another. */
export class Chunks {
  private frames: Uint8Array | undefined
  private chunk: Uint8Array = CRLF

  of(frames: Uint8Array): Uint8Array {
    if (this.frames !== frames) {
      this.chunk = Buffer.concat([Buffer.from(`${frames.length.toString(16)}\r\n`, 'latin1'), frames, CRLF])
      this.frames = frames
    }
    return this.chunk
  }
}

/** Sends frames over an HTTP/1.1 connection, as chunks past the response, which would frame them anew for each watch. */
export class ChunkSink implements WatchSink {
  private readonly response: ServerResponse
  private readonly socket: Socket
  private readonly chunks: Chunks
  private ended = false

  /** @param response has sent its head, with `transfer-encoding: chunked`, and nothing else @param chunks shared by all sinks of a server */
  constructor(response: ServerResponse & { socket: Socket }, chunks: Chunks) {
    this.response = response
    this.socket = response.socket
    this.chunks = chunks
  }

  write(frames: Uint8Array): boolean {
    const { socket } = this
    if (this.ended || socket.destroyed) return false
    // An empty chunk would end the body.
    if (frames.length === 0) return true
    if (socket.writableLength < MAX_PENDING_BYTES) {
      socket.write(this.chunks.of(frames))
      return true
    }
    this.ended = true
    socket.destroy()
    return false
  }

  drained(): Promise<void> | undefined {
    return this.ended ? undefined : whenDrained(this.socket)
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    if (!this.response.destroyed) this.response.end()
  }
}
