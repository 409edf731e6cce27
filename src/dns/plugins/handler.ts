import type { Message, Question } from '../wire/message.ts'

/** A question under way. */
export interface Query {
  readonly message: Message
  readonly question: Question
  /** The question's name, canonical. */
  readonly name: string
  readonly client: { readonly address: string; readonly port: number }
  readonly transport: 'udp' | 'tcp'
  /** How many questions of this server itself led to this one. @default 0 */
  readonly depth?: number
}

/** The answer, or a code where no plugin has one, with the reason for the log. */
export type Outcome = Message | Failure

export interface Failure {
  readonly failure: number
  readonly reason?: string
}

export type Handler = (query: Query) => Promise<Outcome>

/** One step of a server's chain: answers, or asks the next. */
export type Plugin = (next: Handler) => Handler

export const isFailure = (outcome: Outcome): outcome is Failure => 'failure' in outcome
