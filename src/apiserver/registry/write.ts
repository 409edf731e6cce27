import type { KubeObject } from '../../apimachinery/object.ts'
import type { StoredObject, WriteMeta } from '../../storage/interface.ts'
import type { Reservation, StrategyContext, SubresourceStrategy } from './strategy.ts'

/** What one write brings along from its request. */
export interface WriteScope {
  readonly context: StrategyContext
  readonly dryRun: boolean
  readonly meta: WriteMeta
  warn(text: string): void
}

/** The outcome of a write: `stored` is absent for dry runs and for objects that are gone. */
export interface Written {
  readonly object: KubeObject
  readonly stored?: StoredObject
  readonly created?: boolean
  /** The object is no longer in the store. */
  readonly removed?: boolean
}

export interface UpdateHooks {
  /** Makes the new state out of the current one (undefined: there is none). Called again on a race. */
  transform(old: KubeObject | undefined): Promise<KubeObject> | KubeObject
  /** Runs on the final object before it is stored; throws to refuse. */
  validateCreate?(object: KubeObject): Promise<void> | void
  validateUpdate?(object: KubeObject, old: KubeObject): Promise<void> | void
  /** The subresource that is written. */
  subresource?: SubresourceStrategy
  /** Make it when missing, whatever the strategy says (server-side apply). */
  forceCreate?: boolean
  /** Never make it, whatever the strategy says (patches). */
  noCreate?: boolean
  /** The state to work on is allowed to be created by this caller; throws otherwise. */
  authorizeCreate?(): Promise<void> | void
}

/** Signals to leave the compare-and-swap loop: the object is to be removed instead of stored. */
export class RemoveInstead {
  readonly object: KubeObject
  readonly resourceVersion: number
  constructor(object: KubeObject, resourceVersion: number) {
    this.object = object
    this.resourceVersion = resourceVersion
  }
}

/** What the current attempt of an update has taken of shared pools. */
export interface HeldReservation {
  reservation?: Reservation
}

/** Carries the result of a dry run out of the compare-and-swap loop. */
export class DryRunResult {
  readonly written: Written
  constructor(written: Written) {
    this.written = written
  }
}

/** What was written, parsed only when somebody looks. */
export class StoredResult implements Written {
  readonly stored: StoredObject
  readonly created: boolean

  constructor(stored: StoredObject, created: boolean) {
    this.stored = stored
    this.created = created
  }

  get object(): KubeObject {
    return this.stored.object
  }
}

/** Carries an object made by an update out of the compare-and-swap loop. */
export class NewObject {
  readonly written: Written
  constructor(written: Written) {
    this.written = written
  }
}

/** Leaves a compare-and-swap loop whose object is another by now. */
export const MOVED = new Error('the object changed meanwhile')
