import { setMaxListeners } from 'node:events'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import { type Informer, type InformerContext, type InformerOptions, SharedInformer } from './informer.ts'

/** One informer per resource and scope, shared by everything that has this factory. */
export class InformerFactory {
  private readonly context: InformerContext
  private readonly informers = new Map<string, { informer: SharedInformer<KubeObject>; stop: AbortController | undefined; run?: Promise<void> }>()
  private signal: AbortSignal | undefined

  constructor(context: InformerContext) {
    this.context = context
  }

  /** The shared informer of a resource; one asked for after `start` starts at once. */
  informer<T extends KubeObject>(handle: ResourceHandle<T>, options: InformerOptions = {}): Informer<T> {
    const key = informerKey(handle, options)
    let entry = this.informers.get(key)
    if (!entry) {
      entry = { informer: new SharedInformer<KubeObject>(this.context, handle, options), stop: undefined }
      this.informers.set(key, entry)
      this.launch(entry)
    }
    return entry.informer as unknown as Informer<T>
  }

  /** Whether somebody has asked for this informer already. */
  has(handle: ResourceHandle, options: InformerOptions = {}): boolean {
    return this.informers.has(informerKey(handle, options))
  }

  /** Starts what was asked for so far, and from now on what is asked for later; all of it ends with the signal. */
  start(signal: AbortSignal): void {
    if (this.signal) return
    this.signal = signal
    // Each watch and each queue listens to it; that many listeners are no leak.
    setMaxListeners(0, signal)
    for (const entry of this.informers.values()) this.launch(entry)
  }

  /** Resolves when all informers asked for so far have synced; rejects with the signal's reason. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.informers.values()].map((e) => e.informer.waitForSync(signal)))
  }

  /** Stops one informer and forgets it: for resources that are no longer served. */
  async stop(handle: ResourceHandle, options: InformerOptions = {}): Promise<void> {
    const key = informerKey(handle, options)
    const entry = this.informers.get(key)
    if (!entry) return
    this.informers.delete(key)
    entry.stop?.abort(new Error('informer stopped'))
    await entry.run
  }

  /** Resolves when every informer has ended, which they do after the signal's abort. */
  async stopped(): Promise<void> {
    await Promise.all([...this.informers.values()].map((e) => e.run))
  }

  private launch(entry: { informer: SharedInformer<KubeObject>; stop: AbortController | undefined; run?: Promise<void> }): void {
    const { signal } = this
    if (!signal || entry.run) return
    const stop = new AbortController()
    setMaxListeners(0, stop.signal)
    entry.stop = stop
    const onAbort = () => stop.abort(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    entry.run = entry.informer.run(stop.signal).finally(() => signal.removeEventListener('abort', onAbort))
  }
}

function informerKey(handle: ResourceHandle, options: InformerOptions): string {
  const { namespace = '', labelSelector = '', fieldSelector = '', metadataOnly = false } = options
  return [handle.group, handle.version, handle.resource, namespace, labelSelector, fieldSelector, metadataOnly].join('|')
}
