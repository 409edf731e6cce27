import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { WatchSink } from '../request/api-request.ts'
import { drained } from './drained.ts'

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
    const { out } = this
    if (this.ended || out.destroyed) return false
    // An empty chunk would end a body of HTTP/1.1.
    if (frames.length === 0) return true
    if (out.writableLength < MAX_PENDING_BYTES) {
      out.write(this.framed(frames))
      return true
    }
    // Nobody reads: what is unsent goes with the connection.
    this.ended = true
    out.destroy()
    return false
  }

  drained(): Promise<void> | undefined {
    const { out } = this
    return this.ended || out.destroyed || out.writableLength < HOLD_BYTES ? undefined : drained(out)
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    this.finish()
  }

  protected framed(frames: Uint8Array): Uint8Array {
    return frames
  }

  protected finish(): void {
    if (!this.out.destroyed) this.out.end()
  }
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
export class ChunkSink extends StreamSink {
  private readonly response: ServerResponse
  private readonly chunks: Chunks

  /** @param response has sent its head, with `transfer-encoding: chunked`, and nothing else @param chunks shared by all sinks of a server */
  constructor(response: ServerResponse & { socket: Socket }, chunks: Chunks) {
    super(response.socket)
    this.response = response
    this.chunks = chunks
  }

  protected override framed(frames: Uint8Array): Uint8Array {
    return this.chunks.of(frames)
  }

  protected override finish(): void {
    if (!this.response.destroyed) this.response.end()
  }
}
