/**
 * Distinguished Encoding Rules (ITU-T X.690), as much of them as certificates, signing requests and keys use. The reader
 * is meant for untrusted bytes: definite lengths only, every length checked against its parent, errors worded as clients know them.
 */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const p of parts) length += p.length
  const out = new Uint8Array(length)
  let at = 0
  for (const p of parts) {
    out.set(p, at)
    at += p.length
  }
  return out
}

export function encode(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = concat(parts)
  const n = content.length
  const length = n < 0x80 ? [n] : n < 0x100 ? [0x81, n] : n < 0x10000 ? [0x82, n >> 8, n & 0xff] : [0x83, n >> 16, (n >> 8) & 0xff, n & 0xff]
  return concat([Uint8Array.of(tag, ...length), content])
}

export const sequence = (...parts: readonly Uint8Array[]): Uint8Array => encode(TAG.sequence, ...parts)
/** SET OF: members in the order of their encodings. */
export const set = (...parts: readonly Uint8Array[]): Uint8Array => encode(TAG.set, ...[...parts].sort(compareBytes))
export const context = (n: number, ...parts: readonly Uint8Array[]): Uint8Array => encode(0xa0 | n, ...parts)
export const boolean = (value: boolean): Uint8Array => Uint8Array.of(TAG.boolean, 1, value ? 0xff : 0)
export const octetString = (bytes: Uint8Array): Uint8Array => encode(TAG.octetString, bytes)
export const bitString = (bytes: Uint8Array, unused = 0): Uint8Array => encode(TAG.bitString, Uint8Array.of(unused), bytes)
export const text = (tag: number, value: string): Uint8Array => encode(tag, new TextEncoder().encode(value))

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const trimmed = bytes.subarray(start)
  return (trimmed[0] ?? 0) & 0x80 ? encode(TAG.integer, Uint8Array.of(0), trimmed) : encode(TAG.integer, trimmed.length ? trimmed : Uint8Array.of(0))
}

export function oid(dotted: string): Uint8Array {
  const arcs = dotted.split('.').map(Number)
  const bytes: number[] = []
  const push = (arc: number) => {
    const group = [arc % 128]
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) group.unshift((rest % 128) | 0x80)
    bytes.push(...group)
  }
  push((arcs[0] as number) * 40 + (arcs[1] as number))
  for (const arc of arcs.slice(2)) push(arc)
  return encode(TAG.oid, Uint8Array.from(bytes))
}

/** UTCTime up to 2049, GeneralizedTime from 2050 on (RFC 5280, 4.1.2.5). @param ms since the epoch; whole seconds are kept */
export function time(ms: number): Uint8Array {
  const iso = new Date(Math.floor(ms / 1000) * 1000).toISOString()
  const digits = iso.replace(/[-:T]/g, '').slice(0, 14)
  return Number(iso.slice(0, 4)) < 2050 ? text(TAG.utcTime, `${digits.slice(2)}Z`) : text(TAG.generalizedTime, `${digits}Z`)
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length)
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number)
  return a.length - b.length
}

/** Bytes that are not what they ought to be. */
export class DerError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DerError'
  }
}

export interface Element {
  readonly tag: number
  readonly content: Uint8Array
  /** Tag, length and content. */
  readonly raw: Uint8Array
}

/** Walks the elements of one constructed value in order. */
export class DerReader {
  private readonly bytes: Uint8Array
  private at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }

  /** The tag of the next element; undefined at the end. */
  peek(): number | undefined {
    return this.bytes[this.at]
  }

  /** @throws DerError on a wrong tag, truncated data, an indefinite or non-minimal length */
  next(tag?: number): Element {
    const start = this.at
    const { bytes } = this
    if (start + 2 > bytes.length) throw new DerError('asn1: syntax error: sequence truncated')
    const found = bytes[start] as number
    if ((found & 0x1f) === 0x1f) throw new DerError("asn1: structure error: tags don't match")
    let length = bytes[start + 1] as number
    let head = start + 2
    if (length & 0x80) {
      const count = length & 0x7f
      if (count === 0) throw new DerError('asn1: syntax error: indefinite length found (not DER)')
      if (count > 4) throw new DerError('asn1: structure error: length too large')
      if (head + count > bytes.length) throw new DerError('asn1: syntax error: truncated tag or length')
      length = 0
      for (let i = 0; i < count; i++) length = length * 256 + (bytes[head + i] as number)
      if (bytes[head] === 0 || length < 0x80) throw new DerError('asn1: structure error: non-minimal length')
      head += count
    }
    if (head + length > bytes.length) throw new DerError('asn1: syntax error: data truncated')
    if (tag !== undefined && found !== tag) throw new DerError("asn1: structure error: tags don't match")
    this.at = head + length
    return { tag: found, content: bytes.subarray(head, this.at), raw: bytes.subarray(start, this.at) }
  }

  /** The next element when it has this tag. */
  optional(tag: number): Element | undefined {
    return this.peek() === tag ? this.next() : undefined
  }

  into(tag: number): DerReader {
    return new DerReader(this.next(tag).content)
  }
}

export function readOid(content: Uint8Array): string {
  const arcs: number[] = []
  let value = 0
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f)
    if (value > Number.MAX_SAFE_INTEGER / 128) throw new DerError('asn1: structure error: base 128 integer too large')
    if (byte & 0x80) continue
    if (arcs.length === 0) arcs.push(value < 80 ? Math.floor(value / 40) : 2, value < 80 ? value % 40 : value - 80)
    else arcs.push(value)
    value = 0
  }
  if (content.length === 0 || (content[content.length - 1] as number) & 0x80) throw new DerError('asn1: syntax error: truncated base 128 integer')
  return arcs.join('.')
}

/** The text of any of the string types a name may hold. */
export function readText(element: Element): string {
  const { content } = element
  switch (element.tag) {
    case TAG.utf8String:
    case TAG.printableString:
    case TAG.ia5String:
      return new TextDecoder('utf-8', { fatal: true }).decode(content)
    case TAG.teletexString:
      return Buffer.from(content).toString('latin1')
    case TAG.bmpString: {
      let out = ''
      for (let i = 0; i + 1 < content.length; i += 2) out += String.fromCharCode(((content[i] as number) << 8) | (content[i + 1] as number))
      return out
    }
    default:
      throw new DerError('asn1: structure error: unknown string type')
  }
}
