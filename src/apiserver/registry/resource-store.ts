import type { ResourceInfo } from '../../api/scheme.ts'
import {
  newAlreadyExists,
  newConflict,
  newGenerateNameConflict,
  newInvalid,
  newNotFound,
  OPTIMISTIC_LOCK_TEXT,
  StatusError,
} from '../../apimachinery/errors.ts'
import { type ErrorList, FieldPath, invalid } from '../../apimachinery/field.ts'
import { zeroStruct } from '../../apimachinery/json/index.ts'
import type { DeleteOptions } from '../../apimachinery/meta/v1/types.generated.ts'
import type { GroupResource, KubeObject } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { nameIsPathSegment, type ObjectNameRule, objectNameRule } from '../../apimachinery/validation/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '../../apimachinery/validation/object-meta.ts'
import { deepCopy, deepEqual, deepFreeze } from '../../base/deep-freeze.ts'
import { KeyExistsError, type ObjectStorage, type StoredObject, type WriteMeta } from '../../storage/interface.ts'
import { checkDeletePreconditions, isReadyToGo, planDeletion } from './deletion.ts'
import { type ResolvedStrategy, resolveStrategy } from './generic-strategy.ts'
import { generateName, orderedMetadata, wipeSystemFields } from './metadata.ts'
import type { Strategy } from './strategy.ts'
import type { WriteEnvironment } from './strategy-context.ts'
import { DryRunResult, type HeldReservation, MOVED, NewObject, RemoveInstead, StoredResult, type UpdateHooks, type WriteScope, type Written } from './write.ts'

const METADATA = FieldPath.root('metadata')
const CREATE_ATTEMPTS = 8

export interface ResourceStoreOptions {
  readonly info: ResourceInfo
  readonly storage: ObjectStorage
  readonly strategy: Strategy
  readonly environment: WriteEnvironment
  readonly ttlSeconds?: number
  /** Custom resources may have finalizers without a domain. @default true */
  readonly standardFinalizers?: boolean
}

/** Writing and reading the objects of one resource, in their storage version. */
export class ResourceStore {
  readonly info: ResourceInfo
  readonly storage: ObjectStorage
  readonly strategy: ResolvedStrategy
  private readonly gr: GroupResource
  private readonly environment: WriteEnvironment
  private readonly nameRule: ObjectNameRule
  private readonly ttlSeconds: number | undefined
  private readonly standardFinalizers: boolean

  constructor(options: ResourceStoreOptions) {
    this.info = options.info
    this.storage = options.storage
    this.strategy = resolveStrategy(options.info, options.strategy)
    this.gr = { group: options.info.group, resource: options.info.resource }
    this.environment = options.environment
    this.nameRule = objectNameRule(this.strategy.nameRule)
    this.ttlSeconds = options.ttlSeconds
    this.standardFinalizers = options.standardFinalizers ?? true
  }

  key(namespace: string, name: string): string {
    return this.info.namespaced ? `${namespace}/${name}` : name
  }

  /** @param resourceVersion as in ObjectStorage.get */
  async get(namespace: string, name: string, resourceVersion?: number): Promise<StoredObject> {
    const found = await this.storage.get(this.key(namespace, name), resourceVersion)
    if (!found) throw newNotFound(this.gr, name)
    return found
  }

