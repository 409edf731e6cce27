import type { DeleteOptions, Status } from '../apimachinery/meta/v1/types.generated.ts'
import type { KubeList, KubeObject, ResourceHandle } from '../apimachinery/object.ts'

/**
 * The one way components reach the API, over HTTPS or in-process alike. Objects that come back are shared and frozen:
 * copy before changing (`deepCopy`). Objects handed in change owner: do not touch them afterwards. Failures are
 * `StatusError`s; a server that cannot be reached rejects with `ConnectionError`.
 */
export interface Client {
  resource<T extends KubeObject>(handle: ResourceHandle<T>): ResourceClient<T>
  /** Any path of the server, for discovery, health, logs and non-resource URLs. Does not throw on error codes. */
  raw(request: RawRequest): Promise<RawResponse>
}

export interface ResourceClient<T extends KubeObject> {
  /** The same resource in one namespace; without it list and watch go over all namespaces. */
  namespace(namespace: string | undefined): ResourceClient<T>
  get(name: string, options?: GetOptions): Promise<T>
  list(options?: ListOptions): Promise<KubeList<T>>
  /** Resolves when the server has accepted the watch. */
  watch(options?: WatchOptions): Promise<Watch<T>>
  create(object: T, options?: WriteOptions): Promise<T>
  update(object: T, options?: WriteOptions): Promise<T>
  updateStatus(object: T, options?: WriteOptions): Promise<T>
  /** @param patch the patch as a value (not text); for `apply` the applied configuration */
  patch(name: string, type: PatchType, patch: unknown, options?: PatchOptions): Promise<T>
  delete(name: string, options?: DeleteOptions & RequestOptions): Promise<T | Status>
  deleteCollection(options?: DeleteOptions & ListOptions): Promise<void>
  /** POST to a subresource, such as a Pod's `binding` or a service account's `token`. */
  createSubresource<R extends KubeObject>(name: string, subresource: string, body: KubeObject, options?: WriteOptions): Promise<R>
  getSubresource<R extends KubeObject>(name: string, subresource: string, options?: RequestOptions): Promise<R>
  updateSubresource<R extends KubeObject>(name: string, subresource: string, body: KubeObject, options?: WriteOptions): Promise<R>
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface RequestOptions {
  signal?: AbortSignal
}

/** Reading options that ask for less than the whole object. */
export interface ProjectionOptions {
  /** Asks for `PartialObjectMetadata`: only apiVersion, kind and metadata come back. */
  metadataOnly?: boolean
}

export interface GetOptions extends RequestOptions, ProjectionOptions {
  resourceVersion?: string
}

export interface ListOptions extends RequestOptions, ProjectionOptions {
  labelSelector?: string
  fieldSelector?: string
  limit?: number
  continue?: string
  resourceVersion?: string
  resourceVersionMatch?: 'Exact' | 'NotOlderThan'
}

export interface WatchOptions extends RequestOptions, ProjectionOptions {
  labelSelector?: string
  fieldSelector?: string
  resourceVersion?: string
  allowWatchBookmarks?: boolean
  sendInitialEvents?: boolean
  timeoutSeconds?: number
}

export interface WriteOptions extends RequestOptions {
  dryRun?: boolean
  fieldManager?: string
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
}

export interface PatchOptions extends WriteOptions {
  force?: boolean
  subresource?: string
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

export interface WatchEvent<T extends KubeObject = KubeObject> {
  type: WatchEventType
  /** For ERROR a Status. */
  object: T
}

/** A running watch: iterate it; the iteration ends when the server ends it or `stop` is called. */
export interface Watch<T extends KubeObject = KubeObject> extends AsyncIterable<WatchEvent<T>> {
  stop(): void
}

export interface RawRequest extends RequestOptions {
  method?: string
  /** Path with query. */
  path: string
  headers?: Record<string, string>
  body?: Uint8Array | string
}

export interface RawResponse {
  status: number
  headers: Record<string, string>
  text(): Promise<string>
  /** The body as it arrives. */
  stream(): AsyncIterable<Uint8Array>
}

/** The server was not reached (refused, reset, name not found): whether the request was carried out is unknown. */
export class ConnectionError extends Error {
  /** The platform's code, such as ECONNREFUSED. */
  readonly code: string
  constructor(message: string, code: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ConnectionError'
    this.code = code
  }
}
