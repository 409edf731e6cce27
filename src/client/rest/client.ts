import { isNotFound, StatusError } from '../../apimachinery/errors.ts'
import type { DeleteOptions, Status } from '../../apimachinery/meta/v1/types.generated.ts'
import { apiVersionOf, type KubeList, type KubeObject, type ResourceHandle } from '../../apimachinery/object.ts'
import { type Clock, systemClock } from '../../base/index.ts'
import {
  type Client,
  ConnectionError,
  type GetOptions,
  type ListOptions,
  type PatchOptions,
  type PatchType,
  type RawRequest,
  type RawResponse,
  type RequestOptions,
  type ResourceClient,
  type Watch,
  type WatchOptions,
  type WriteOptions,
} from '../client.ts'
import type { Transport, TransportRequest, TransportResponse } from '../transport.ts'
import { resourcePath, withQuery } from './paths.ts'
import { responseError } from './response-error.ts'

export interface RestClientOptions {
  userAgent?: string
  /** Waits for Retry-After, and lets a virtual clock know of requests under way. @default the system's */
  clock?: Clock
  /** How often a 429 or 503 with Retry-After is tried again. @default 10 */
  maxRetries?: number
  /** Sent with every request, such as Impersonate-User. */
  headers?: Record<string, string>
}

const PATCH_TYPES: Record<PatchType, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}
const JSON_TYPE = 'application/json'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const MAX_RETRY_AFTER_S = 60

interface Settings {
  transport: Transport
  clock: Clock
  maxRetries: number
  headers: Record<string, string>
}

/** A client over any transport: path building, options, Status errors, waiting where the server asks to. */
export function createClient(transport: Transport, options: RestClientOptions = {}): Client {
  const settings: Settings = {
    transport,
    clock: options.clock ?? systemClock(),
    maxRetries: options.maxRetries ?? 10,
    headers: { 'user-agent': options.userAgent ?? 'k8ts', ...options.headers },
  }
  return {
    resource: <T extends KubeObject>(handle: ResourceHandle<T>) => new RestResourceClient<T>(settings, handle, undefined),
    raw: (request) => raw(settings, request),
  }
}

function send(settings: Settings, request: TransportRequest): Promise<TransportResponse> {
  return settings.clock.track(settings.transport.send(request))
}

/** Sends; on 429 and 503 with Retry-After waits and sends again. Bodies are values, so a second sending is the same. */
async function sendPatiently(settings: Settings, request: TransportRequest): Promise<TransportResponse> {
  for (let attempt = 0; ; attempt++) {
    const response = await send(settings, request)
    if (response.status < 300) return response
    const after = Number(response.headers['retry-after'])
    const wait = (response.status === 429 || response.status >= 500) && Number.isFinite(after) && after >= 0 && response.headers['retry-after'] !== ''
    if (!wait || attempt >= settings.maxRetries) throw await responseError(response)
    await response.text().catch(() => '')
    await settings.clock.sleep(Math.min(after, MAX_RETRY_AFTER_S) * 1000, request.signal)
  }
}

async function raw(settings: Settings, request: RawRequest): Promise<RawResponse> {
  const { body } = request
  const response = await send(settings, {
    method: request.method ?? 'GET',
    path: request.path,
    headers: { ...settings.headers, ...request.headers },
    ...(body === undefined ? {} : { body: { bytes: typeof body === 'string' ? new TextEncoder().encode(body) : body } }),
    ...(request.signal ? { signal: request.signal } : {}),
  })
  return { status: response.status, headers: response.headers, text: () => response.text(), stream: () => response.stream() }
}

const writeQuery = (o: WriteOptions) => ({ dryRun: o.dryRun ? 'All' : undefined, fieldManager: o.fieldManager, fieldValidation: o.fieldValidation })

const listQuery = (o: ListOptions) => ({
  labelSelector: o.labelSelector,
  fieldSelector: o.fieldSelector,
  limit: o.limit,
  continue: o.continue,
  resourceVersion: o.resourceVersion,
  resourceVersionMatch: o.resourceVersionMatch,
})

class RestResourceClient<T extends KubeObject> implements ResourceClient<T> {
  private readonly settings: Settings
  private readonly handle: ResourceHandle<T>
  private readonly ns: string | undefined

  constructor(settings: Settings, handle: ResourceHandle<T>, namespace: string | undefined) {
    this.settings = settings
    this.handle = handle
    this.ns = namespace
  }

  namespace(namespace: string | undefined): ResourceClient<T> {
    return new RestResourceClient<T>(this.settings, this.handle, namespace)
  }

  get(name: string, options: GetOptions = {}): Promise<T> {
    const accept = options.metadataOnly ? METADATA : JSON_TYPE
    return this.call('GET', withQuery(this.path(name), { resourceVersion: options.resourceVersion }), { accept }, undefined, options.signal)
  }

