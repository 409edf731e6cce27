import { type KubeObject, objectKey } from '../apimachinery/object.ts'
import type { Clock } from '../base/index.ts'
import type { Informer } from '../client/cache/informer.ts'

const TIMEOUT_MS = 60_000

interface Written {
  owner: string
  version: bigint
  at: number
}

/**
 * Remembers a controller's own writes until its informer shows them, so that it does not act on what it knows to be out of
 * date. Versions of one resource are compared as numbers, which API servers promise since v1.35 (KEP-5504).
 */
export class WriteTracker<T extends KubeObject> {
  private readonly clock: Pick<Clock, 'monotonic'>
  private readonly pending = new Map<string, Written>()
  private readonly byOwner = new Map<string, Set<string>>()
  private readonly onSeen: (owner: string) => void
  private readonly informer: Informer<T>

  /** @param onSeen told when the last write for an owner has been seen */
  constructor(clock: Pick<Clock, 'monotonic'>, informer: Informer<T>, onSeen: (owner: string) => void) {
    this.clock = clock
    this.onSeen = onSeen
    this.informer = informer
    informer.addHandler({
      onAdd: (o) => this.seen(o),
      onUpdate: (_, o) => this.seen(o),
      onDelete: (o) => this.forget(objectKey(o)),
    })
  }

  written(owner: string, object: T): void {
    const version = versionOf(object)
    if (version === undefined) return
    const key = objectKey(object)
    // The watch may have been faster than the answer.
    const shown = this.informer.lister.get(key)
    const shownVersion = shown && versionOf(shown)
    if (shownVersion !== undefined && shownVersion >= version) return
    this.pending.set(key, { owner, version, at: this.clock.monotonic() })
    let keys = this.byOwner.get(owner)
    if (!keys) this.byOwner.set(owner, (keys = new Set()))
    keys.add(key)
  }

  /** Something written for the owner has not come back yet. A write that does not come back within a minute is given up. */
  stale(owner: string): boolean {
    const now = this.clock.monotonic()
    for (const key of [...(this.byOwner.get(owner) ?? [])]) {
      const entry = this.pending.get(key)
      if (entry && now - entry.at > TIMEOUT_MS) this.drop(key, entry)
    }
    return this.byOwner.has(owner)
  }

  private seen(object: T): void {
    const entry = this.pending.get(objectKey(object))
    const version = versionOf(object)
    if (entry && version !== undefined && version >= entry.version) this.forget(objectKey(object))
  }

  private forget(key: string): void {
    const entry = this.pending.get(key)
    if (!entry) return
    this.drop(key, entry)
    if (!this.byOwner.has(entry.owner)) this.onSeen(entry.owner)
  }

  private drop(key: string, entry: Written): void {
    this.pending.delete(key)
    const keys = this.byOwner.get(entry.owner)
    keys?.delete(key)
    if (keys?.size === 0) this.byOwner.delete(entry.owner)
  }
}

function versionOf(object: KubeObject): bigint | undefined {
  const text = object.metadata.resourceVersion
  return text !== undefined && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined
}
