import { type Handler, isFailure, type Outcome, type Query } from '../plugins/handler.ts'
import { decodeHeader, decodeMessage } from '../wire/decode.ts'
import { encodeMessage, MAX_MESSAGE } from '../wire/encode.ts'
import { CLASS_IN, type Edns, type Message, queryFor, Rcode, replyTo } from '../wire/message.ts'
import { canonical } from '../wire/name.ts'

/** Where a message came from. */
export type Origin = Pick<Query, 'client' | 'transport'>

export interface ResponderOptions {
  /** The chain for a canonical name; undefined: the name is in no zone of this server. */
  route(name: string): { handler: Handler; zone: string } | undefined
  /** Told of every answer to a question that could be read. */
  answered?(told: Answered): void
  /** Something failed that should not. */
  panicked?(error: unknown): void
}

export interface Answered {
  readonly query: Query
  readonly zone: string
  readonly rcode: number
  readonly seconds: number
  readonly querySize: number
  readonly replySize: number
}

/** UDP answers are never larger than this, whatever the client says it takes: longer ones come over TCP. */
const MAX_UDP = 4096
const MIN_UDP = 512
const QUERY = 0
const NOTIFY = 4
/** Options that go back as they came: NSID, EXPIRE, COOKIE, TCP keepalive, padding. */
const ECHOED = new Set([3, 9, 10, 11, 12])

/** The bytes of the answer to the bytes of a question; undefined: no answer is due. Never rejects. */
export async function respond(bytes: Uint8Array, origin: Origin, o: ResponderOptions, now: () => number): Promise<Uint8Array | undefined> {
  const header = decodeHeader(bytes)
  // An answer to an answer would go on for ever.
  if (!header || header.response) return undefined
  const bare = (rcode: number, rest: Partial<Message> = {}) =>
    encodeMessage(
      replyTo(queryFor(header.id, '.', 0, { recursionDesired: header.recursionDesired, checkingDisabled: header.checkingDisabled }), {
        question: [],
        rcode,
        ...rest,
      }),
    )
  if (header.opcode !== QUERY && header.opcode !== NOTIFY) return bare(Rcode.NOTIMP, { opcode: header.opcode })
  if (header.questions !== 1 || header.answers > 1 || header.authorities > 1 || header.additionals > 2) return bare(Rcode.FORMERR)
  let message: Message
  try {
    message = decodeMessage(bytes)
  } catch {
    return bare(Rcode.FORMERR)
  }
  if (header.opcode === NOTIFY) return bare(Rcode.NOTIMP, { opcode: NOTIFY, question: message.question })
  const start = now()
  const question = message.question[0] as Message['question'][number]
  const query: Query = { message, question, name: canonical(question.name), ...origin }
  const route = o.route(query.name)
  const outcome = await outcomeOf(query, route?.handler, o)
  const reply = encodeReply(query, outcome, o)
  o.answered?.({
    query,
    zone: route?.zone ?? 'dropped',
    rcode: isFailure(outcome) ? outcome.failure : outcome.rcode,
    seconds: (now() - start) / 1000,
    querySize: bytes.length,
    replySize: reply.length,
  })
  return reply
}

async function outcomeOf(query: Query, handler: Handler | undefined, o: ResponderOptions): Promise<Outcome> {
  if (query.message.edns && query.message.edns.version !== 0) return { failure: Rcode.BADVERS }
  if (query.question.class !== CLASS_IN || !handler) return { failure: Rcode.REFUSED }
  try {
    return await handler(query)
  } catch (error) {
    o.panicked?.(error)
    return { failure: Rcode.SERVFAIL }
  }
}

function encodeReply(query: Query, outcome: Outcome, o: ResponderOptions): Uint8Array {
  try {
    return encodeMessage(finished(query, outcome), replyLimit(query))
  } catch (error) {
    // What an upstream told may be nothing that can be told again.
    o.panicked?.(error)
    return encodeMessage(finished(query, { failure: Rcode.SERVFAIL }), replyLimit(query))
  }
}

/** The answer as its client gets it: with the client's own id and question, and EDNS only where the client spoke it. */
export function finished(query: Query, outcome: Outcome): Message {
  const { message } = query
  const reply = isFailure(outcome) ? replyTo(message, { rcode: outcome.failure }) : outcome
  const { edns: theirs, ...rest } = reply
  const edns = message.edns && ednsFor(message.edns, theirs)
  return { ...rest, id: message.id, response: true, question: message.question, ...(edns ? { edns } : {}) }
}

function ednsFor(asked: Edns, theirs: Edns | undefined): Edns {
  const options = theirs ? theirs.options : asked.options.filter((x) => ECHOED.has(x.code))
  return { udpSize: asked.udpSize, version: 0, dnssecOk: asked.dnssecOk, options }
}

export function replyLimit(query: Query): number {
  if (query.transport === 'tcp') return MAX_MESSAGE
  return Math.min(MAX_UDP, Math.max(MIN_UDP, query.message.edns?.udpSize ?? MIN_UDP))
}
