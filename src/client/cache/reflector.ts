import { isExpired, isInvalid, isTooLargeResourceVersion, StatusError, toStatusError } from '../../apimachinery/errors.ts'
import type { Status } from '../../apimachinery/meta/v1/types.generated.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { type Clock, type Random, yielder } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import type { ListOptions, ResourceClient, Watch, WatchEvent } from '../client.ts'

/** Where a reflector puts what it sees. Calls come one at a time. */
export interface ReflectorSink<T extends KubeObject> {
  /** The whole truth at one version; what is not in it is gone. */
  replace(objects: T[], resourceVersion: string): void | Promise<void>
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void
}

export interface ReflectorOptions<T extends KubeObject> {
  client: ResourceClient<T>
  /** Selectors and projection that hold for list and watch. */
  scope: Pick<ListOptions, 'labelSelector' | 'fieldSelector' | 'metadataOnly'>
  sink: ReflectorSink<T>
  clock: Clock
  random: Random
  log: Logger
  /** Names the resource in the log. */
  name: string
}

const PAGE = 500
const BACKOFF_INITIAL_MS = 200
const BACKOFF_MAX_MS = 30_000
const BACKOFF_RESET_MS = 120_000
const WATCH_MIN_SECONDS = 300
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'
/** A watch that ends sooner without an event is taken as a failure, so that it backs off. */
const SHORT_WATCH_MS = 1000

/**
 * Keeps a sink equal to a resource of the server until the signal aborts: by a streaming list (KEP-3157) where the server
 * can, else by list and watch. A version that is gone starts it anew; failures back off with jitter.
 */
export class Reflector<T extends KubeObject> {
  private readonly options: ReflectorOptions<T>
  private version = ''
  private streaming = true
  private delay = 0
  private lastFailure = Number.NEGATIVE_INFINITY

  constructor(options: ReflectorOptions<T>) {
    this.options = options
  }

  /** The version the sink has reached. */
  get resourceVersion(): string {
    return this.version
  }

  /** Resolves after the abort; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const watch = this.streaming ? await this.streamList(signal) : await this.pagedList(signal)
        await this.follow(signal, watch)
      } catch (error) {
        if (signal.aborted) return
        if (!isExpired(error)) {
          const { log, name } = this.options
          log.v(2).info('reflector failed', { resource: name, err: error instanceof Error ? error.message : String(error) })
        }
        await this.backoff(signal)
      }
    }
  }

  private async backoff(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.options
    const now = clock.monotonic()
    if (now - this.lastFailure > BACKOFF_RESET_MS) this.delay = 0
    this.delay = this.delay === 0 ? BACKOFF_INITIAL_MS : Math.min(this.delay * 2, BACKOFF_MAX_MS)
    this.lastFailure = now
    await clock.sleep(this.delay * (1 + random.float()), signal).catch(() => {})
  }

  private timeoutSeconds(): number {
    return WATCH_MIN_SECONDS + this.options.random.int(WATCH_MIN_SECONDS)
  }

  /** Collects the initial events, replaces the sink's content with them and returns the watch, which goes on. */
  private async streamList(signal: AbortSignal): Promise<Watch<T>> {
    const { client, scope, sink } = this.options
    let watch: Watch<T>
    try {
      watch = await client.watch({ ...scope, sendInitialEvents: true, allowWatchBookmarks: true, timeoutSeconds: this.timeoutSeconds(), signal })
    } catch (error) {
      if (isInvalid(error) || (error instanceof StatusError && (error.code === 400 || error.code === 405))) {
        this.streaming = false
        return this.pagedList(signal)
      }
      throw error
    }
    const iterator = watch[Symbol.asyncIterator]()
    const found = new Map<string, T>()
    const tick = yielder()
    try {
      for (;;) {
        const { value, done } = await iterator.next()
        if (done) throw new Error('the watch ended before the initial events did')
        const event = value as WatchEvent<T>
        if (event.type === 'ERROR') throw StatusError.fromStatus(event.object as unknown as Status)
        const { metadata } = event.object
        if (event.type === 'BOOKMARK') {
          if (metadata.annotations?.[INITIAL_EVENTS_END] !== 'true') continue
          this.version = metadata.resourceVersion ?? ''
          await sink.replace([...found.values()], this.version)
          return { [Symbol.asyncIterator]: () => iterator, stop: () => watch.stop() }
        }
        const key = `${metadata.namespace ?? ''}/${metadata.name}`
        if (event.type === 'DELETED') found.delete(key)
        else found.set(key, event.object)
        const pause = tick()
        if (pause) await this.options.clock.track(pause)
      }
    } catch (error) {
      watch.stop()
      throw error
    }
  }

  private async pagedList(signal: AbortSignal): Promise<Watch<T>> {
    const { client, scope, sink } = this.options
    const objects: T[] = []
    let token: string | undefined
    let version = ''
    do {
      const page = await client.list({ ...scope, limit: PAGE, ...(token ? { continue: token } : {}), signal })
      for (const item of page.items) objects.push(item)
      version = page.metadata.resourceVersion ?? ''
      token = page.metadata.continue
    } while (token)
    this.version = version
    await sink.replace(objects, version)
    return this.watchOn(signal)
  }

  private watchOn(signal: AbortSignal): Promise<Watch<T>> {
    const { client, scope } = this.options
    return client.watch({ ...scope, resourceVersion: this.version, allowWatchBookmarks: true, timeoutSeconds: this.timeoutSeconds(), signal })
  }

  /** Follows watches from the reached version on, one after the other, until one says that the version is gone. */
  private async follow(signal: AbortSignal, first: Watch<T>): Promise<void> {
    const { clock } = this.options
    let watch = first
    for (;;) {
      const start = clock.monotonic()
      let events = 0
      try {
        events = await this.drain(watch, signal)
      } finally {
        watch.stop()
      }
      if (events > 0) this.delay = 0
      for (;;) {
        if (signal.aborted) return
        if (events === 0 && clock.monotonic() - start < SHORT_WATCH_MS) await this.backoff(signal)
        if (signal.aborted) return
        try {
          watch = await this.watchOn(signal)
          break
        } catch (error) {
          if (isExpired(error) || isTooLargeResourceVersion(error)) throw error
          const code = error instanceof StatusError ? toStatusError(error).code : 0
          // The resource itself may be gone, or the right to see it: start over from the list.
          if (code !== 0 && code !== 429 && code < 500) throw error
          await this.backoff(signal)
          events = 1
        }
      }
    }
  }

  /** Applies a watch's events; returns how many it had. */
  private async drain(watch: Watch<T>, signal: AbortSignal): Promise<number> {
    const { sink } = this.options
    const tick = yielder()
    let events = 0
    for await (const event of watch) {
      if (signal.aborted) break
      if (event.type === 'ERROR') throw StatusError.fromStatus(event.object as unknown as Status)
      events++
      const version = event.object.metadata.resourceVersion
      if (event.type !== 'BOOKMARK') sink.apply(event.type, event.object)
      if (version) this.version = version
      // A pause in the middle of work is not rest: a virtual clock must not take it for that.
      const pause = tick()
      if (pause) await this.options.clock.track(pause)
    }
    return events
  }
}
