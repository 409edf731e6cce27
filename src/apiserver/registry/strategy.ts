import type { ErrorList } from '../../apimachinery/field.ts'
import type { DeleteOptions, TableColumnDefinition } from '../../apimachinery/meta/v1/types.generated.ts'
import type { GroupVersion, GroupVersionKind, KubeObject } from '../../apimachinery/object.ts'
import type { UserInfo } from '../authentication/authenticator.ts'

/** What a strategy may know of the request it works for. */
export interface StrategyContext {
  readonly user: UserInfo | undefined
  readonly namespace: string
  readonly dryRun: boolean
  /** Group and version the client speaks; absent outside a request. Some kinds are stricter in their newer group. */
  readonly requestVersion?: GroupVersion
  /** ms since the epoch. */
  now(): number
  uuid(): string
  random(below: number): number
  isFeatureEnabled(gate: string): boolean
}

/**
 * Everything hand-made about writing one kind; the generic store calls it in the order of the methods here. Objects are
 * of the storage version, decoded and defaulted; `obj` may be changed in place until validation, `old` is frozen.
 *
 * create: defaults → prepareForCreate → validate → warningsOnCreate → canonicalize → stored
 * update: defaults → prepareForUpdate → validateUpdate → warningsOnUpdate → canonicalize → stored
 *
 * The generic store itself does what is the same for all kinds: system fields of metadata, generateName, ObjectMeta
 * validation, generation when `generation` says so, resourceVersion checks, finalizers and graceful deletion.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** Which name rule `metadata.name` obeys @default 'subdomain' */
  nameRule?: NameRule
  /** Objects may be made by PUT or PATCH on a missing name @default false */
  allowCreateOnUpdate?: boolean
  /** PUT without resourceVersion overwrites whatever is there @default true */
  allowUnconditionalUpdate?: boolean
  /**
   * `spec` counts changes of what `generationOf` returns (default: everything but metadata and status) in metadata.generation;
   * `none` leaves it alone. @default 'spec' for kinds with a status subresource, else 'none'
   */
  generation?: 'spec' | 'none'
  /** Fields cleared or kept by prepare: on create `status` is dropped, on update it is kept from old, unless the strategy says otherwise. */
  statusOnMain?: 'drop' | 'keep'

  /**
   * Takes what the object needs of shared pools (addresses, ports) before it is prepared and validated, and writes it into the object.
   * @param old absent on create; frozen
   * @throws StatusError when something is not to be had
   */
  reserve?(obj: T, old: T | undefined, context: StrategyContext): Promise<Reservation>
  /** The object is gone from the store: what it had of shared pools goes back. */
  afterDelete?(obj: T): Promise<void>

  /** Fills defaults of the versioned type in place (schema-driven ones are done already). */
  defaults?(obj: T): void
  prepareForCreate?(obj: T, context: StrategyContext): void
  validate?(obj: T, context: StrategyContext): ErrorList
  warningsOnCreate?(obj: T, context: StrategyContext): string[]

  prepareForUpdate?(obj: T, old: T, context: StrategyContext): void
  validateUpdate?(obj: T, old: T, context: StrategyContext): ErrorList
  warningsOnUpdate?(obj: T, old: T, context: StrategyContext): string[]

  /** Last touches after validation (sorting, dropping of derived fields). */
  canonicalize?(obj: T): void

  /** Graceful deletion: seconds to wait; undefined or absent method: deleted at once. */
  gracefulDeletionSeconds?(obj: T, options: DeleteOptions): number | undefined
  /** The propagation used when the options say nothing @default 'background' */
  defaultPropagation?(obj: T): 'orphan' | 'background'
  /** Told to the one who deletes, before it is done. */
  warningsOnDelete?(obj: T, options: DeleteOptions): string[]
  /** DELETE answers with the deleted object instead of a Status. */
  returnDeletedObject?: boolean

  /**
   * Takes part in a delete before the generic rules: `'delete'` goes on with them, `'keep'` answers with the object as it is, an object
   * is stored in its place (with the deletion marked by the method) and answered.
   */
  interceptDelete?(obj: T, options: DeleteOptions, context: StrategyContext): 'delete' | 'keep' | T
  /** More reasons than finalizers to keep an object whose deletion is under way. */
  holdsDeletion?(obj: T): boolean

  /** Extra field selectors beside metadata.name and metadata.namespace: label to value. */
  selectableFields?(obj: T): Record<string, string>
  /** All selectable labels, so that an unknown one is refused before any object is read. */
  selectableFieldLabels?: readonly string[] | ((group: string) => readonly string[])
}

/** What a write has taken of shared pools until its outcome is known; exactly one of the methods is called. */
export interface Reservation {
  /** The object is stored: what it no longer uses goes free. */
  commit(): Promise<void>
  /** It is not: what was taken for it goes free. */
  release(): Promise<void>
}

/** A second way to write the same objects, such as `status`: it picks what may change. */
export interface SubresourceStrategy<T extends KubeObject = KubeObject> {
  prepareForUpdate(obj: T, old: T, context: StrategyContext): void
  validateUpdate?(obj: T, old: T, context: StrategyContext): ErrorList
  warningsOnUpdate?(obj: T, old: T, context: StrategyContext): string[]
}

export type NameRule = 'label' | 'subdomain' | 'pathSegment' | 'dns1035' | 'none' | ((name: string, prefix: boolean) => string[])

export interface TableColumns<T extends KubeObject = KubeObject> {
  readonly columns: readonly TableColumnDefinition[]
  /** The cells of one object; `now` in ms for ages. Values are string, number, boolean or null. */
  cells(obj: T, now: number): unknown[]
  /** Conditions of the row, such as a Pod's Completed. */
  conditions?(obj: T): { type: string; status: string; reason?: string; message?: string }[]
}

/** Where a kind keeps what autoscaling/v1 Scale shows; paths are dotted, without a leading dot. */
export interface ScaleFields {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  /** A label selector as text or as LabelSelector object or label map; absent: the Scale shows none. */
  readonly labelSelectorPath?: string
}

/** One served resource with all that is special about it. Listed by name in registry/kinds.ts. */
export interface KindRegistration<T extends KubeObject = KubeObject> {
  readonly group: string
  readonly resource: string
  /** Version in which `strategy` sees objects and in which they are stored. */
  readonly storage: GroupVersionKind
  readonly strategy: Strategy<T>
  readonly status?: SubresourceStrategy<T>
  /** Other update-shaped subresources of the same object: `finalize`, `approval`, `ephemeralcontainers`, `resize`. */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy<T>>>
  readonly columns?: TableColumns<T>
  /** Converts between the storage version and another served version, when their shapes differ. */
  readonly convert?: (obj: KubeObject, to: GroupVersionKind) => KubeObject
  /** The `scale` subresource, read from and written to fields of the kind. */
  readonly scale?: ScaleFields
  /** Seconds after which objects of this kind expire (Events). */
  readonly ttlSeconds?: number
}
