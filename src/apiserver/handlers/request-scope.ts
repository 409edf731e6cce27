import type { ResourceInfo } from '../../api/scheme.ts'
import { newBadRequest, newNotFound } from '../../apimachinery/errors.ts'
import type { GroupVersionKind, GroupVersionResource, KubeObject } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { StructSchema } from '../../apimachinery/schema/schema.ts'
import { isPathSegmentName } from '../../apimachinery/validation/names.ts'
import type { AdmissionAttributes, AdmissionOperation } from '../admission/admission.ts'
import type { AdmissionChain } from '../admission/chain.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import { forbiddenError } from '../authorization/refusal.ts'
import type { Codec } from '../codec/codec.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { attributesOf } from '../filters/with-authorization.ts'
import type { ManagedFields } from '../managed-fields/managed-fields.ts'
import type { Responder } from '../negotiation/respond.ts'
import { RequestStrategyContext, type WriteEnvironment } from '../registry/strategy-context.ts'
import type { WriteScope } from '../registry/write.ts'
import type { RequestContext } from '../request/context.ts'
import type { WriteRequest } from '../request/write-options.ts'

export const BODY_LIMIT = 3 * 1024 * 1024

/** What all handlers of a server share. */
export interface HandlerEnvironment extends WriteEnvironment {
  readonly responder: Responder
  readonly codec: Codec
  readonly admission: AdmissionChain
  readonly authorizer: Authorizer
  readonly managedFields: ManagedFields
  /** Shape of autoscaling/v1 Scale. */
  scaleSchema(): StructSchema
  schemaOf(gvk: GroupVersionKind): StructSchema
}

/** One resource request on its way through a handler. */
export interface Target {
  readonly context: RequestContext
  readonly endpoint: Endpoint
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

/** The bytes of a body, with the parser for them loaded; undefined when an object was handed over. */
export async function readBody(environment: HandlerEnvironment, context: RequestContext): Promise<Uint8Array | undefined> {
  const { request } = context
  if (request.object !== undefined) return undefined
  const bytes = await request.readBody(BODY_LIMIT)
  const loading = environment.codec.prepare(request.headers['content-type'])
  if (loading) await loading
  return bytes
}

/** Refuses names that could reach another key of the store. */
export function checkTarget(endpoint: Endpoint, namespace: string, name: string | undefined): void {
  if (name !== undefined) {
    if (name === '') throw newBadRequest('Name parameter required.')
    const problems = isPathSegmentName(name)
    if (problems.length > 0) throw newBadRequest(`Name parameter invalid: ${quote(name)}: ${problems.join(';')}`)
  }
  if (endpoint.info.namespaced && namespace !== '') {
    const problems = isPathSegmentName(namespace)
    if (problems.length > 0) throw newNotFound(endpoint.gr, name ?? '')
  }
}

/** The body of a write names the same namespace as the path, or none. */
export function ensureNamespace(endpoint: Endpoint, namespace: string, object: KubeObject): void {
  const own = object.metadata.namespace ?? ''
  if (!endpoint.info.namespaced) {
    if (own !== '') delete object.metadata.namespace
    return
  }
  if (own === '') object.metadata.namespace = namespace
  else if (own !== namespace) throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request')
}

/** The body of an update names the same object as the path. */
export function ensureName(target: Target, object: KubeObject): void {
  const name = object.metadata.name ?? ''
  if (name === '') throw newBadRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`)
  if (name !== target.name) throw newBadRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`)
  const namespace = object.metadata.namespace ?? ''
  if (target.endpoint.info.namespaced && namespace !== '' && namespace !== target.namespace) {
    throw newBadRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}

export function writeScope(environment: HandlerEnvironment, target: Target, verb: string, dryRun: boolean): WriteScope {
  const { context } = target
  return {
    context: new RequestStrategyContext(environment, context.user, target.namespace, dryRun, target.endpoint.info),
    dryRun,
    meta: { user: context.user.name, userAgent: context.userAgent, verb, auditID: context.auditID },
    warn: (text) => context.warn(text),
  }
}

/** The manager of a write: what the caller says, else the first part of its User-Agent. */
export function managerOf(context: RequestContext, options: WriteRequest): string {
  if (options.fieldManager !== '') return options.fieldManager
  const agent = context.userAgent
  const slash = agent.indexOf('/')
  let name = slash < 0 ? agent : agent.slice(0, slash)
  if (UNPRINTABLE.test(name)) name = name.replaceAll(UNPRINTABLE_ALL, '')
  while (Buffer.byteLength(name) > 128) name = name.slice(0, -1)
  return name === '' ? 'unknown' : name
}
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u
const UNPRINTABLE_ALL = /[\p{C}\p{Zl}\p{Zp}]/gu

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const resources = new WeakMap<ResourceInfo, GroupVersionResource>()

/** The same object for the same resource: what the chain finds out about it, it remembers by the object. */
function resourceOf(info: ResourceInfo): GroupVersionResource {
  let found = resources.get(info)
  if (!found) {
    found = { group: info.group, version: info.version, resource: info.resource }
    resources.set(info, found)
  }
  return found
}

/** Admission of one write, bound to its request. */
export class AdmissionGate {
  private readonly environment: HandlerEnvironment
  private readonly target: Target
  private readonly options: Record<string, unknown>
  private readonly dryRun: boolean
  private readonly kind: GroupVersionKind
  private readonly subresource: string

