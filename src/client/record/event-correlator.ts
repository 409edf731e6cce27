import type { Event } from '../../api/core/v1/types.generated.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Clock } from '../../base/index.ts'
import { BucketLimiter } from '../workqueue/rate-limiter.ts'

const CACHE = 4096
const SPAM_BURST = 25
const SPAM_QPS = 1 / 300
const SIMILAR_LIMIT = 10
const SIMILAR_WINDOW_MS = 600_000
const COMBINED = '(combined from similar events): '

interface Similar {
  messages: Set<string>
  lastMs: number
}

export interface Observation {
  name: string
  count: number
  firstTimestamp: string
}

/** What to do with an event: write it anew, or raise the count of the one that is there. */
export interface Correlated {
  event: Event
  key: string
  patch?: { count: number; lastTimestamp: string; message: string }
}

/**
 * Keeps the number of events low: equal ones raise a count; more than ten that differ only in their message within ten minutes
 * become one; of one source and object at most 25 at once and then one in five minutes are let through.
 */
export class EventCorrelator {
  private readonly clock: Clock
  private readonly spam = new BoundedMap<string, BucketLimiter>(CACHE)
  private readonly similar = new BoundedMap<string, Similar>(CACHE)
  private readonly observed = new BoundedMap<string, Observation>(CACHE)

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Undefined when the event is dropped. */
  correlate(event: Event): Correlated | undefined {
    const { event: merged, key } = this.aggregate(event)
    const now = formatTime(this.clock.now())
    const last = this.observed.get(key)
    let result: Correlated
    if (last) {
      const count = last.count + 1
      const again: Event = { ...merged, metadata: { ...merged.metadata, name: last.name }, firstTimestamp: last.firstTimestamp, count }
      result = { event: again, key, patch: { count, lastTimestamp: now, message: merged.message ?? '' } }
    } else {
      result = { event: merged, key }
    }
    this.observed.set(key, {
      name: result.event.metadata.name ?? '',
      count: result.event.count ?? 1,
      firstTimestamp: result.event.firstTimestamp ?? now,
    })
    return this.allowed(event) ? result : undefined
  }

  /** Notes the event as the server has it. */
  written(key: string, event: Event): void {
    this.observed.set(key, {
      name: event.metadata.name ?? '',
      count: event.count ?? 1,
      firstTimestamp: event.firstTimestamp ?? formatTime(this.clock.now()),
    })
  }

  private allowed(event: Event): boolean {
    const key = objectKeyOf(event)
    let limiter = this.spam.get(key)
    if (!limiter) this.spam.set(key, (limiter = new BucketLimiter(this.clock, SPAM_QPS, SPAM_BURST)))
    return limiter.tryTake()
  }

  private aggregate(event: Event): { event: Event; key: string } {
    const group = [objectKeyOf(event), event.type, event.reason, event.reportingComponent, event.reportingInstance].join('\0')
    const now = this.clock.now()
    let record = this.similar.get(group)
    if (!record || now - record.lastMs > SIMILAR_WINDOW_MS) record = { messages: new Set(), lastMs: now }
    record.messages.add(event.message ?? '')
    record.lastMs = now
    this.similar.set(group, record)
    if (record.messages.size < SIMILAR_LIMIT) return { event, key: `${group}\0${event.message}` }
    record.messages.delete(record.messages.values().next().value as string)
    return { event: { ...event, message: COMBINED + event.message }, key: group }
  }
}

function objectKeyOf(event: Event): string {
  const { source, involvedObject: o } = event
  return [source.component, source.host, o.kind, o.namespace, o.name, o.uid, o.apiVersion, o.fieldPath].join('\0')
}
