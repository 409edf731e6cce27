import type { Random } from '../../base/index.ts'
import { Rcode, Type } from '../wire/message.ts'
import { absolute, canonical } from '../wire/name.ts'
import type { Plugin } from './handler.ts'

/** How often a server may see its own question: once from itself, and again when a client tries twice. */
const MAX_SEEN = 2

/**
 * Finds servers that forward to themselves: one question with a name that nobody else knows is sent to the server when it starts, and a
 * server that sees it again and again goes in circles.
 */
export class LoopDetector {
  readonly name: string
  private seen = 0
  private watching = true
  private readonly onLoop: (query: string) => void

  constructor(zone: string, random: Random, onLoop: (query: string) => void) {
    const number = () => String(random.int(0x7fffffff))
    this.name = canonical(absolute(`${number()}.${number()}.${zone === '.' ? '' : zone}`))
    this.onLoop = onLoop
  }

  /** After the check, or when too late: the name means nothing any more. */
  stop(): void {
    this.watching = false
  }

  readonly plugin: Plugin = (next) => async (query) => {
    if (!this.watching || query.question.type !== Type.HINFO || query.name !== this.name) return next(query)
    if (++this.seen > MAX_SEEN) {
      this.watching = false
      this.onLoop(`HINFO ${this.name}`)
      return { failure: Rcode.SERVFAIL, reason: 'loop' }
    }
    return next(query)
  }
}
