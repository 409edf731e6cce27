import { newBadRequest, newExpired, newNotAcceptable, StatusError } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { deepFreeze } from '../../base/deep-freeze.ts'
import { yielder } from '../../base/yielder.ts'
import type { StorageList, StorageListOptions, StoredObject } from '../../storage/interface.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { JSON_TYPE, type Negotiated } from '../negotiation/accept.ts'
import { type ItemForm, itemsBody } from '../negotiation/pieces.ts'
import { goType, withoutType } from '../negotiation/respond.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { decodeContinue, encodeContinue } from '../request/continue-token.ts'
import { badVersionText, type ListRequest, parseListRequest, parseResourceVersion, validateListRequest } from '../request/list-options.ts'
import { partialMetadata } from '../table/table.ts'
import type { HandlerEnvironment, Target } from './request-scope.ts'
import { parseSelection, type Selection } from './selectors.ts'
import { handleWatch } from './watch.ts'

const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.'

/** LIST, and WATCH, which asks the same way. */
export async function handleList(environment: HandlerEnvironment, target: Target, forceWatch = false): Promise<ApiResponse> {
  const { context, endpoint } = target
  const watch = forceWatch || (context.request.query !== '' && context.query.bool('watch'))
  const form = watch ? undefined : environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const streamForm = watch ? environment.responder.negotiator.negotiateWatch(context, endpoint.mediaTypes) : undefined
  const request = parseListRequest(context.query)
  validateListRequest(request, watch)
  const fieldSelector =
    target.name !== '' && watch && !request.fieldSelector.includes('metadata.name')
      ? [request.fieldSelector, `metadata.name=${target.name}`].filter((t) => t !== '').join(',')
      : request.fieldSelector
  const selection = parseSelection(endpoint, request.labelSelector, fieldSelector)
  if (target.name !== '' && selection.name !== undefined && selection.name !== target.name) {
    throw newBadRequest("fieldSelector metadata.name doesn't match requested name")
  }
  if (watch) return handleWatch(environment, target, request, selection, streamForm as Negotiated)
  const list = await readList(endpoint, target.namespace, request, selection)
  return respondList(environment, target, form as Negotiated, list, selection)
}

/** Reads what a list request asks for; shared with deletecollection. */
export async function readList(endpoint: Endpoint, namespace: string, request: ListRequest, selection: Selection): Promise<StorageList> {
  const options: StorageListOptions = {}
  if (namespace !== '') {
    options.namespace = namespace
    if (selection.namespace !== undefined && selection.namespace !== namespace) options.filter = () => false
  } else if (selection.namespace) options.namespace = selection.namespace
  if (selection.name !== undefined && selection.name !== '') options.name = selection.name
  if (selection.filter) {
    const given = options.filter
    options.filter = given ?? selection.filter
  }
  let version: number | undefined
  if (request.resourceVersion !== '') {
    version = parseResourceVersion(request.resourceVersion)
    if (version === undefined) throw newBadRequest(`invalid resource version: ${badVersionText(request.resourceVersion)}`)
  }
  let limit = request.limit
  if (request.continue !== '') {
    options.continue = decodeContinue(request.continue)
    if (version === 0) limit = 0
    if (version !== undefined && version !== 0) throw newBadRequest('specifying resource version is not allowed when using continue')
  } else if (version !== undefined) {
    options.resourceVersion = version
    if (request.resourceVersionMatch !== '') options.match = request.resourceVersionMatch as 'Exact' | 'NotOlderThan'
    else if (version > 0 && limit > 0) options.match = 'Exact'
    if (version === 0 && request.resourceVersionMatch === '') limit = 0
  }
  if (limit > 0) options.limit = limit
  try {
    return await (endpoint.store as ResourceStore).storage.list(options)
  } catch (error) {
    if (options.continue && error instanceof StatusError && error.reason === 'Expired') {
      throw newExpired(CONTINUE_EXPIRED, encodeContinue(options.continue.key, -1))
    }
    throw error
  }
}

