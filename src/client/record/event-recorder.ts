import type { Event, ObjectReference } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isAlreadyExists, isNamespaceTerminating, isNotFound, StatusError } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { AsyncQueue, type Clock, type Random } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Client } from '../client.ts'
import { EventCorrelator } from './event-correlator.ts'
import { EventNamer } from './event-name.ts'

export type EventType = 'Normal' | 'Warning'

/** Writes core/v1 events about objects; never fails, never waits. */
export interface EventRecorder {
  event(about: ObjectReference, type: EventType, reason: string, message: string, annotations?: Record<string, string>): void
}

export interface EventBroadcasterOptions {
  client: Client
  clock: Clock
  random: Random
  log: Logger
  /** Sending ends when it aborts; what is still queued is dropped. */
  signal: AbortSignal
}

const QUEUE = 1000
const TRIES = 12
const RETRY_MS = 10_000

/** One sender with its correlator, for any number of recorders. */
export class EventBroadcaster {
  private readonly options: EventBroadcasterOptions
  private readonly correlator: EventCorrelator
  private readonly namer: EventNamer
  private readonly queue = new AsyncQueue<Event>(QUEUE)
  private readonly done: Promise<void>

  constructor(options: EventBroadcasterOptions) {
    this.options = options
    this.correlator = new EventCorrelator(options.clock)
    this.namer = new EventNamer(options.clock, options.random)
    const onAbort = () => this.queue.close()
    if (options.signal.aborted) onAbort()
    else options.signal.addEventListener('abort', onAbort, { once: true })
    this.done = this.run()
  }

  /** @param component the name in `source.component`, @param host the node, for the kubelet's */
  recorder(component: string, host?: string): EventRecorder {
    return {
      event: (about, type, reason, message, annotations) => this.push(component, host, about, { type, reason, message }, annotations),
    }
  }

  /** Resolves when sending has ended, after the abort. */
  stopped(): Promise<void> {
    return this.done
  }

  private push(
    component: string,
    host: string | undefined,
    about: ObjectReference,
    what: { type: EventType; reason: string; message: string },
    annotations: Record<string, string> | undefined,
  ): void {
    const now = formatTime(this.options.clock.now())
    const event: Event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: this.namer.next(about.name ?? ''),
        namespace: about.namespace || 'default',
        ...(annotations ? { annotations } : {}),
      },
      involvedObject: { ...about },
      reason: what.reason,
      message: what.message,
      source: { component, ...(host ? { host } : {}) },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      type: what.type,
      reportingComponent: component,
      reportingInstance: host ?? '',
    }
    this.options.log.v(2).info('Event occurred', {
      object: about.namespace ? `${about.namespace}/${about.name}` : about.name,
      kind: about.kind,
      type: what.type,
      reason: what.reason,
      message: what.message,
    })
    try {
      this.queue.push(event)
    } catch {
      this.options.log.warn('unable to record event: too many queued events, dropped event', { reason: what.reason, message: what.message })
    }
  }

  private async run(): Promise<void> {
    const { signal, clock, random, log } = this.options
    for await (const event of this.queue) {
      if (signal.aborted) return
      const correlated = this.correlator.correlate(event)
      if (!correlated) continue
      let patch = correlated.patch
      for (let attempt = 1; attempt <= TRIES && !signal.aborted; attempt++) {
        try {
          await this.send(correlated.event, correlated.key, patch)
          break
        } catch (error) {
          if (signal.aborted) return
          if (patch && isNotFound(error)) {
            // The event has been deleted or has expired meanwhile.
            patch = undefined
            attempt--
            continue
          }
          if (error instanceof StatusError) {
            const expected = [isAlreadyExists, isNamespaceTerminating].some((is) => is(error))
            const line = { event: `${event.metadata.namespace}/${event.metadata.name}`, err: error.message }
            if (expected) log.v(5).info('Server rejected event (will not retry!)', line)
            else log.error('Server rejected event (will not retry!)', line)
            break
          }
          await clock.sleep(attempt === 1 ? RETRY_MS * random.float() : RETRY_MS, signal).catch(() => {})
        }
      }
    }
  }

  private async send(event: Event, key: string, patch: { count: number; lastTimestamp: string; message: string } | undefined): Promise<void> {
    const { client, signal } = this.options
    const events = client.resource(resources.corev1.events).namespace(event.metadata.namespace)
    const written = patch ? await events.patch(event.metadata.name ?? '', 'strategic', patch, { signal }) : await events.create({ ...event }, { signal })
    this.correlator.written(key, written)
  }
}
