import type { ResourceInfo } from '../../api/scheme.ts'
import type { GroupResource, GroupVersionKind, KubeObject } from '../../apimachinery/object.ts'
import type { StructSchema } from '../../apimachinery/schema/schema.ts'
import type { MediaType } from '../negotiation/accept.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { KindRegistration, ScaleFields, SubresourceStrategy, TableColumns } from '../registry/strategy.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'

/** One served resource of one group version, with everything a handler needs. */
export interface Endpoint {
  /** The version that is spoken. */
  readonly info: ResourceInfo
  /** The version that is stored; equal to `info` for most. */
  readonly storageInfo: ResourceInfo
  readonly gr: GroupResource
  readonly registration: KindRegistration | undefined
  /** Absent for resources without storage. */
  readonly store?: ResourceStore
  readonly virtual?: VirtualKind
  readonly subresources: ReadonlyMap<string, SubresourceEndpoint>
  readonly columns?: TableColumns
  /** Media types of bodies and answers. */
  readonly mediaTypes: readonly MediaType[]
  readonly custom: boolean
  /** What bodies are decoded by, when that is looser than the kind's shape. */
  bodySchema?(): StructSchema
  /** Drops what the kind does not know from a decoded object and fills defaults, in place; returns the paths of unknown fields. */
  coerce?(object: Record<string, unknown>): string[]
  /** Warning sent with every answer of a deprecated version. */
  readonly deprecation?: string
  /** Bytes that every stored value of the kind begins with; list items leave the kind out. */
  readonly head: Uint8Array
  /** To and from the stored version; identity when it is the spoken one. */
  toStorage(obj: KubeObject): KubeObject
  fromStorage(obj: KubeObject): KubeObject
  readonly converts: boolean
  /** Fields beside metadata that the kind prints even when empty; bookmarks show them. */
  readonly zero: Readonly<Record<string, unknown>>
}

export type SubresourceEndpoint =
  | { readonly kind: 'object'; readonly strategy: SubresourceStrategy; readonly verbs: readonly string[] }
  | { readonly kind: 'scale'; readonly fields: ScaleFields; readonly verbs: readonly string[] }
  | { readonly kind: 'create'; readonly handler: CreateSubresource; readonly gvk: GroupVersionKind; readonly verbs: readonly string[] }
  | { readonly kind: 'connect'; readonly handler: ConnectHandler; readonly gvk: GroupVersionKind; readonly verbs: readonly string[] }

/** A subresource that is only posted to: binding, eviction, token. */
export interface CreateSubresource {
  /** Fills defaults of the body in place; a handler with it answers with the object, and its fields are given owners. */
  defaults?(object: KubeObject): void
  /** The answer's object, sent with 201. */
  create(call: SubresourceCall): Promise<KubeObject>
}

export interface SubresourceCall {
  readonly context: RequestContext
  readonly endpoint: Endpoint
  readonly namespace: string
  /** Of the parent. */
  readonly name: string
  /** The decoded body, owned by the handler. */
  readonly object: KubeObject
  readonly dryRun: boolean
  /** Validating admission for the final body. */
  validate(object: KubeObject): Promise<void>
}

/** A subresource that takes over the request: logs, exec, attach, port-forward, proxy. */
export interface ConnectHandler {
  connect(call: ConnectCall): Promise<ApiResponse>
}

export interface ConnectCall {
  readonly context: RequestContext
  readonly endpoint: Endpoint
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  /** What follows the subresource in the path, with a leading slash when there was one. */
  readonly path: string
}

/** A resource that is computed or only asked: reviews, component statuses. */
export interface VirtualKind {
  readonly columns?: TableColumns
  create?(call: VirtualCall): Promise<KubeObject>
  get?(call: { context: RequestContext; endpoint: Endpoint; namespace: string; name: string }): Promise<KubeObject>
  list?(call: { context: RequestContext; endpoint: Endpoint; namespace: string }): Promise<KubeObject[]>
}

export interface VirtualCall {
  readonly context: RequestContext
  readonly endpoint: Endpoint
  readonly namespace: string
  /** The decoded body, owned by the handler. */
  readonly object: KubeObject
  readonly dryRun: boolean
}
