import type { Clock } from '../../base/index.ts'
import type { LogConfig } from '../corefile/config.ts'
import { className, type Message, Rcode, rcodeName, typeName } from '../wire/message.ts'
import { isWithin } from '../wire/name.ts'
import { isFailure, type Outcome, type Plugin, type Query } from './handler.ts'

/** Prints each question with its answer's code, flags, size and time. */
export function logPlugin(config: LogConfig, clock: Clock, print: (line: string) => void, sizeOf: (query: Query, outcome: Outcome) => number): Plugin {
  return (next) => async (query) => {
    if (!config.zones.some((zone) => isWithin(query.name, zone))) return next(query)
    const start = clock.monotonic()
    const outcome = await next(query)
    const rcode = isFailure(outcome) ? outcome.failure : outcome.rcode
    if (!config.classes.has('all') && !config.classes.has(classOf(rcode, outcome))) return outcome
    const { message: m, question: q, client } = query
    const size = m.edns ? Math.max(512, m.edns.udpSize) : 512
    const asked = `${typeName(q.type)} ${className(q.class)} ${q.name} ${query.transport} ${size} ${m.edns?.dnssecOk === true}`
    const host = client.address.includes(':') ? `[${client.address}]` : client.address
    const flags = isFailure(outcome) ? '-' : flagsOf(outcome)
    const seconds = ((clock.monotonic() - start) / 1000).toFixed(9)
    print(`[INFO] ${host}:${client.port} - ${m.id} "${asked}" ${rcodeName(rcode)} ${flags} ${sizeOf(query, outcome)} ${seconds}s`)
    return outcome
  }
}

function classOf(rcode: number, outcome: Outcome): 'success' | 'denial' | 'error' {
  if (rcode === Rcode.NXDOMAIN) return 'denial'
  if (rcode !== Rcode.NOERROR) return 'error'
  return isFailure(outcome) || outcome.answer.length > 0 ? 'success' : 'denial'
}

function flagsOf(m: Message): string {
  const flags = [m.response && 'qr', m.authoritative && 'aa', m.truncated && 'tc', m.recursionDesired && 'rd', m.recursionAvailable && 'ra']
  return [...flags, m.authenticData && 'ad', m.checkingDisabled && 'cd'].filter(Boolean).join(',')
}

/** Prints what went wrong, one line a failure. */
export function errorsPlugin(print: (line: string) => void): Plugin {
  return (next) => async (query) => {
    const outcome = await next(query)
    if (isFailure(outcome) && outcome.reason !== undefined)
      print(`[ERROR] plugin/errors: ${outcome.failure} ${query.question.name} ${typeName(query.question.type)}: ${outcome.reason}`)
    return outcome
  }
}