  /** Stores a new object; `object` is owned by the store from here on. */
  async create(scope: WriteScope, object: KubeObject, validateAdmission?: (object: KubeObject) => Promise<void> | void): Promise<Written> {
    const version = object.metadata.resourceVersion
    if (version) {
      if (!scope.dryRun && UINT.test(version) && Number(version) !== 0) {
        throw new StatusError({ code: 500, reason: '', message: 'resourceVersion should not be set on objects to be created' })
      }
      if (!scope.dryRun) delete object.metadata.resourceVersion
    }
    if (object.metadata.name || !object.metadata.generateName) return this.createOnce(scope, object, validateAdmission, false)
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= CREATE_ATTEMPTS
      const copy = last ? object : deepCopy(object)
      try {
        return await this.createOnce(scope, copy, validateAdmission, true)
      } catch (error) {
        if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists' || last) throw error
      }
    }
  }

  private async createOnce(
    scope: WriteScope,
    object: KubeObject,
    validateAdmission: ((object: KubeObject) => Promise<void> | void) | undefined,
    generated: boolean,
  ): Promise<Written> {
    const meta = object.metadata
    const strategy = this.strategy
    wipeSystemFields(meta)
    meta.uid = scope.context.uuid()
    meta.creationTimestamp = formatTime(scope.context.now())
    if (!this.info.namespaced) delete meta.namespace
    if (strategy.generationMode === 'spec') {
      if (this.startsGeneration()) meta.generation = 1
      else delete meta.generation
    }
    if (generated) meta.name = generateName(this.environment.random, meta.generateName as string)
    if (strategy.statusOnMain === 'drop') this.dropStatus(object)
    if (!strategy.reserve) return this.storeNew(scope, object, validateAdmission, generated)
    const reservation = await strategy.reserve(object as never, undefined, scope.context)
    try {
      const written = await this.storeNew(scope, object, validateAdmission, generated)
      await reservation.commit()
      return written
    } catch (error) {
      await reservation.release()
      throw error
    }
  }

  private async storeNew(
    scope: WriteScope,
    object: KubeObject,
    validateAdmission: ((object: KubeObject) => Promise<void> | void) | undefined,
    generated: boolean,
  ): Promise<Written> {
    const meta = object.metadata
    const strategy = this.strategy
    strategy.prepareForCreate?.(object as never, scope.context)
    const errors: ErrorList = validateObjectMeta(
      meta,
      { namespaced: this.info.namespaced, nameRule: this.nameRule, standardFinalizers: this.standardFinalizers },
      METADATA,
    )
    const name = meta.name ?? ''
    if (strategy.validate) errors.push(...strategy.validate(object as never, scope.context))
    if (errors.length === 0) for (const m of nameIsPathSegment(name, false)) errors.push(invalid(METADATA.child('name'), name, m))
    if (errors.length > 0) throw newInvalid(this.info, name, errors)
    if (strategy.warningsOnCreate) for (const w of strategy.warningsOnCreate(object as never, scope.context)) scope.warn(w)
    strategy.canonicalize?.(object as never)
    await validateAdmission?.(object)
    object.metadata = orderedMetadata(meta)
    const key = this.key(meta.namespace ?? '', name)
    if (scope.dryRun) {
      const existing = await this.storage.get(key)
      if (existing) throw this.alreadyExists(existing.object, name, generated)
      return { object: deepFreeze(object), created: true }
    }
    try {
      const stored = await this.storage.create(key, object, this.writeMeta(scope))
      return new StoredResult(stored, true)
    } catch (error) {
      if (isTooLarge(error) && meta.managedFields) {
        // Ownership is worth less than the write: it is given up once before the write is.
        const { managedFields: _, ...rest } = object.metadata
        const stored = await this.storage.create(key, { ...object, metadata: rest }, this.writeMeta(scope))
        return new StoredResult(stored, true)
      }
      if (!(error instanceof KeyExistsError)) throw error
      const existing = await this.storage.get(key)
      throw this.alreadyExists(existing?.object, name, generated)
    }
  }

  private startsGeneration(): boolean {
    return !(this.info.resource === 'csidrivers' && this.info.group === 'storage.k8s.io')
  }

  private alreadyExists(existing: KubeObject | undefined, name: string, generated: boolean): StatusError {
    if (generated) return newGenerateNameConflict(this.gr, name, 1)
    const error = newAlreadyExists(this.gr, name)
    if (!existing?.metadata.deletionTimestamp) return error
    return new StatusError({ code: error.code, reason: error.reason, message: `object is being deleted: ${error.message}`, details: error.details as never })
  }

  private dropStatus(object: KubeObject): void {
    const fields = object as unknown as Record<string, unknown>
    const field = this.info.schema().byName.get('status')
    if (!field) {
      delete fields.status
      return
    }
    if (field.schema.kind === 'struct' && !field.pointer) {
      fields.status = zeroStruct(field.schema)
      return
    }
    if (field.pointer || field.omitempty) {
      if (Object.hasOwn(fields, 'status') && !isEmptyStruct(fields.status)) fields.status = {}
      return
    }
    fields.status = {}
  }

  /** Changes an object, or makes it where that is allowed. */
  async update(scope: WriteScope, namespace: string, name: string, hooks: UpdateHooks): Promise<Written> {
    const key = this.key(namespace, name)
    for (;;) {
      const held: HeldReservation | undefined = this.strategy.reserve && !hooks.subresource ? {} : undefined
      let committed = false
      try {
        const stored = await this.storage.update(
          key,
          async (current) => {
            if (!current) return this.createOnUpdate(scope, name, hooks)
            if (held?.reservation) {
              const { reservation } = held
              delete held.reservation
              await reservation.release()
            }
            const next = await this.nextState(scope, current.object, hooks, held)
            if (next === 'keep') {
              if (isReadyToGo(this.strategy, current.object, current.object)) throw new RemoveInstead(current.object, current.resourceVersion)
              if (scope.dryRun) throw new DryRunResult({ object: current.object })
              return 'keep'
            }
            if (isReadyToGo(this.strategy, next, current.object)) throw new RemoveInstead(next, current.resourceVersion)
            if (scope.dryRun) throw new DryRunResult({ object: deepFreeze(next) })
            return next
          },
          this.writeMeta(scope),
        )
        await held?.reservation?.commit()
        committed = true
        return new StoredResult(stored, false)
      } catch (signal) {
        if (!committed) await held?.reservation?.release()
        if (signal instanceof DryRunResult) return signal.written
        if (signal instanceof NewObject) return signal.written
        if (!(signal instanceof RemoveInstead)) throw signal
        const gone = await this.removeAt(scope, key, signal)
        if (gone) {
          if (!scope.dryRun) await this.strategy.afterDelete?.(signal.object as never)
          return { object: gone, removed: true }
        }
      }
    }
  }

  /** Removes the object if it is still as it was; false: somebody changed it meanwhile, begin again. */
  private async removeAt(scope: WriteScope, key: string, signal: RemoveInstead): Promise<KubeObject | undefined> {
    if (scope.dryRun) return signal.object
    let moved = false
    const before = await this.storage
      .delete(
        key,
        (current) => {
          if (current.resourceVersion !== signal.resourceVersion) {
            moved = true
            throw MOVED
          }
        },
        this.writeMeta(scope),
      )
      .catch((error) => {
        if (error === MOVED) return undefined
        throw error
      })
    if (moved) return undefined
    if (!before) return signal.object
    return deepFreeze(signal.object)
  }

  private async createOnUpdate(scope: WriteScope, name: string, hooks: UpdateHooks): Promise<never> {
    if (hooks.subresource || hooks.noCreate || !(this.strategy.allowCreateOnUpdate || hooks.forceCreate)) throw newNotFound(this.gr, name)
    await hooks.authorizeCreate?.()
    const object = await hooks.transform(undefined)
    delete object.metadata.resourceVersion
    // Creation is a transaction of its own; a race with another creator is told as such.
    throw new NewObject(await this.create(scope, object, hooks.validateCreate))
  }

  private async nextState(scope: WriteScope, old: KubeObject, hooks: UpdateHooks, held: HeldReservation | undefined): Promise<KubeObject | 'keep'> {
    const strategy = this.strategy
    const object = await hooks.transform(old)
    const meta = object.metadata
    const oldMeta = old.metadata
    const name = oldMeta.name as string
    if (meta.resourceVersion && !UINT.test(meta.resourceVersion)) {
      throw new StatusError({ code: 500, reason: '', message: `strconv.ParseUint: parsing ${quote(meta.resourceVersion)}: invalid syntax` })
    }
    if (!meta.resourceVersion || Number(meta.resourceVersion) === 0) {
      if (!strategy.allowUnconditionalUpdate) {
        throw newInvalid({ group: this.info.group, kind: this.info.resource }, name, [
          invalid(METADATA.child('resourceVersion'), 0, 'must be specified for an update'),
        ])
      }
      meta.resourceVersion = oldMeta.resourceVersion as string
    } else if (meta.resourceVersion !== oldMeta.resourceVersion) {
      throw newConflict(this.gr, name, OPTIMISTIC_LOCK_TEXT)
    }
    if (!this.info.namespaced) delete meta.namespace
    else meta.namespace ??= oldMeta.namespace as string
    keep(meta, oldMeta, 'generation')
    keep(meta, oldMeta, 'creationTimestamp')
    if (oldMeta.deletionTimestamp) meta.deletionTimestamp = oldMeta.deletionTimestamp
    if (oldMeta.deletionGracePeriodSeconds !== undefined) meta.deletionGracePeriodSeconds ??= oldMeta.deletionGracePeriodSeconds
    if (!meta.uid) keep(meta, oldMeta, 'uid')
    delete meta.selfLink
    if (hooks.subresource) {
      hooks.subresource.prepareForUpdate(object as never, old as never, scope.context)
      if (strategy.generationMode === 'spec' && oldMeta.generation === meta.generation && strategy.generationChanged(object as never, old as never, false)) {
        meta.generation = (oldMeta.generation ?? 0) + 1
      }
    } else {
      if (strategy.statusOnMain === 'drop') keepStatus(object, old)
      if (held && strategy.reserve) {
        held.reservation = await strategy.reserve(object as never, old as never, scope.context)
      }
      strategy.prepareForUpdate?.(object as never, old as never, scope.context)
      if (
        strategy.generationMode === 'spec' &&
        (meta.generation ?? 0) === (oldMeta.generation ?? 0) &&
        strategy.generationChanged(object as never, old as never, true)
      ) {
        meta.generation = (oldMeta.generation ?? 0) + 1
      }
    }
    let errors = validateObjectMetaUpdate(meta, oldMeta, METADATA, { standardFinalizers: this.standardFinalizers })
    if (errors.length > 0 && !hooks.subresource) errors = this.repeatedMetadataErrors(meta, oldMeta, errors)
    const more = hooks.subresource ? hooks.subresource.validateUpdate : strategy.validateUpdate
    if (more) errors.push(...more.call(hooks.subresource ?? strategy, object as never, old as never, scope.context))
    if (errors.length > 0) throw newInvalid(this.info, name, errors)
    const warnings = hooks.subresource ? hooks.subresource.warningsOnUpdate : strategy.warningsOnUpdate
    if (warnings) for (const w of warnings.call(hooks.subresource ?? strategy, object as never, old as never, scope.context)) scope.warn(w)
    strategy.canonicalize?.(object as never)
    await hooks.validateUpdate?.(object, old)
    object.metadata = orderedMetadata(meta)
    if (deepEqual(object, old)) return 'keep'
    return object
  }

  /**
   * Upstream checks metadata of an update in several places, and causes tell each time; the message shows each text once. The names of
   * finalizers are not among what the store's own check looks at.
   */
  private repeatedMetadataErrors(meta: KubeObject['metadata'], old: KubeObject['metadata'], found: ErrorList): ErrorList {
    const own = validateObjectMetaUpdate(meta, old, METADATA, { standardFinalizers: false })
    const times = this.strategy.metadataChecksOnUpdate
    if (times === 0) return [...own, ...found]
    const whole = validateObjectMeta(meta, { namespaced: this.info.namespaced, nameRule: this.nameRule, standardFinalizers: this.standardFinalizers }, METADATA)
    return [...own, ...own, ...Array.from({ length: times }, () => whole).flat()]
  }

  /**
   * Deletes, marks as being deleted, or leaves alone what already is.
   * @param validateAdmission sees the object as it is before anything happens to it
   */
  async delete(
    scope: WriteScope,
    namespace: string,
    name: string,
    options: DeleteOptions,
    validateAdmission?: (old: KubeObject) => Promise<void> | void,
  ): Promise<Written> {
    const key = this.key(namespace, name)
    const start = await this.get(namespace, name)
    let current = start
    let admitted = false
    let marked = false
    for (;;) {
      const object = current.object
      if (!marked) checkDeletePreconditions(this.info, object, options)
      if (!admitted) {
        await validateAdmission?.(object)
        admitted = true
      }
      const own = this.strategy.interceptDelete?.(object as never, options, scope.context) ?? 'delete'
      const step =
        own === 'delete'
          ? planDeletion(this.strategy, object, options, scope.context.now())
          : own === 'keep'
            ? ({ kind: 'keep' } as const)
            : ({ kind: 'update', object: own as KubeObject, thenRemove: false } as const)
      if (step.kind === 'keep') return { object, stored: current }
      if (step.kind === 'remove') {
        if (scope.dryRun) return { object, removed: true }
        let fresher: StoredObject | undefined
        const version = current.resourceVersion
        const gone = await this.storage
          .delete(
            key,
            (now) => {
              if (now.resourceVersion !== version) {
                fresher = now
                throw MOVED
              }
            },
            this.writeMeta(scope),
          )
          .catch((error) => {
            if (error === MOVED) return undefined
            throw error
          })
        if (fresher) {
          current = fresher
          continue
        }
        if (!gone) throw newNotFound(this.gr, name)
        await this.strategy.afterDelete?.(gone.object as never)
        return { object: gone.object, removed: true, stored: gone }
      }
      if (scope.dryRun) return { object: deepFreeze(step.object), ...(step.thenRemove ? { removed: true } : {}) }
      let moved: StoredObject | undefined
      const version = current.resourceVersion
      const stored = await this.storage
        .update(
          key,
          (now) => {
            if (!now) throw newNotFound(this.gr, name)
            if (now.resourceVersion !== version) {
              moved = now
              throw MOVED
            }
            return { ...step.object, metadata: orderedMetadata(step.object.metadata) }
          },
          this.writeMeta(scope),
        )
        .catch((error) => {
          if (error === MOVED) return undefined
          throw error
        })
      if (moved || !stored) {
        current = moved ?? (await this.get(namespace, name))
        continue
      }
      if (!step.thenRemove) return { object: stored.object, stored }
      // The mark is this very delete's doing: what it demanded of the object held before it.
      marked = true
      current = stored
    }
  }

  private writeMeta(scope: WriteScope): WriteMeta {
    return this.ttlSeconds === undefined ? scope.meta : { ...scope.meta, ttlSeconds: this.ttlSeconds }
  }
}

/** What a store says of a value beyond its limit; upstream knows it by this text too. */
function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message === 'etcdserver: request is too large'
}

const UINT = /^\d{1,20}$/

function keep<K extends string>(to: Partial<Record<K, unknown>>, from: Partial<Record<K, unknown>>, name: K): void {
  if (from[name] === undefined) delete to[name]
  else to[name] = from[name]
}

function keepStatus(object: KubeObject, old: KubeObject): void {
  const to = object as unknown as Record<string, unknown>
  const from = old as unknown as Record<string, unknown>
  if (from.status === undefined) delete to.status
  else to.status = from.status
}

function isEmptyStruct(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
