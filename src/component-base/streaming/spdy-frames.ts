import { SpdyProtocolError } from './spdy-headers.ts'

export const frameType = { synStream: 1, synReply: 2, rstStream: 3, settings: 4, ping: 6, goAway: 7, headers: 8, windowUpdate: 9 } as const

export const FLAG_FIN = 0x01
export const FLAG_UNIDIRECTIONAL = 0x02

/** Why a stream was reset (SPDY draft 3, section 2.6.3). */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
  streamInUse: 8,
  streamAlreadyClosed: 9,
} as const

/** A frame as it lies on the wire, header blocks still compressed. Data comes in pieces: a large frame is never put together. */
export type Frame = { kind: 'control'; type: number; flags: number; payload: Buffer } | { kind: 'data'; streamId: number; data: Buffer; fin: boolean }

/** Larger control frames end the connection. */
const MAX_CONTROL = 128 * 1024
const VERSION = 3

export function controlFrame(type: number, flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x8000 | VERSION, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt32BE(((flags << 24) | payload.length) >>> 0, 4)
  return Buffer.concat([head, payload])
}

/** The eight bytes before `length` bytes of data. */
export function dataHead(streamId: number, length: number, fin: boolean): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(streamId & 0x7fffffff, 0)
  head.writeUInt32BE((((fin ? FLAG_FIN : 0) << 24) | length) >>> 0, 4)
  return head
}

export function synStream(streamId: number, flags: number, block: Uint8Array): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt32BE(streamId, 0)
  return controlFrame(frameType.synStream, flags, Buffer.concat([head, block]))
}

export function withStreamId(type: number, flags: number, streamId: number, rest: Uint8Array): Buffer {
  const id = Buffer.alloc(4)
  id.writeUInt32BE(streamId, 0)
  return controlFrame(type, flags, Buffer.concat([id, rest]))
}

export function uint32(value: number): Buffer {
  const b = Buffer.alloc(4)
  b.writeUInt32BE(value >>> 0)
  return b
}

/** Cuts bytes, however they come, into frames. Holds one unfinished control frame at most. */
export class FrameParser {
  private held: Buffer = Buffer.alloc(0)
  private data: { streamId: number; left: number; fin: boolean } | undefined;

  /** @throws SpdyProtocolError */
  *push(chunk: Uint8Array): Generator<Frame> {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (this.held.length > 0) bytes = Buffer.concat([this.held, bytes])
    this.held = Buffer.alloc(0)
    for (;;) {
      if (this.data) {
        const { streamId, left, fin } = this.data
        if (bytes.length === 0 && left > 0) return
        const data = bytes.subarray(0, left)
        bytes = bytes.subarray(data.length)
        this.data.left -= data.length
        const last = this.data.left === 0
        if (last) this.data = undefined
        if (data.length > 0 || fin) yield { kind: 'data', streamId, data, fin: fin && last }
        continue
      }
      if (bytes.length < 8) break
      const first = bytes.readUInt32BE(0)
      const second = bytes.readUInt32BE(4)
      const flags = second >>> 24
      const length = second & 0xffffff
      if (first < 0x80000000) {
        bytes = bytes.subarray(8)
        this.data = { streamId: first, left: length, fin: (flags & FLAG_FIN) !== 0 }
        continue
      }
      const version = (first >>> 16) & 0x7fff
      if (version !== VERSION) throw new SpdyProtocolError(`SPDY version ${version} is not supported`)
      if (length > MAX_CONTROL) throw new SpdyProtocolError('control frame too large')
      if (bytes.length < 8 + length) break
      yield { kind: 'control', type: first & 0xffff, flags, payload: bytes.subarray(8, 8 + length) }
      bytes = bytes.subarray(8 + length)
    }
    // Copied: what is kept must not hold on to the chunk it came in.
    if (bytes.length > 0) this.held = Buffer.from(bytes)
  }
}
