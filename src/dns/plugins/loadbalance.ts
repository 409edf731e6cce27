import type { Random } from '../../base/index.ts'
import { type ResourceRecord, Type } from '../wire/message.ts'
import { isFailure, type Plugin } from './handler.ts'

/** Addresses and mail exchangers in a new order each time, after all others. */
export function loadbalancePlugin(random: Random): Plugin {
  return (next) => async (query) => {
    const outcome = await next(query)
    if (isFailure(outcome)) return outcome
    return { ...outcome, answer: shuffled(outcome.answer, random), additional: shuffled(outcome.additional, random) }
  }
}

const isMixed = (r: ResourceRecord) => r.type === Type.A || r.type === Type.AAAA || r.type === Type.MX

export function shuffled(records: readonly ResourceRecord[], random: Random): readonly ResourceRecord[] {
  const mixed = records.filter(isMixed)
  if (mixed.length < 2) return records
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = random.int(i + 1)
    ;[mixed[i], mixed[j]] = [mixed[j] as ResourceRecord, mixed[i] as ResourceRecord]
  }
  // A name's alias stands before what it leads to.
  const others = records.filter((r) => !isMixed(r))
  return [...others.filter((r) => r.type === Type.CNAME), ...others.filter((r) => r.type !== Type.CNAME), ...mixed]
}
