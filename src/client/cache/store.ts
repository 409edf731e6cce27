import { type KubeObject, objectKey } from '../../apimachinery/object.ts'

/** The values under which an object is found in an index. */
export type IndexFunction<T> = (object: T) => readonly string[]

/** What readers of a cache see: shared, frozen objects. */
export interface Lister<T extends KubeObject> {
  /** By `namespace/name`, or `name` for cluster-scoped objects. */
  get(key: string): T | undefined
  list(): T[]
  /** Objects of one namespace; of all namespaces when it is undefined. */
  inNamespace(namespace: string | undefined): T[]
  /** Objects with this value in the named index. Throws when there is no such index. */
  byIndex(index: string, value: string): T[]
  keys(): IterableIterator<string>
  readonly size: number
}

export const NAMESPACE_INDEX = 'namespace'
/** Pods by `spec.nodeName`; those without a node are under `''`. */
export const NODE_NAME_INDEX = 'spec.nodeName'

/** The one writer's side of a cache; informers keep it to themselves. */
export class IndexedStore<T extends KubeObject> implements Lister<T> {
  private readonly objects = new Map<string, T>()
  private readonly indexers = new Map<string, IndexFunction<T>>()
  private readonly indices = new Map<string, Map<string, Map<string, T>>>()

  constructor() {
    this.addIndex(NAMESPACE_INDEX, (o) => (o.metadata.namespace ? [o.metadata.namespace] : []))
  }

  /** Adds an index, also to a filled store; the same name again keeps the first function. */
  addIndex(name: string, fn: IndexFunction<T>): void {
    if (this.indexers.has(name)) return
    this.indexers.set(name, fn)
    const index = new Map<string, Map<string, T>>()
    this.indices.set(name, index)
    for (const [key, object] of this.objects) insert(index, fn(object), key, object)
  }

  get size(): number {
    return this.objects.size
  }

  get(key: string): T | undefined {
    return this.objects.get(key)
  }

  list(): T[] {
    return [...this.objects.values()]
  }

  keys(): IterableIterator<string> {
    return this.objects.keys()
  }

  inNamespace(namespace: string | undefined): T[] {
    return namespace === undefined ? this.list() : this.byIndex(NAMESPACE_INDEX, namespace)
  }

  byIndex(index: string, value: string): T[] {
    const map = this.indices.get(index)
    if (!map) throw new Error(`cache: no index ${index}`)
    const found = map.get(value)
    return found ? [...found.values()] : []
  }

  /** Returns what was there before. */
  set(object: T): T | undefined {
    const key = objectKey(object)
    const before = this.objects.get(key)
    this.objects.set(key, object)
    for (const [name, fn] of this.indexers) {
      const index = this.indices.get(name) as Map<string, Map<string, T>>
      if (before) remove(index, fn(before), key)
      insert(index, fn(object), key, object)
    }
    return before
  }

  delete(key: string): T | undefined {
    const before = this.objects.get(key)
    if (!before) return undefined
    this.objects.delete(key)
    for (const [name, fn] of this.indexers) remove(this.indices.get(name) as Map<string, Map<string, T>>, fn(before), key)
    return before
  }
}

function insert<T>(index: Map<string, Map<string, T>>, values: readonly string[], key: string, object: T): void {
  for (const value of values) {
    let set = index.get(value)
    if (!set) index.set(value, (set = new Map()))
    set.set(key, object)
  }
}

function remove<T>(index: Map<string, Map<string, T>>, values: readonly string[], key: string): void {
  for (const value of values) {
    const set = index.get(value)
    if (!set) continue
    set.delete(key)
    if (set.size === 0) index.delete(value)
  }
}
