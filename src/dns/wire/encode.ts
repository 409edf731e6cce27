import { type Edns, type Message, type ResourceRecord, Type } from './message.ts'
import { canonical, labelBytes, labelsOf, wireLength } from './name.ts'

export const MAX_MESSAGE = 65_535
/** Only offsets that fit a pointer can be pointed to. */
const MAX_POINTER = 0x3fff

/** Types of RFC 1035, in whose data every reader knows compressed names (RFC 3597, 4). */
const COMPRESSED = new Set<number>([Type.NS, Type.MD, Type.MF, Type.CNAME, Type.SOA, Type.MB, Type.MG, Type.MR, Type.PTR, Type.MINFO, Type.MX])

/**
 * The bytes of a message, names compressed. Records that do not fit are left out from the end on, and the message then says that it is
 * truncated; EDNS always stays. @throws NameError
 */
export function encodeMessage(message: Message, limit = MAX_MESSAGE): Uint8Array {
  return new Encoder(message, limit).bytes()
}

class Encoder {
  private readonly message: Message
  private readonly limit: number
  private readonly out: number[] = []
  private readonly offsets = new Map<string, number>()

  constructor(message: Message, limit: number) {
    this.message = message
    this.limit = Math.min(limit, MAX_MESSAGE)
  }

  bytes(): Uint8Array {
    const m = this.message
    for (let i = 0; i < 12; i++) this.out.push(0)
    for (const q of m.question) {
      this.name(q.name, true)
      this.u16(q.type)
      this.u16(q.class)
    }
    const room = this.limit - (m.edns ? ednsLength(m.edns) : 0)
    const counts = [0, 0, 0]
    let truncated = m.truncated
    outer: for (const [section, records] of [m.answer, m.authority, m.additional].entries()) {
      for (const record of records) {
        const before = this.out.length
        this.record(record)
        if (this.out.length > room) {
          this.out.length = before
          truncated = true
          break outer
        }
        ;(counts[section] as number)++
      }
    }
    if (m.edns) this.edns(m.edns, m.rcode)
    const flags =
      (m.response ? 0x8000 : 0) |
      ((m.opcode & 15) << 11) |
      (m.authoritative ? 0x0400 : 0) |
      (truncated ? 0x0200 : 0) |
      (m.recursionDesired ? 0x0100 : 0) |
      (m.recursionAvailable ? 0x0080 : 0) |
      (m.authenticData ? 0x0020 : 0) |
      (m.checkingDisabled ? 0x0010 : 0) |
      (m.rcode & 15)
    const [answers = 0, authorities = 0, additionals = 0] = counts
    for (const [i, value] of [m.id, flags, m.question.length, answers, authorities, additionals + (m.edns ? 1 : 0)].entries()) {
      this.out[2 * i] = (value >> 8) & 0xff
      this.out[2 * i + 1] = value & 0xff
    }
    return Uint8Array.from(this.out)
  }

  private u16(value: number): void {
    this.out.push((value >> 8) & 0xff, value & 0xff)
  }

  private u32(value: number): void {
    this.u16((value >>> 16) & 0xffff)
    this.u16(value & 0xffff)
  }

  private name(name: string, compress: boolean): void {
    const labels = labelsOf(name)
    wireLength(labels)
    const lower = compress ? labelsOf(canonical(name)) : []
    for (const [i, label] of labels.entries()) {
      if (compress) {
        const suffix = lower.slice(i).join('.')
        const known = this.offsets.get(suffix)
        if (known !== undefined) return this.u16(0xc000 | known)
        if (this.out.length <= MAX_POINTER) this.offsets.set(suffix, this.out.length)
      }
      const bytes = labelBytes(label)
      this.out.push(bytes.length, ...bytes)
    }
    this.out.push(0)
  }

  private record(r: ResourceRecord): void {
    this.name(r.name, true)
    this.u16(r.type)
    this.u16(r.class)
    this.u32(r.ttl)
    const start = this.out.length
    this.u16(0)
    for (const part of r.data) {
      if (typeof part === 'string') this.name(part, COMPRESSED.has(r.type))
      else for (const b of part) this.out.push(b)
    }
    const length = this.out.length - start - 2
    this.out[start] = (length >> 8) & 0xff
    this.out[start + 1] = length & 0xff
  }

  private edns(edns: Edns, rcode: number): void {
    this.out.push(0)
    this.u16(Type.OPT)
    this.u16(edns.udpSize)
    this.u16((((rcode >> 4) & 0xff) << 8) | (edns.version & 0xff))
    this.u16(edns.dnssecOk ? 0x8000 : 0)
    this.u16(ednsLength(edns) - 11)
    for (const o of edns.options) {
      this.u16(o.code)
      this.u16(o.data.length)
      for (const b of o.data) this.out.push(b)
    }
  }
}

const ednsLength = (edns: Edns): number => edns.options.reduce((sum, o) => sum + 4 + o.data.length, 11)
