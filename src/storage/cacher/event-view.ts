import type { StorageEvent, StorageWatchOptions, StoredObject } from '../interface.ts'
import { nameOfKey, scope } from '../object-storage.ts'
import type { CacheEvent } from './event-ring.ts'

/** What of a resource's events a watch sees: its scope and its filter. */
export class EventView {
  /** The keys [start, end) it looks at. */
  readonly start: string
  readonly end: string
  /** Views of the same name see the same; undefined: nobody can tell. */
  readonly name: string | undefined
  private readonly named: string | undefined
  private readonly filter: ((object: StoredObject) => boolean) | undefined

  constructor(options: Pick<StorageWatchOptions, 'namespace' | 'name' | 'filter' | 'filterName'>) {
    const range = scope(options)
    this.start = range.start
    this.end = range.end
    this.named = options.name !== undefined && !options.namespace ? options.name : undefined
    this.filter = options.filter
    const filter = options.filter ? options.filterName : ''
    this.name = filter === undefined ? undefined : [range.start, range.end, this.named ?? '', filter].join('\0')
  }

  covers(key: string): boolean {
    return key >= this.start && (this.end === '\0' || key < this.end) && (this.named === undefined || nameOfKey(key) === this.named)
  }

  accepts(object: StoredObject): boolean {
    return !this.filter || this.filter(object)
  }

  /** The event as it is seen here; undefined when it is not. */
  see(event: CacheEvent): StorageEvent | undefined {
    if (!this.covers(event.key)) return undefined
    const had = event.previous !== undefined && this.accepts(event.previous)
    const has = event.object !== undefined && this.accepts(event.object)
    return event.as(had, has)
  }
}
