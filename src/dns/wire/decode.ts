import { type Edns, type Message, type Question, type RecordData, type ResourceRecord, Type } from './message.ts'
import { labelText } from './name.ts'

/** Bytes that are no DNS message. */
export class FormatError extends Error {
  override readonly name = 'FormatError'
}

export interface Header {
  readonly id: number
  readonly response: boolean
  readonly opcode: number
  readonly recursionDesired: boolean
  readonly checkingDisabled: boolean
  readonly questions: number
  readonly answers: number
  readonly authorities: number
  readonly additionals: number
}

export const HEADER_BYTES = 12
const MAX_NAME = 255

/** The head alone; undefined where there is not even that. */
export function decodeHeader(bytes: Uint8Array): Header | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const u16 = (at: number) => ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
  const flags = u16(2)
  return {
    id: u16(0),
    response: (flags & 0x8000) !== 0,
    opcode: (flags >> 11) & 15,
    recursionDesired: (flags & 0x0100) !== 0,
    checkingDisabled: (flags & 0x0010) !== 0,
    questions: u16(4),
    answers: u16(6),
    authorities: u16(8),
    additionals: u16(10),
  }
}

/** Where names lie in record data, by type: a number is that many bytes, `n` a name; the rest is bytes. */
const layouts = new Map<number, readonly (number | 'n')[]>([
  ...[Type.NS, Type.MD, Type.MF, Type.CNAME, Type.MB, Type.MG, Type.MR, Type.PTR, Type.DNAME].map((t) => [t, ['n']] as [number, 'n'[]]),
  ...[Type.MX, Type.AFSDB, Type.RT, Type.KX].map((t) => [t, [2, 'n']] as [number, (number | 'n')[]]),
  [Type.SOA, ['n', 'n', 20]],
  [Type.MINFO, ['n', 'n']],
  [Type.RP, ['n', 'n']],
  [Type.SRV, [6, 'n']],
])

/** @throws FormatError */
export function decodeMessage(bytes: Uint8Array): Message {
  return new Decoder(bytes).message()
}

class Decoder {
  private readonly bytes: Uint8Array
  private at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  message(): Message {
    const header = decodeHeader(this.bytes)
    if (!header) throw new FormatError('message is shorter than its head')
    const flags = ((this.bytes[2] as number) << 8) | (this.bytes[3] as number)
    this.at = HEADER_BYTES
    const question: Question[] = []
    for (let i = 0; i < header.questions; i++) question.push({ name: this.readName(), type: this.u16(), class: this.u16() })
    const answer = this.records(header.answers)
    const authority = this.records(header.authorities)
    const rest = this.records(header.additionals)
    const opts = rest.filter((r) => r.type === Type.OPT)
    if (opts.length > 1) throw new FormatError('more than one OPT record')
    const opt = opts[0]
    const edns = opt && ednsOf(opt)
    return {
      id: header.id,
      response: header.response,
      opcode: header.opcode,
      authoritative: (flags & 0x0400) !== 0,
      truncated: (flags & 0x0200) !== 0,
      recursionDesired: header.recursionDesired,
      recursionAvailable: (flags & 0x0080) !== 0,
      authenticData: (flags & 0x0020) !== 0,
      checkingDisabled: header.checkingDisabled,
      rcode: (flags & 15) | (opt ? ((opt.ttl >>> 24) & 0xff) << 4 : 0),
      question,
      answer,
      authority,
      additional: opt ? rest.filter((r) => r !== opt) : rest,
      ...(edns ? { edns } : {}),
    }
  }

  private u8(): number {
    const value = this.bytes[this.at]
    if (value === undefined) throw new FormatError('message ends early')
    this.at++
    return value
  }

  private u16(): number {
    return (this.u8() << 8) | this.u8()
  }

  private take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw new FormatError('message ends early')
    // A copy: what is kept of a message must not hold on to the buffer it came in.
    const part = new Uint8Array(this.bytes.subarray(this.at, this.at + length))
    this.at += length
    return part
  }

  /** A pointer leads to an earlier place than everything read of the name so far: no name is without end. */
  private readName(): string {
    let name = ''
    let length = 1
    let before = this.at
    let next: number | undefined
    for (;;) {
      const size = this.u8()
      if (size === 0) break
      if ((size & 0xc0) === 0xc0) {
        const target = ((size & 0x3f) << 8) | this.u8()
        next ??= this.at
        if (target >= before) throw new FormatError('a compressed name points forward')
        before = target
        this.at = target
      } else if (size > 63) throw new FormatError('a label of an unknown kind')
      else {
        length += size + 1
        if (length > MAX_NAME) throw new FormatError('a name is longer than 255 bytes')
        name += `${labelText(this.take(size))}.`
      }
    }
    if (next !== undefined) this.at = next
    return name === '' ? '.' : name
  }

  private records(count: number): ResourceRecord[] {
    const out: ResourceRecord[] = []
    for (let i = 0; i < count; i++) {
      const name = this.readName()
      const type = this.u16()
      const klass = this.u16()
      const ttl = this.u16() * 0x10000 + this.u16()
      const length = this.u16()
      const end = this.at + length
      if (end > this.bytes.length) throw new FormatError('message ends early')
      const data = this.recordData(type, end)
      if (this.at !== end) throw new FormatError('record data does not have the length it says')
      out.push({ name, type, class: klass, ttl, data })
    }
    return out
  }

  private recordData(type: number, end: number): RecordData {
    const data: (Uint8Array | string)[] = []
    // Updates and the like may have none.
    if (this.at === end) return data
    for (const part of layouts.get(type) ?? []) data.push(part === 'n' ? this.readName() : this.take(part))
    if (this.at < end) data.push(this.take(end - this.at))
    if ((type === Type.A && end - this.at === 0 && lengthOf(data) !== 4) || (type === Type.AAAA && lengthOf(data) !== 16))
      throw new FormatError('an address of the wrong length')
    return data
  }
}

const lengthOf = (data: RecordData): number => data.reduce((sum, part) => sum + part.length, 0)

function ednsOf(opt: ResourceRecord): Edns {
  const data = (opt.data[0] as Uint8Array | undefined) ?? new Uint8Array(0)
  const options: { code: number; data: Uint8Array }[] = []
  for (let at = 0; at < data.length; ) {
    if (at + 4 > data.length) throw new FormatError('an EDNS option ends early')
    const code = ((data[at] as number) << 8) | (data[at + 1] as number)
    const length = ((data[at + 2] as number) << 8) | (data[at + 3] as number)
    if (at + 4 + length > data.length) throw new FormatError('an EDNS option ends early')
    options.push({ code, data: data.slice(at + 4, at + 4 + length) })
    at += 4 + length
  }
  return { udpSize: opt.class, version: (opt.ttl >>> 16) & 0xff, dnssecOk: (opt.ttl & 0x8000) !== 0, options }
}
