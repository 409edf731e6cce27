/** A DNS message as data (RFC 1035, EDNS0: RFC 6891), and the numbers it is made of. */

export const Type = {
  A: 1,
  NS: 2,
  MD: 3,
  MF: 4,
  CNAME: 5,
  SOA: 6,
  MB: 7,
  MG: 8,
  MR: 9,
  PTR: 12,
  HINFO: 13,
  MINFO: 14,
  MX: 15,
  TXT: 16,
  RP: 17,
  AFSDB: 18,
  RT: 21,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  KX: 36,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const

const typeNames = new Map<number, string>(Object.entries(Type).map(([name, value]) => [value, name]))
export const typeName = (type: number): string => typeNames.get(type) ?? `TYPE${type}`

export const CLASS_IN = 1
export const className = (value: number): string => (value === 1 ? 'IN' : value === 3 ? 'CH' : value === 4 ? 'HS' : value === 255 ? 'ANY' : `CLASS${value}`)

export const Rcode = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const
const rcodeNames = new Map<number, string>(Object.entries(Rcode).map(([name, value]) => [value, name]))
export const rcodeName = (rcode: number): string => rcodeNames.get(rcode) ?? `RCODE${rcode}`

export interface Question {
  /** As it was asked: the case of letters is kept. */
  readonly name: string
  readonly type: number
  readonly class: number
}

/** Record data in order: bytes as they are, and names, which travel in other messages at other offsets. */
export type RecordData = readonly (Uint8Array | string)[]

export interface ResourceRecord {
  readonly name: string
  readonly type: number
  readonly class: number
  readonly ttl: number
  readonly data: RecordData
}

export interface Edns {
  readonly udpSize: number
  readonly version: number
  readonly dnssecOk: boolean
  readonly options: readonly { readonly code: number; readonly data: Uint8Array }[]
}

export interface Message {
  readonly id: number
  readonly response: boolean
  readonly opcode: number
  readonly authoritative: boolean
  readonly truncated: boolean
  readonly recursionDesired: boolean
  readonly recursionAvailable: boolean
  readonly authenticData: boolean
  readonly checkingDisabled: boolean
  /** 12 bits where there is EDNS. */
  readonly rcode: number
  readonly question: readonly Question[]
  readonly answer: readonly ResourceRecord[]
  readonly authority: readonly ResourceRecord[]
  /** Without the OPT record, which is `edns`. */
  readonly additional: readonly ResourceRecord[]
  readonly edns?: Edns
}

/** The start of a reply: id, question and the bits that a reply repeats. */
export function replyTo(query: Message, reply: Partial<Message> = {}): Message {
  return {
    id: query.id,
    response: true,
    opcode: query.opcode,
    authoritative: false,
    truncated: false,
    recursionDesired: query.opcode === 0 && query.recursionDesired,
    recursionAvailable: false,
    authenticData: false,
    checkingDisabled: query.opcode === 0 && query.checkingDisabled,
    rcode: Rcode.NOERROR,
    question: query.question.slice(0, 1),
    answer: [],
    authority: [],
    additional: [],
    ...reply,
  }
}

/** A query of one question. */
export function queryFor(id: number, name: string, type: number, options: Partial<Message> = {}): Message {
  return {
    id,
    response: false,
    opcode: 0,
    authoritative: false,
    truncated: false,
    recursionDesired: true,
    recursionAvailable: false,
    authenticData: false,
    checkingDisabled: false,
    rcode: Rcode.NOERROR,
    question: [{ name, type, class: CLASS_IN }],
    answer: [],
    authority: [],
    additional: [],
    ...options,
  }
}
