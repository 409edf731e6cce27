import type { Clock } from '../../base/index.ts'
import type { CacheConfig, CacheLimits } from '../corefile/config.ts'
import { type Message, Rcode, type ResourceRecord, replyTo, Type } from '../wire/message.ts'
import { isWithin } from '../wire/name.ts'
import { type Handler, isFailure, type Plugin, type Query } from './handler.ts'

interface Item {
  readonly reply: Message
  readonly storedAt: number
  readonly ttl: number
}

/** Told of what happens in the cache; `type` is `success` or `denial`. */
export interface CacheMetrics {
  request(): void
  hit(type: 'success' | 'denial'): void
  miss(): void
  entries(type: 'success' | 'denial', count: number): void
}

/** Answers kept for their time to live, at most as many as the configuration says; the oldest goes first. */
export function cachePlugin(config: CacheConfig, clock: Clock, metrics: CacheMetrics): Plugin {
  const success = new Map<string, Item>()
  const denial = new Map<string, Item>()

  const fresh = (items: Map<string, Item>, key: string): { item: Item; age: number } | undefined => {
    const item = items.get(key)
    if (!item) return undefined
    const age = (clock.monotonic() - item.storedAt) / 1000
    if (age < item.ttl) return { item, age }
    items.delete(key)
    return undefined
  }

  const store = (items: Map<string, Item>, key: string, item: Item, limits: CacheLimits, type: 'success' | 'denial'): void => {
    items.delete(key)
    items.set(key, item)
    while (items.size > limits.capacity) items.delete(items.keys().next().value as string)
    metrics.entries(type, items.size)
  }

  const keep = (query: Query, key: string, reply: Message): Message => {
    const kind = kindOf(reply)
    if (!kind || reply.truncated || !matches(query, reply)) return reply
    const without = kind === 'success' ? config.withoutSuccess : config.withoutDenial
    if (without.some((zone) => isWithin(query.name, zone))) return reply
    const limits = kind === 'success' ? config.success : config.denial
    const ttl = kind === 'error' ? config.servfailTtl : Math.max(limits.minTtl, Math.min(limits.maxTtl, leastTtl(reply, kind)))
    if (ttl <= 0) return reply
    const type = kind === 'success' ? 'success' : 'denial'
    if (type === 'success') denial.delete(key)
    store(type === 'success' ? success : denial, key, { reply, storedAt: clock.monotonic(), ttl }, limits, type)
    // Whoever asks first is told the same time as those who come after.
    return kind === 'error' || config.keepTtl ? reply : withTtl(reply, ttl)
  }

  return (next: Handler) => async (query) => {
    const q = query.question
    if (!config.zones.some((zone) => isWithin(query.name, zone)) || q.type === Type.ANY) return next(query)
    const { message } = query
    const key = `${query.name} ${q.type} ${q.class} ${message.edns?.dnssecOk ? 1 : 0}${message.checkingDisabled ? 1 : 0}`
    metrics.request()
    for (const [type, items] of [['denial', denial] as const, ['success', success] as const]) {
      const found = fresh(items, key)
      if (!found) continue
      metrics.hit(type)
      const { reply, ttl } = found.item
      const made = replyTo(message, {
        // Some clients throw away what does not claim to be authoritative.
        authoritative: true,
        recursionAvailable: reply.recursionAvailable,
        authenticData: reply.authenticData && (message.edns?.dnssecOk === true || message.authenticData),
        rcode: reply.rcode,
        answer: reply.answer.map((r) => sameCase(r, reply.question[0]?.name, q.name)),
        authority: reply.authority,
        additional: reply.additional,
      })
      return config.keepTtl ? made : withTtl(made, Math.max(0, Math.floor(ttl - found.age)))
    }
    metrics.miss()
    const outcome = await next(query)
    return isFailure(outcome) ? outcome : keep(query, key, outcome)
  }
}

/** Only what answers this question is kept under it. */
function matches(query: Query, reply: Message): boolean {
  const q = reply.question[0]
  return q !== undefined && q.type === query.question.type && q.class === query.question.class && q.name.toLowerCase() === query.question.name.toLowerCase()
}

/** A client that writes a name in odd case finds its own spelling in the answer. */
function sameCase(r: ResourceRecord, before: string | undefined, now: string): ResourceRecord {
  return r.name === before && before !== now ? { ...r, name: now } : r
}

function kindOf(reply: Message): 'success' | 'denial' | 'error' | undefined {
  if (reply.opcode !== 0) return undefined
  if (reply.rcode === Rcode.SERVFAIL || reply.rcode === Rcode.NOTIMP) return 'error'
  const soa = reply.authority.some((r) => r.type === Type.SOA)
  if (reply.rcode === Rcode.NXDOMAIN) return soa ? 'denial' : undefined
  if (reply.rcode !== Rcode.NOERROR) return undefined
  if (reply.answer.length > 0) return 'success'
  return soa ? 'denial' : undefined
}

function leastTtl(reply: Message, kind: 'success' | 'denial'): number {
  let least = Number.POSITIVE_INFINITY
  for (const r of [...reply.answer, ...reply.authority, ...reply.additional]) {
    least = Math.min(least, r.ttl)
    if (kind === 'denial' && r.type === Type.SOA) {
      const numbers = r.data[2]
      if (numbers instanceof Uint8Array && numbers.length === 20) least = Math.min(least, new DataView(numbers.buffer, numbers.byteOffset).getUint32(16))
    }
  }
  return least === Number.POSITIVE_INFINITY ? 5 : least
}

function withTtl(m: Message, ttl: number): Message {
  const set = (records: readonly ResourceRecord[]) => records.map((r) => ({ ...r, ttl }))
  return { ...m, answer: set(m.answer), authority: set(m.authority), additional: set(m.additional) }
}
