import type { ObjectReference } from '../../api/core/v1/types.generated.ts'
import type { Event } from '../../api/events/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { formatMicroTime, timeMs } from '../../apimachinery/time.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Timer } from '../../base/index.ts'
import { EventNamer } from './event-name.ts'
import type { EventBroadcasterOptions, EventType } from './event-recorder.ts'
import { EventSender, type EventWrite } from './event-sender.ts'

/** Writes events.k8s.io/v1 events; repetitions become a series. Never fails, never waits. */
export interface SeriesRecorder {
  eventf(regarding: ObjectReference, related: ObjectReference | undefined, type: EventType, reason: string, action: string, note: string): void
}

export interface SeriesRecorderOptions extends EventBroadcasterOptions {
  /** `reportingController`, such as default-scheduler. */
  controller: string
  hostname: string
}

const CACHE = 4096
const FINISH_MS = 6 * 60_000
const REFRESH_MS = 30 * 60_000
const MAX_NOTE_BYTES = 1024

/** The newer events API's recorder with its sender: the first repetition starts a series, which is written again every 30 minutes and at its end. */
export class SeriesBroadcaster implements SeriesRecorder {
  private readonly options: SeriesRecorderOptions
  private readonly namer: EventNamer
  private readonly known = new BoundedMap<string, Event>(CACHE)
  private readonly sender: EventSender<{ event: Event; create: boolean }>
  private readonly timers: Timer[]

  constructor(options: SeriesRecorderOptions) {
    this.options = options
    this.namer = new EventNamer(options.clock, options.random)
    this.timers = [options.clock.setInterval(() => this.finish(), FINISH_MS), options.clock.setInterval(() => this.refresh(), REFRESH_MS)]
    this.sender = new EventSender({
      clock: options.clock,
      log: options.log,
      signal: options.signal,
      plan: ({ event, create }) => this.plan(event, create),
      onAbort: () => {
        for (const timer of this.timers) timer.cancel()
      },
    })
  }

  stopped(): Promise<void> {
    return this.sender.stopped()
  }

  eventf(regarding: ObjectReference, related: ObjectReference | undefined, type: EventType, reason: string, action: string, note: string): void {
    const { clock, controller, hostname, log } = this.options
    const now = formatMicroTime(clock.now())
    log.v(3).info('Event occurred', { object: `${regarding.namespace}/${regarding.name}`, kind: regarding.kind, type, reason, action, note })
    const key = JSON.stringify([type, action, reason, regarding, related])
    const before = this.known.get(key)
    if (before) {
      const first = !before.series
      const event: Event = { ...before, series: { count: (before.series?.count ?? 1) + 1, lastObservedTime: now } }
      this.known.set(key, event)
      if (first) this.push(event, false)
      return
    }
    const event: Event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: this.namer.next(regarding.name ?? ''), namespace: regarding.namespace || 'default' },
      eventTime: now,
      reportingController: controller,
      reportingInstance: `${controller}-${hostname}`,
      action,
      reason,
      regarding: { ...regarding },
      ...(related ? { related: { ...related } } : {}),
      note: cut(note),
      type,
    }
    this.known.set(key, event)
    this.push(event, true)
  }

  private push(event: Event, create: boolean): void {
    this.sender.push({ event, create }, { reason: event.reason })
  }

  private finish(): void {
    const limit = this.options.clock.now() - FINISH_MS
    for (const [key, event] of [...this.known]) {
      const last = timeMs(event.series?.lastObservedTime ?? event.eventTime)
      if (last !== undefined && last > limit) continue
      if (event.series) this.push(event, false)
      this.known.delete(key)
    }
  }

  private refresh(): void {
    for (const event of [...this.known.values()]) if (event.series) this.push(event, false)
  }

  private plan(event: Event, create: boolean): EventWrite {
    const { client, signal, log } = this.options
    const events = client.resource(resources.eventsv1.events).namespace(event.metadata.namespace)
    return {
      patches: !create,
      write: async (anew) => {
        if (anew) await events.create({ ...event }, { signal })
        else await events.patch(event.metadata.name ?? '', 'strategic', { series: event.series }, { signal })
      },
      refused: (error) => log.v(5).info('Server rejected event (will not retry!)', { err: error.message }),
    }
  }
}

/** Notes are bounded by the API: 1024 bytes, cut at a character. */
function cut(note: string): string {
  const bytes = new TextEncoder().encode(note)
  if (bytes.length <= MAX_NOTE_BYTES) return note
  return new TextDecoder().decode(bytes.subarray(0, MAX_NOTE_BYTES)).replace(/\ufffd+$/, '')
}
