/** A message that breaks the wire format; messages follow the original's. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ProtobufError'
  }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * The wire format's primitives, for all who speak protobuf: Kubernetes' objects by schema, etcd's and CRI's messages by tables.
 *
 * Writes messages from their last byte to their first, so that a nested message's length is known when its header is
 * written and nothing is measured twice. Callers write fields in descending order.
 */
export class ReverseWriter {
  private buffer = new Uint8Array(1024)
  private view = new DataView(this.buffer.buffer)
  /** Index of the first byte written. */
  private at = 1024

  /** Bytes written so far; the difference of two readings is the length of what lies between. */
  get length(): number {
    return this.buffer.length - this.at
  }

  private room(n: number): void {
    if (this.at >= n) return
    const used = this.length
    let size = this.buffer.length * 2
    while (size - used < n) size *= 2
    const next = new Uint8Array(size)
    next.set(this.buffer.subarray(this.at), size - used)
    this.buffer = next
    this.view = new DataView(next.buffer)
    this.at = size - used
  }

  /** @param n an integer from 0 to 2^64; beyond 2^53 it is what the double says */
  varint(n: number): void {
    this.room(10)
    if (n < 0x80) {
      this.buffer[--this.at] = n
      return
    }
    let size = 1
    for (let rest = n; rest >= 0x80; rest = Math.floor(rest / 128)) size++
    this.at -= size
    let rest = n
    for (let i = 0; i < size - 1; i++) {
      this.buffer[this.at + i] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    this.buffer[this.at + size - 1] = rest
  }

  /** An int64 in two's complement; beyond 2^53 it is what the double says, capped to 64 bits. */
  int64(n: number | bigint): void {
    if (typeof n === 'number' && n >= 0 && n <= Number.MAX_SAFE_INTEGER) {
      this.varint(n)
      return
    }
    let big = BigInt(n)
    const max = (1n << 63n) - 1n
    if (big > max) big = max
    big = BigInt.asUintN(64, big)
    const bytes: number[] = []
    while (big >= 0x80n) {
      bytes.push(Number(big & 0x7fn) | 0x80)
      big >>= 7n
    }
    bytes.push(Number(big))
    this.bytes(Uint8Array.from(bytes))
  }

  tag(field: number, wire: number): void {
    this.varint(field * 8 + wire)
  }

  bytes(b: Uint8Array): void {
    this.room(b.length)
    this.at -= b.length
    this.buffer.set(b, this.at)
  }

  double(n: number): void {
    this.room(8)
    this.at -= 8
    this.view.setFloat64(this.at, n, true)
  }

  /** Text with its length before it. */
  string(s: string): void {
    const n = s.length
    this.room(n * 3)
    let ascii = true
    if (n < 64) {
      const start = this.at - n
      for (let i = 0; i < n; i++) {
        const c = s.charCodeAt(i)
        if (c >= 0x80) {
          ascii = false
          break
        }
        this.buffer[start + i] = c
      }
      if (ascii) {
        this.at = start
        this.varint(n)
        return
      }
    }
    const { written } = encoder.encodeInto(s, this.buffer.subarray(this.at - n * 3, this.at))
    this.buffer.copyWithin(this.at - written, this.at - n * 3, this.at - n * 3 + written)
    this.at -= written
    this.varint(written)
  }

  /** The bytes written; the writer may be reused. */
  finish(): Uint8Array {
    const out = this.buffer.slice(this.at)
    this.at = this.buffer.length
    return out
  }
}

/** Deepest nesting of messages that is read. */
const MAX_NESTING = 200

export class Reader {
  private readonly buffer: Uint8Array
  private readonly view: DataView
  private depth = 0
  at: number
  end: number

  constructor(buffer: Uint8Array) {
    this.buffer = buffer
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    this.at = 0
    this.end = buffer.length
  }

  /** Reads the header of a nested message and narrows the reader to it; give the result to `leave`. */
  enter(): number {
    const length = this.varint()
    const outer = this.end
    if (length > outer - this.at) throw unexpectedEnd()
    if (++this.depth > MAX_NESTING) throw new ProtobufError('proto: exceeded max recursion depth')
    this.end = this.at + length
    return outer
  }

  leave(outer: number): void {
    this.depth--
    this.at = this.end
    this.end = outer
  }

  /** An unsigned varint as a number; beyond 2^53 the nearest double. */
  varint(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.end) throw unexpectedEnd()
      const b = this.buffer[this.at++] as number
      value += (b & 0x7f) * scale
      if (b < 0x80) return value
      scale *= 128
    }
    throw new ProtobufError('proto: integer overflow')
  }

  int64(): number {
    const start = this.at
    const n = this.varint()
    return n <= Number.MAX_SAFE_INTEGER ? n : Number(this.exact(start))
  }

  /** An int64 to its last digit. */
  bigint64(): bigint {
    const start = this.at
    const n = this.varint()
    return n <= Number.MAX_SAFE_INTEGER ? BigInt(n) : this.exact(start)
  }

  /** The varint that lies between an index and here. */
  private exact(start: number): bigint {
    let big = 0n
    let shift = 0n
    for (let i = start; i < this.at; i++) {
      big |= BigInt((this.buffer[i] as number) & 0x7f) << shift
      shift += 7n
    }
    return BigInt.asIntN(64, big)
  }

  int32(): number {
    return this.int64() | 0
  }

  double(): number {
    if (this.end - this.at < 8) throw unexpectedEnd()
    const n = this.view.getFloat64(this.at, true)
    this.at += 8
    return n
  }

  bytes(): Uint8Array {
    const length = this.varint()
    if (length > this.end - this.at) throw unexpectedEnd()
    const out = this.buffer.subarray(this.at, this.at + length)
    this.at += length
    return out
  }

  string(): string {
    const b = this.bytes()
    if (b.length < 32) {
      let s = ''
      for (let i = 0; i < b.length; i++) {
        const c = b[i] as number
        if (c >= 0x80) return decoder.decode(b)
        s += String.fromCharCode(c)
      }
      return s
    }
    return decoder.decode(b)
  }

  skip(wire: number): void {
    switch (wire) {
      case 0:
        this.varint()
        return
      case 1:
        this.advance(8)
        return
      case 2:
        this.bytes()
        return
      case 5:
        this.advance(4)
        return
      case 3: {
        let open = 1
        while (open > 0) {
          const tag = this.varint()
          if (tag % 8 === 3) open++
          else if (tag % 8 === 4) open--
          else this.skip(tag % 8)
        }
        return
      }
      default:
        throw new ProtobufError(`proto: illegal wireType ${wire}`)
    }
  }

  private advance(n: number): void {
    if (n > this.end - this.at) throw unexpectedEnd()
    this.at += n
  }
}

function unexpectedEnd(): ProtobufError {
  return new ProtobufError('unexpected EOF')
}