  constructor(environment: HandlerEnvironment, target: Target, options: Record<string, unknown>, dryRun: boolean, kind?: GroupVersionKind) {
    this.environment = environment
    this.target = target
    this.options = options
    this.dryRun = dryRun
    this.kind = kind ?? target.endpoint.storageInfo
    this.subresource = target.subresource
  }

  private attributes(operation: AdmissionOperation, object: KubeObject | undefined, old: KubeObject | undefined): AdmissionAttributes {
    const { context, endpoint } = this.target
    const { info } = endpoint
    const attributes: Mutable<AdmissionAttributes> = {
      operation,
      resource: resourceOf(info),
      kind: { group: this.kind.group, version: this.kind.version, kind: this.kind.kind },
      subresource: this.subresource,
      namespace: info.namespaced
        ? this.target.namespace
        : info.resource === 'namespaces' && info.group === ''
          ? (object?.metadata.name ?? this.target.name)
          : '',
      name: this.target.name !== '' ? this.target.name : (object?.metadata.name ?? ''),
      options: this.options,
      user: context.user,
      dryRun: this.dryRun,
      annotate: (key, value) => context.annotate(key, value),
      warn: (message) => context.warn(message),
    }
    if (object) attributes.object = object
    if (old) attributes.oldObject = old
    return attributes
  }

  /** Mutation; returns the object, which may be another than the one handed in. */
  admit(operation: AdmissionOperation, object: KubeObject | undefined, old?: KubeObject): Promise<KubeObject | undefined> | KubeObject | undefined {
    const chain = this.environment.admission
    if (!chain.mutates(operation)) return object
    const attributes = this.attributes(operation, object, old)
    const pending = chain.admit(attributes)
    return pending ? pending.then(() => attributes.object) : attributes.object
  }

  validate(operation: AdmissionOperation, object: KubeObject | undefined, old?: KubeObject): Promise<void> | undefined {
    const chain = this.environment.admission
    return chain.validates(operation) ? chain.validate(this.attributes(operation, object, old)) : undefined
  }
}

/** Update may create here: that wants the right to create. */
export async function authorizeCreate(environment: HandlerEnvironment, context: RequestContext): Promise<void> {
  const attributes = { ...attributesOf(context), verb: 'create' }
  const decision = await environment.authorizer.authorize(attributes)
  if (decision.decision !== 'allow') throw forbiddenError(attributes, decision.reason)
}
