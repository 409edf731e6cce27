import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import type { Clock } from '../../base/index.ts'
import type { Upstream } from '../corefile/forward-config.ts'
import { decodeMessage } from '../wire/decode.ts'
import { encodeMessage } from '../wire/encode.ts'
import type { Message } from '../wire/message.ts'

export interface ExchangeOptions {
  clock: Clock
  timeoutMs: number
  signal: AbortSignal
}

const at = (u: Upstream) => (isIPv6(u.address) ? `[${u.address}]:${u.port}` : `${u.address}:${u.port}`)

/** Only the answer to this very question is taken; all others are as good as none. */
function answers(query: Message, reply: Message): boolean {
  const [asked] = query.question
  const [told] = reply.question
  if (!reply.response || reply.id !== query.id || reply.opcode !== query.opcode) return false
  // Some servers leave the question out of errors.
  if (!told) return reply.rcode !== 0
  return told.type === asked?.type && told.class === asked.class && told.name.toLowerCase() === asked.name.toLowerCase()
}

/** One question to one server over UDP, from a port of its own. @throws Error on time-out, abort, or when nothing listens there */
export function exchangeUdp(query: Message, to: Upstream, o: ExchangeOptions): Promise<Message> {
  const bytes = encodeMessage(query)
  return o.clock.track(
    new Promise<Message>((resolve, reject) => {
      const socket = createSocket(isIPv6(to.address) ? 'udp6' : 'udp4')
      const end = (outcome: () => void) => {
        late.cancel()
        o.signal.removeEventListener('abort', onAbort)
        try {
          socket.close()
        } catch {
          // Closed before.
        }
        outcome()
      }
      const fail = (error: unknown) => end(() => reject(error))
      const onAbort = () => fail(o.signal.reason)
      const late = o.clock.deadline(() => fail(new Error(`read udp ${at(to)}: i/o timeout`)), o.timeoutMs)
      if (o.signal.aborted) return onAbort()
      o.signal.addEventListener('abort', onAbort, { once: true })
      socket.on('error', (e: NodeJS.ErrnoException) => fail(new Error(`read udp ${at(to)}: ${e.code ?? e.message}`)))
      socket.on('message', (received) => {
        let reply: Message
        try {
          reply = decodeMessage(received)
        } catch {
          return
        }
        if (answers(query, reply)) end(() => resolve(reply))
      })
      // A connected socket hears of nobody else, and of refusals.
      socket.connect(to.port, to.address, () => {
        socket.send(bytes, (e) => e && fail(new Error(`write udp ${at(to)}: ${(e as NodeJS.ErrnoException).code ?? e.message}`)))
      })
    }),
  )
}

/** One question to one server over TCP. @throws Error as `exchangeUdp` */
export function exchangeTcp(query: Message, to: Upstream, o: ExchangeOptions): Promise<Message> {
  const bytes = framed(encodeMessage(query))
  return o.clock.track(
    new Promise<Message>((resolve, reject) => {
      const socket = connect({ host: to.address, port: to.port, noDelay: true })
      const end = (outcome: () => void) => {
        late.cancel()
        o.signal.removeEventListener('abort', onAbort)
        socket.destroy()
        outcome()
      }
      const fail = (error: unknown) => end(() => reject(error))
      const onAbort = () => fail(o.signal.reason)
      const late = o.clock.deadline(() => fail(new Error(`read tcp ${at(to)}: i/o timeout`)), o.timeoutMs)
      if (o.signal.aborted) return onAbort()
      o.signal.addEventListener('abort', onAbort, { once: true })
      socket.on('error', (e: NodeJS.ErrnoException) => fail(new Error(`dial tcp ${at(to)}: ${e.code ?? e.message}`)))
      socket.on('close', () => fail(new Error(`read tcp ${at(to)}: EOF`)))
      let have = Buffer.alloc(0)
      socket.on('data', (chunk: Buffer) => {
        have = Buffer.concat([have, chunk])
        if (have.length < 2 || have.length < 2 + have.readUInt16BE(0)) return
        try {
          const reply = decodeMessage(have.subarray(2, 2 + have.readUInt16BE(0)))
          if (!answers(query, reply)) return fail(new Error(`read tcp ${at(to)}: not the answer to the question`))
          end(() => resolve(reply))
        } catch (e) {
          fail(e)
        }
      })
      socket.on('connect', () => socket.write(bytes))
    }),
  )
}

/** A message as it goes over TCP: its length before it. */
export function framed(message: Uint8Array): Buffer {
  const out = Buffer.alloc(2 + message.length)
  out.writeUInt16BE(message.length, 0)
  out.set(message, 2)
  return out
}
