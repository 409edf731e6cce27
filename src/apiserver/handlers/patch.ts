import { newBadRequest, newConflict, newUnsupportedMediaType, StatusError } from '../../apimachinery/errors.ts'
import { apiVersionOf, type KubeObject } from '../../apimachinery/object.ts'
import { applyJSONPatch, applyMergePatch, applyStrategicMergePatch } from '../../apimachinery/patch/index.ts'
import { deepCopy } from '../../base/deep-freeze.ts'
import { type DecodedPatch, expectedOf } from '../codec/codec.ts'
import { bodyTypeOf, routerUnsupportedMediaType } from '../codec/content-type.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { SubresourceStrategy } from '../registry/strategy.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { parseWriteRequest, type WriteRequest } from '../request/write-options.ts'
import { optionsObject, prepareNew, toDefaultedStorage, warnDuplicateOwners } from './create.ts'
import {
  AdmissionGate,
  authorizeCreate,
  checkTarget,
  ensureName,
  type HandlerEnvironment,
  managerOf,
  readBody,
  type Target,
  writeScope,
} from './request-scope.ts'

export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'

const BUILT_IN_TYPES = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
const CUSTOM_TYPES = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]

/** PATCH of an object or of one of its object-shaped subresources. */
export async function handlePatch(environment: HandlerEnvironment, target: Target, subresource?: SubresourceStrategy): Promise<ApiResponse> {
  const { context, endpoint } = target
  const type = patchType(target)
  checkTarget(endpoint, target.namespace, target.name)
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const given = context.request.object
  const bytes = await readBody(environment, context)
  const options = parseWriteRequest(context, 'PatchOptions', type === APPLY_PATCH)
  const patch = new Patch(environment, target, type, options, bytes, given)
  const store = endpoint.store as ResourceStore
  const gate = new AdmissionGate(environment, target, optionsObject('PatchOptions', options, context.query.get('fieldManager')), options.dryRun)
  const manager = managerOf(context, options)
  const written = await store.update(writeScope(environment, target, 'patch', options.dryRun), target.namespace, target.name, {
    transform: async (old) => {
      if (!old) {
        const made = patch.applyToNothing(manager)
        return (await prepareNew(environment, target, made, manager, options.dryRun, optionsObject('CreateOptions', options, undefined), true)).object
      }
      let object = patch.applyTo(old, manager)
      warnDuplicateOwners(target, object, false)
      if (type !== APPLY_PATCH) object = environment.managedFields.update(endpoint, old, object, manager, target.subresource)
      object = (await gate.admit('UPDATE', object, old)) as KubeObject
      warnDuplicateOwners(target, object, true)
      return object
    },
    validateCreate: (object) => new AdmissionGate(environment, target, {}, options.dryRun).validate('CREATE', object),
    validateUpdate: (object, old) => gate.validate('UPDATE', object, old),
    authorizeCreate: () => authorizeCreate(environment, context),
    forceCreate: type === APPLY_PATCH && subresource === undefined,
    noCreate: type !== APPLY_PATCH,
    ...(subresource ? { subresource } : {}),
  })
  const status = written.created ? 201 : 200
  if (written.stored) return environment.responder.stored(context, endpoint, form, status, written.stored)
  return environment.responder.object(context, endpoint, form, status, endpoint.fromStorage(written.object))
}

function patchType(target: Target): string {
  const type = bodyTypeOf(target.context.request.headers['content-type']) ?? ''
  const { custom } = target.endpoint
  if (custom) {
    if (CUSTOM_TYPES.includes(type)) return type
    throw newUnsupportedMediaType(`the body of the request was in an unknown format - accepted media types include: ${CUSTOM_TYPES.join(', ')}`)
  }
  if (!BUILT_IN_TYPES.includes(type)) throw routerUnsupportedMediaType()
  return type
}

/** One patch, decoded once and applied to as many states as races make necessary. */
class Patch {
  private readonly environment: HandlerEnvironment
  private readonly target: Target
  private readonly type: string
  private readonly options: WriteRequest
  private readonly bytes: Uint8Array | undefined
  private decoded: DecodedPatch | undefined

  constructor(environment: HandlerEnvironment, target: Target, type: string, options: WriteRequest, bytes: Uint8Array | undefined, given: unknown) {
    this.environment = environment
    this.target = target
    this.type = type
    this.options = options
    this.bytes = bytes
    if (bytes === undefined) this.decoded = { value: given, strictErrors: [] }
  }

