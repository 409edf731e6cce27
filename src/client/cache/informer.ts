import { type KubeObject, objectKey, type ResourceHandle } from '../../apimachinery/object.ts'
import { type Clock, type Random, yielder } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Client, ListOptions } from '../client.ts'
import { Reflector } from './reflector.ts'
import { IndexedStore, type IndexFunction, type Lister } from './store.ts'

/**
 * Told of changes, one call at a time and in the order of the server's versions. Handlers only note keys; what they throw is
 * logged. The store already shows the new state when a handler runs.
 */
export interface ResourceEventHandler<T extends KubeObject> {
  /** @param initial the object was there before the handler: it belongs to the first list */
  onAdd?(object: T, initial: boolean): void
  onUpdate?(before: T, after: T): void
  /** @param missed the deletion itself was not seen, so that `object` may not be its last state */
  onDelete?(object: T, missed: boolean): void
}

export interface HandlerRegistration {
  /** The handler has been told of everything that was in the first list. */
  hasSynced(): boolean
  remove(): void
}

/** One shared cache of one resource: readers use `lister`, controllers add handlers. */
export interface Informer<T extends KubeObject> {
  readonly handle: ResourceHandle<T>
  readonly lister: Lister<T>
  addHandler(handler: ResourceEventHandler<T>): HandlerRegistration
  /** Adds an index to the store; the same name twice is one index. */
  addIndex(name: string, fn: IndexFunction<T>): void
  hasSynced(): boolean
  /** Resolves at the first sync; rejects with the signal's reason. */
  waitForSync(signal?: AbortSignal): Promise<void>
  /** The version the cache has reached; '' before the first sync. */
  resourceVersion(): string
}

export interface InformerOptions extends Pick<ListOptions, 'labelSelector' | 'fieldSelector' | 'metadataOnly'> {
  /** Only this namespace. */
  namespace?: string
}

interface Registered<T extends KubeObject> {
  handler: ResourceEventHandler<T>
  synced: boolean
}

export interface InformerContext {
  client: Client
  clock: Clock
  random: Random
  log: Logger
}

/** Use `InformerFactory`, which shares informers; this class makes a private one. */
export class SharedInformer<T extends KubeObject> implements Informer<T> {
  readonly handle: ResourceHandle<T>
  private readonly store = new IndexedStore<T>()
  private readonly handlers = new Set<Registered<T>>()
  private readonly reflector: Reflector<T>
  private readonly log: Logger
  private readonly clock: Clock
  private synced = false
  private waiters: (() => void)[] = []

  constructor(context: InformerContext, handle: ResourceHandle<T>, options: InformerOptions = {}) {
    this.handle = handle
    this.log = context.log
    this.clock = context.clock
    const { namespace, ...scope } = options
    const resource = context.client.resource(handle)
    this.reflector = new Reflector<T>({
      client: namespace ? resource.namespace(namespace) : resource,
      scope,
      sink: { replace: (objects) => this.replace(objects), apply: (type, object) => this.apply(type, object) },
      clock: context.clock,
      random: context.random,
      log: context.log,
      name: handle.group ? `${handle.resource}.${handle.group}` : handle.resource,
    })
  }

  get lister(): Lister<T> {
    return this.store
  }

  /** Runs until the signal aborts. Call once. */
  run(signal: AbortSignal): Promise<void> {
    return this.reflector.run(signal)
  }

  hasSynced(): boolean {
    return this.synced
  }

  resourceVersion(): string {
    return this.reflector.resourceVersion
  }

  waitForSync(signal?: AbortSignal): Promise<void> {
    if (this.synced) return Promise.resolve()
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        this.waiters = this.waiters.filter((w) => w !== done)
        reject(signal?.reason)
      }
      const done = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.waiters.push(done)
    })
  }

  addIndex(name: string, fn: IndexFunction<T>): void {
    this.store.addIndex(name, fn)
  }

  addHandler(handler: ResourceEventHandler<T>): HandlerRegistration {
    const registered: Registered<T> = { handler, synced: this.synced }
    this.handlers.add(registered)
    for (const object of this.store.list()) this.call(registered, () => handler.onAdd?.(object, true))
    return { hasSynced: () => registered.synced, remove: () => void this.handlers.delete(registered) }
  }

  private call(registered: Registered<T>, fn: () => void): void {
    try {
      fn()
    } catch (error) {
      if (this.handlers.has(registered))
        this.log.error('informer: a handler failed', { resource: this.handle.resource, err: String((error as Error)?.stack ?? error) })
    }
  }

  private async replace(objects: T[]): Promise<void> {
    const tick = yielder()
    const kept = new Set<string>()
    const initial = !this.synced
    for (const object of objects) {
      kept.add(objectKey(object))
      this.put(object, initial)
      const pause = tick()
      if (pause) await this.clock.track(pause)
    }
    for (const key of [...this.store.keys()]) if (!kept.has(key)) this.drop(key, undefined)
    this.synced = true
    for (const registered of this.handlers) registered.synced = true
    const waiters = this.waiters
    this.waiters = []
    for (const done of waiters) done()
  }

  private apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    if (type === 'DELETED') this.drop(objectKey(object), object)
    else this.put(object, false)
  }

  private put(object: T, initial: boolean): void {
    const before = this.store.get(objectKey(object))
    if (before && before.metadata.resourceVersion === object.metadata.resourceVersion && before.metadata.uid === object.metadata.uid) return
    this.store.set(object)
    for (const r of this.handlers) {
      const { handler } = r
      if (!before) this.call(r, () => handler.onAdd?.(object, initial))
      else this.call(r, () => handler.onUpdate?.(before, object))
    }
  }

  private drop(key: string, last: T | undefined): void {
    const before = this.store.delete(key)
    if (!before) return
    for (const r of this.handlers) this.call(r, () => r.handler.onDelete?.(last ?? before, last === undefined))
  }
}