export interface ListMeta {
  resourceVersion: string
  continue?: string
  remainingItemCount?: number
}

export function listMeta(list: StorageList, selection: Selection): ListMeta {
  const meta: ListMeta = { resourceVersion: String(list.resourceVersion) }
  if (list.next) {
    meta.continue = encodeContinue(list.next.key, list.next.revision)
    if (selection.empty && list.remaining !== undefined && list.remaining > 0) meta.remainingItemCount = list.remaining
  }
  return meta
}

async function respondList(environment: HandlerEnvironment, target: Target, form: Negotiated, list: StorageList, selection: Selection): Promise<ApiResponse> {
  const { context, endpoint } = target
  const meta = listMeta(list, selection)
  const { info } = endpoint
  // Lists of custom resources always print it.
  if (endpoint.custom && !form.as) meta.continue ??= ''
  const apiVersion = info.group === '' ? info.version : `${info.group}/${info.version}`
  const kind = `${info.kind}List`
  switch (form.as) {
    case 'Table': {
      const maker = environment.responder.tableMaker(context, endpoint, form)
      if (form.mediaType === JSON_TYPE && !form.pretty && !endpoint.converts && !context.request.inProcess) {
        return { status: 200, headers: { 'content-type': JSON_TYPE }, ...(await maker.body(list.items, { ...meta })) }
      }
      return environment.responder.value(context, form, 200, await maker.table(await spoken(endpoint, list.items), { ...meta }))
    }
    case 'PartialObjectMetadata':
      throw newNotAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (*${goType(endpoint)}List)`)
    case 'PartialObjectMetadataList': {
      const version = form.asVersion as string
      const items = list.items.map((i) => partialMetadata(i.object, version))
      return environment.responder.value(context, form, 200, { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata: meta, items })
    }
    case undefined:
      break
  }
  if (context.request.inProcess) {
    const items = await spoken(endpoint, list.items)
    return { status: 200, headers: {}, object: { kind, apiVersion, metadata: Object.freeze(meta), items } }
  }
  if (form.mediaType === JSON_TYPE && !form.pretty && !endpoint.converts) {
    const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(meta)},"items":[`
    const body = await itemsBody(head, list.items, new ItemsForm(endpoint.custom ? EMPTY : endpoint.head), ']}\n')
    return { status: 200, headers: { 'content-type': JSON_TYPE }, ...body }
  }
  const items = (await spoken(endpoint, list.items)).map((i) => (endpoint.custom ? i : withoutType(i)))
  return environment.responder.value(context, form, 200, { kind, apiVersion, metadata: meta, items })
}

async function spoken(endpoint: Endpoint, items: readonly StoredObject[]): Promise<KubeObject[]> {
  const tick = yielder()
  const out: KubeObject[] = []
  for (const item of items) {
    out.push(endpoint.converts ? deepFreeze(endpoint.fromStorage(item.object)) : item.object)
    const pause = tick()
    if (pause) await pause
  }
  return out
}

const OPEN = 123
const EMPTY = new Uint8Array(0)

/** The stored bytes of items; the kind at their head is left out as typed lists do. */
class ItemsForm implements ItemForm<StoredObject> {
  private readonly head: Uint8Array

  constructor(head: Uint8Array) {
    this.head = head
  }

  size(item: StoredObject): number {
    return item.size - this.strip(item)
  }

  write(item: StoredObject, out: Buffer, at: number): number {
    const strip = this.strip(item)
    if (strip === 0) return item.writeTo(out, at)
    out[at] = OPEN
    return item.writeTo(out, at + 1, strip + 1)
  }

  /** How many bytes are missing. */
  private strip({ bytes }: StoredObject): number {
    return this.head.length > 0 && startsWith(bytes, this.head) ? this.head.length - 1 : 0
  }
}

function startsWith(bytes: Uint8Array, head: Uint8Array): boolean {
  if (bytes.length < head.length) return false
  for (let i = 0; i < head.length; i++) if (bytes[i] !== head[i]) return false
  return true
}
