import { yielder } from '../base/index.ts'
import type { Informer } from '../client/cache/informer.ts'
import type { RateLimiter } from '../client/workqueue/rate-limiter.ts'
import { WorkQueue } from '../client/workqueue/work-queue.ts'
import type { ControllerContext } from './controller-context.ts'

/** What a reconcile wants next; nothing means: wait for the next change. */
export interface ReconcileResult {
  /** 0 means soon: with back-off, so that a condition that stays cannot keep a worker busy. */
  requeueAfterMs?: number
}

export interface ControllerOptions {
  name: string
  /** How many keys are worked on at once. @default 5 */
  workers?: number
  limiter?: RateLimiter
  /** After so many failures in a row a key is dropped until it changes. @default no limit */
  maxRetries?: number
  /** Must have synced before the first key is worked on. */
  // biome-ignore lint/suspicious/noExplicitAny: informers of every kind
  informers: readonly Informer<any>[]
  /** Brings the world to what the key's object asks for; a throw is a failure that is tried again with back-off. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most have nothing to say
  reconcile(key: string): Promise<ReconcileResult | void>
}

/** Not worth trying again until something changes. */
export class TerminalError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'TerminalError'
  }
}

const WORKERS = 5

/** A queue of keys and the workers that reconcile them. */
export class Controller {
  readonly queue: WorkQueue
  private readonly context: ControllerContext
  private readonly options: ControllerOptions
  private caughtUp: (() => void) | undefined

  constructor(context: ControllerContext, options: ControllerOptions) {
    this.context = context
    this.options = options
    this.queue = new WorkQueue({ clock: context.clock, name: options.name, ...(options.limiter ? { limiter: options.limiter } : {}) })
  }

  /** Resolves when the context's signal has aborted and the keys being worked on are done. */
  async run(): Promise<void> {
    const { signal, log } = this.context
    const { name, informers, workers = WORKERS } = this.options
    const stop = () => {
      this.queue.shutDown()
      this.caughtUp?.()
    }
    if (signal.aborted) return
    signal.addEventListener('abort', stop, { once: true })
    try {
      await Promise.all(informers.map((i) => i.waitForSync(signal)))
    } catch {
      stop()
      return
    }
    log.v(2).info('Starting controller', { controller: name })
    this.context.onStart?.(this.queue.idle() ? Promise.resolve() : new Promise((resolve) => (this.caughtUp = resolve)))
    await Promise.all(Array.from({ length: workers }, () => this.work()))
    log.v(2).info('Shutting down controller', { controller: name })
  }

  private async work(): Promise<void> {
    const { queue } = this
    // Reconciles answered from caches alone never leave the microtask queue.
    const rest = yielder()
    for (;;) {
      await rest()
      const key = await queue.get()
      if (key === undefined) return
      try {
        await this.process(key)
      } finally {
        queue.done(key)
        if (this.caughtUp && queue.idle()) this.caughtUp()
      }
    }
  }

  private async process(key: string): Promise<void> {
    const { queue } = this
    const { signal, log } = this.context
    const { name, maxRetries, reconcile } = this.options
    try {
      const result = await reconcile(key)
      const after = result?.requeueAfterMs
      if (after !== undefined && after <= 0) {
        queue.addRateLimited(key)
        return
      }
      queue.forget(key)
      if (after !== undefined) queue.addAfter(key, after)
    } catch (error) {
      if (signal.aborted) return
      const err = error instanceof Error ? error.message : String(error)
      if (error instanceof TerminalError) {
        log.error('Reconcile failed for good', { controller: name, key, err })
        queue.forget(key)
      } else if (maxRetries !== undefined && queue.requeues(key) >= maxRetries) {
        log.error('Dropping key out of the queue', { controller: name, key, err })
        queue.forget(key)
      } else {
        log.v(2).info('Reconcile failed', {
          controller: name,
          key,
          err,
          ...(error instanceof TypeError || error instanceof RangeError ? { stack: error.stack } : {}),
        })
        queue.addRateLimited(key)
      }
    }
  }
}
