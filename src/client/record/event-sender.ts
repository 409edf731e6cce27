import { isNotFound, StatusError } from '../../apimachinery/errors.ts'
import { AsyncQueue, type Clock } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'

const QUEUE = 1000
const TRIES = 12
const RETRY_MS = 10_000

/** How one event reaches the API. */
export interface EventWrite {
  /** It is there already and changes. */
  patches: boolean
  /** @param create whether to make it: it is new, or what was to be patched has been deleted or has expired meanwhile */
  write(create: boolean): Promise<void>
  /** The server refused it, for good. */
  refused(error: StatusError): void
}

export interface EventSenderOptions<T> {
  clock: Clock
  log: Logger
  /** Sending ends when it aborts; what is still queued is dropped. */
  signal: AbortSignal
  /** Decides when the event's turn has come; undefined: it is not written. */
  plan(event: T): EventWrite | undefined
  /** Share of the retry's wait before the first one, so that not all senders come back at once. @default 1 */
  firstWait?(): number
  /** Called at the abort: one listener on the signal serves all that stops with the sender. */
  onAbort?(): void
}

/** Writes events one after another and never in the way of who records them: a full queue drops, and what cannot be sent is tried twelve times. */
export class EventSender<T> {
  private readonly options: EventSenderOptions<T>
  private readonly queue = new AsyncQueue<T>(QUEUE)
  private readonly done: Promise<void>

  constructor(options: EventSenderOptions<T>) {
    this.options = options
    const { signal } = options
    const onAbort = () => {
      this.queue.close()
      options.onAbort?.()
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    this.done = this.run()
  }

  /** @param told what the log says of it when the queue is full */
  push(event: T, told: Record<string, unknown>): void {
    try {
      this.queue.push(event)
    } catch {
      this.options.log.warn('unable to record event: too many queued events, dropped event', told)
    }
  }

  /** Resolves when sending has ended, after the abort. */
  stopped(): Promise<void> {
    return this.done
  }

  private async run(): Promise<void> {
    for await (const event of this.queue) {
      if (this.options.signal.aborted) return
      const write = this.options.plan(event)
      if (write) await this.send(write)
    }
  }

  private async send({ patches, write, refused }: EventWrite): Promise<void> {
    const { signal, clock, firstWait } = this.options
    let create = !patches
    for (let attempt = 1; attempt <= TRIES && !signal.aborted; attempt++) {
      try {
        await write(create)
        return
      } catch (error) {
        if (signal.aborted) return
        if (!create && isNotFound(error)) {
          create = true
          attempt--
          continue
        }
        if (error instanceof StatusError) {
          refused(error)
          return
        }
        await clock.sleep(attempt === 1 && firstWait ? RETRY_MS * firstWait() : RETRY_MS, signal).catch(() => {})
      }
    }
  }
}