  /** Read when first needed: a patch of what is not there never is. */
  private get patch(): DecodedPatch {
    this.decoded ??= this.environment.codec.patch(
      this.bytes as Uint8Array,
      this.type,
      expectedOf(this.target.endpoint),
      this.options.fieldValidation,
      this.warn,
    )
    return this.decoded
  }

  private warn = (text: string) => this.target.context.warn(text)

  /** @returns the new state in the stored version */
  applyTo(old: KubeObject, manager: string): KubeObject {
    const { endpoint } = this.target
    const spoken = endpoint.fromStorage(old)
    if (this.type === APPLY_PATCH) {
      const applied = this.applied()
      const merged = this.environment.managedFields.apply(endpoint, spoken, applied, manager, this.options.force === true, this.target.subresource)
      return this.finish(merged, spoken)
    }
    let patched: unknown
    if (this.type === JSON_PATCH) patched = applyJSONPatch(spoken, this.patch.value)
    else if (this.type === MERGE_PATCH) patched = applyMergePatch(spoken, this.patch.value)
    else patched = applyStrategicMergePatch(spoken, this.patch.value, endpoint.info.schema())
    return this.finish(this.withOwnersKept(patched, spoken) ?? this.decode(patched), spoken)
  }

  private decode(patched: unknown): KubeObject {
    return this.environment.codec.fromPatched(
      deepCopy(patched),
      this.type === STRATEGIC_PATCH ? { kind: 'strategic', patch: this.patch.value } : { kind: 'json' },
      expectedOf(this.target.endpoint),
      this.options.fieldValidation,
      this.warn,
      this.patch.strictErrors,
    )
  }

  /**
   * Decodes without the managedFields when the patch left them alone, and puts the stored ones back: they are much of a small object.
   * Undefined when that cannot be done; what is wrong with the object is told by decoding all of it.
   */
  private withOwnersKept(patched: unknown, old: KubeObject): KubeObject | undefined {
    const owners = old.metadata.managedFields
    const whole = patched as KubeObject | null
    if (!owners || owners.length === 0 || whole?.metadata?.managedFields !== owners) return undefined
    const { managedFields: _, ...metadata } = whole.metadata
    try {
      const object = this.decode({ ...whole, metadata })
      object.metadata.managedFields = owners
      return object
    } catch (error) {
      if (error instanceof StatusError) return undefined
      throw error
    }
  }

  private finish(object: KubeObject, old: KubeObject): KubeObject {
    const { endpoint } = this.target
    if (object.metadata.name !== old.metadata.name) ensureName(this.target, object)
    if ((object.metadata.namespace ?? '') !== (old.metadata.namespace ?? '')) {
      if ((object.metadata.namespace ?? '') === '') object.metadata.namespace = old.metadata.namespace as string
      else throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request')
    }
    return toDefaultedStorage(endpoint, object)
  }

  /** The object that apply makes where there is none. */
  applyToNothing(manager: string): KubeObject {
    const { endpoint } = this.target
    const applied = this.applied()
    if (applied.metadata.uid) {
      throw newConflict(
        endpoint.gr,
        this.target.name,
        `uid mismatch: the provided object specified uid ${applied.metadata.uid}, and no existing object was found`,
      )
    }
    const object = this.environment.managedFields.apply(endpoint, undefined, applied, manager, this.options.force === true, '')
    if (object.metadata.namespace === undefined && endpoint.info.namespaced) object.metadata.namespace = this.target.namespace
    return object
  }

  private applied(): KubeObject {
    const { endpoint } = this.target
    const value = (this.patch.value ?? {}) as KubeObject
    if (typeof value !== 'object' || Array.isArray(value)) {
      const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
      throw newBadRequest(
        `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
      )
    }
    const copy = deepCopy(value)
    copy.metadata ??= {} as never
    if (copy.kind !== endpoint.info.kind || copy.apiVersion !== apiVersionOf(endpoint.info)) return copy
    if (copy.metadata.name === undefined || copy.metadata.name === '') copy.metadata.name = this.target.name
    else ensureName(this.target, copy)
    const namespace = copy.metadata.namespace ?? ''
    if (endpoint.info.namespaced && namespace !== '' && namespace !== this.target.namespace) {
      throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request')
    }
    return copy
  }
}