  list(options: ListOptions = {}): Promise<KubeList<T>> {
    const accept = options.metadataOnly ? METADATA_LIST : JSON_TYPE
    return this.call('GET', withQuery(this.path(), listQuery(options)), { accept }, undefined, options.signal)
  }

  async watch(options: WatchOptions = {}): Promise<Watch<T>> {
    const path = withQuery(this.path(), {
      watch: true,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      allowWatchBookmarks: options.allowWatchBookmarks,
      sendInitialEvents: options.sendInitialEvents,
      resourceVersionMatch: options.sendInitialEvents ? 'NotOlderThan' : undefined,
      timeoutSeconds: options.timeoutSeconds,
    })
    const response = await sendPatiently(this.settings, {
      method: 'GET',
      path,
      headers: { ...this.settings.headers, accept: options.metadataOnly ? METADATA : JSON_TYPE },
      watch: true,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    if (!response.events) throw new ConnectionError('the transport gave no event stream for a watch', 'EPROTO')
    return response.events as unknown as Watch<T>
  }

  create(object: T, options: WriteOptions = {}): Promise<T> {
    return this.write('POST', withQuery(this.path(), writeQuery(options)), object, options.signal)
  }

  update(object: T, options: WriteOptions = {}): Promise<T> {
    return this.write('PUT', withQuery(this.path(object.metadata.name), writeQuery(options)), object, options.signal)
  }

  updateStatus(object: T, options: WriteOptions = {}): Promise<T> {
    return this.write('PUT', withQuery(this.path(object.metadata.name, 'status'), writeQuery(options)), object, options.signal)
  }

  patch(name: string, type: PatchType, patch: unknown, options: PatchOptions = {}): Promise<T> {
    const path = withQuery(this.path(name, options.subresource), { ...writeQuery(options), force: options.force })
    return this.call('PATCH', path, { accept: JSON_TYPE, 'content-type': PATCH_TYPES[type] }, patch, options.signal)
  }

  delete(name: string, options: DeleteOptions & RequestOptions = {}): Promise<T | Status> {
    return this.write('DELETE', this.path(name), deleteBody(options), options.signal)
  }

  async deleteCollection(options: DeleteOptions & ListOptions = {}): Promise<void> {
    await this.write('DELETE', withQuery(this.path(), listQuery(options)), deleteBody(options), options.signal)
  }

  createSubresource<R extends KubeObject>(name: string, subresource: string, body: KubeObject, options: WriteOptions = {}): Promise<R> {
    return this.write('POST', withQuery(this.path(name, subresource), writeQuery(options)), body, options.signal, false)
  }

  getSubresource<R extends KubeObject>(name: string, subresource: string, options: RequestOptions = {}): Promise<R> {
    return this.call('GET', this.path(name, subresource), { accept: JSON_TYPE }, undefined, options.signal)
  }

  updateSubresource<R extends KubeObject>(name: string, subresource: string, body: KubeObject, options: WriteOptions = {}): Promise<R> {
    return this.write('PUT', withQuery(this.path(name, subresource), writeQuery(options)), body, options.signal, false)
  }

  private path(name?: string, subresource?: string): string {
    if (name === '') throw new StatusError({ code: 400, reason: 'BadRequest', message: 'resource name may not be empty' })
    return resourcePath({
      handle: this.handle,
      namespace: this.ns,
      ...(name === undefined ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
    })
  }

  private write<R>(method: string, path: string, object: object | undefined, signal: AbortSignal | undefined, typed = true): Promise<R> {
    let body = object
    // Objects from typed lists and watches carry no kind of their own; the handle knows it.
    if (body && typed && method !== 'DELETE' && (!('kind' in body) || !('apiVersion' in body))) {
      body = { apiVersion: apiVersionOf(this.handle), kind: this.handle.kind, ...body }
    }
    return this.call(method, path, { accept: JSON_TYPE, 'content-type': JSON_TYPE }, body, signal)
  }

  private async call<R>(method: string, path: string, headers: Record<string, string>, body: unknown, signal: AbortSignal | undefined): Promise<R> {
    const response = await sendPatiently(this.settings, {
      method,
      path,
      headers: { ...this.settings.headers, ...headers },
      ...(body === undefined ? {} : { body: { object: body } }),
      ...(signal ? { signal } : {}),
    })
    return (await response.object()) as R
  }
}

function deleteBody(options: DeleteOptions & ListOptions): DeleteOptions | undefined {
  const { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy, dryRun } = options
  const body: DeleteOptions = {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun === undefined ? {} : { dryRun }),
  }
  return Object.keys(body).length === 0 ? undefined : { kind: 'DeleteOptions', apiVersion: 'v1', ...body }
}

/** The object, or undefined when there is none. */
export async function getOrUndefined<T extends KubeObject>(client: ResourceClient<T>, name: string, options?: GetOptions): Promise<T | undefined> {
  try {
    return await client.get(name, options)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
