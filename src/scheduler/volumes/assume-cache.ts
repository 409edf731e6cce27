import { type KubeObject, objectKey } from '../../apimachinery/object.ts'
import type { Lister } from '../../client/cache/store.ts'
import type { ObjectCache } from '../framework/plugin.ts'

/**
 * An informer's objects with some of them as they are going to be: what one Pod was promised must not be offered to the next one while
 * the writes are under way. An assumed object counts as long as the informer still shows the version it was made from.
 */
export class AssumeCache<T extends KubeObject> implements ObjectCache<T> {
  private readonly lister: Lister<T>
  private readonly assumed = new Map<string, T>()

  constructor(lister: Lister<T>) {
    this.lister = lister
  }

  shown(key: string): T | undefined {
    return this.lister.get(key)
  }

  get(key: string): T | undefined {
    const shown = this.lister.get(key)
    const assumed = this.assumed.get(key)
    if (!assumed) return shown
    if (shown?.metadata.resourceVersion === assumed.metadata.resourceVersion) return assumed
    this.assumed.delete(key)
    return shown
  }

  assume(object: T): boolean {
    const key = objectKey(object)
    if (this.lister.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) return false
    this.assumed.set(key, object)
    return true
  }

  restore(key: string): void {
    this.assumed.delete(key)
  }
}
