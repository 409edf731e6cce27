import type { Event, ObjectReference } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isAlreadyExists, isNamespaceTerminating } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Client } from '../client.ts'
import { EventCorrelator } from './event-correlator.ts'
import { EventNamer } from './event-name.ts'
import { EventSender, type EventWrite } from './event-sender.ts'

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

/** One sender with its correlator, for any number of recorders. */
export class EventBroadcaster {
  private readonly options: EventBroadcasterOptions
  private readonly correlator: EventCorrelator
  private readonly namer: EventNamer
  private readonly sender: EventSender<Event>

  constructor(options: EventBroadcasterOptions) {
    this.options = options
    this.correlator = new EventCorrelator(options.clock)
    this.namer = new EventNamer(options.clock, options.random)
    this.sender = new EventSender({
      clock: options.clock,
      log: options.log,
      signal: options.signal,
      plan: (event) => this.plan(event),
      firstWait: () => options.random.float(),
    })
  }

  /** @param component the name in `source.component`, @param host the node, for the kubelet's */
  recorder(component: string, host?: string): EventRecorder {
    return {
      event: (about, type, reason, message, annotations) => this.push(component, host, about, { type, reason, message }, annotations),
    }
  }

  /** Resolves when sending has ended, after the abort. */
  stopped(): Promise<void> {
    return this.sender.stopped()
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
    this.sender.push(event, { reason: what.reason, message: what.message })
  }

  private plan(given: Event): EventWrite | undefined {
    const { client, signal, log } = this.options
    const correlated = this.correlator.correlate(given)
    if (!correlated) return undefined
    const { event, key, patch } = correlated
    const events = client.resource(resources.corev1.events).namespace(event.metadata.namespace)
    return {
      patches: patch !== undefined,
      write: async (create) => {
        const written =
          patch && !create ? await events.patch(event.metadata.name ?? '', 'strategic', patch, { signal }) : await events.create({ ...event }, { signal })
        this.correlator.written(key, written)
      },
      refused: (error) => {
        const line = { event: `${given.metadata.namespace}/${given.metadata.name}`, err: error.message }
        if (isAlreadyExists(error) || isNamespaceTerminating(error)) log.v(5).info('Server rejected event (will not retry!)', line)
        else log.error('Server rejected event (will not retry!)', line)
      },
    }
  }
}
