import { newNotAcceptable } from '../../apimachinery/errors.ts'
import { encodeJSON } from '../../apimachinery/json/index.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import type { Clock } from '../../base/clock.ts'
import { yielder } from '../../base/yielder.ts'
import type { StoredObject } from '../../storage/interface.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'
import { includeObjectOf, partialMetadata, TableMaker } from '../table/table.ts'
import { JSON_TYPE, type Negotiated, type Negotiator } from './accept.ts'
import type { Encoder } from './encode.ts'

const NEWLINE = 10
/** Items from which on an answer is encoded in slices. */
const MANY = 100

/** The field of a value that holds many items; it is the last of its kind in the text. */
function longField(value: unknown): 'items' | 'rows' | undefined {
  if (value === null || typeof value !== 'object') return undefined
  const { items, rows } = value as { items?: unknown; rows?: unknown }
  if (Array.isArray(items) && items.length > MANY) return 'items'
  return Array.isArray(rows) && rows.length > MANY ? 'rows' : undefined
}

function withNewline(encoded: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(encoded.length + 1)
  bytes.set(encoded, 0)
  bytes[encoded.length] = NEWLINE
  return bytes
}

/** Makes answers out of objects, in the form that was negotiated. */
export class Responder {
  readonly negotiator: Negotiator
  readonly encoder: Encoder
  private readonly clock: Clock

  constructor(negotiator: Negotiator, encoder: Encoder, clock: Clock) {
    this.negotiator = negotiator
    this.encoder = encoder
    this.clock = clock
  }

  /** A stored object: its bytes go out as they are when JSON of the stored version was asked for. */
  async stored(context: RequestContext, endpoint: Endpoint, form: Negotiated, status: number, stored: StoredObject): Promise<ApiResponse> {
    if (context.request.inProcess && form.as === undefined) return { status, headers: {}, object: endpoint.fromStorage(stored.object) }
    if (form.mediaType === JSON_TYPE && form.as === undefined && !form.pretty && !endpoint.converts) {
      return { status, headers: { 'content-type': JSON_TYPE }, bytes: stored.line?.() ?? withNewline(stored.encoded()) }
    }
    return this.object(context, endpoint, form, status, endpoint.fromStorage(stored.object))
  }

  /** An object of the spoken version. */
  async object(context: RequestContext, endpoint: Endpoint, form: Negotiated, status: number, object: KubeObject): Promise<ApiResponse> {
    return this.value(context, form, status, await this.shape(context, endpoint, form, object))
  }

  /** Any value that is not shaped further, such as a Status. */
  value(context: RequestContext, form: Pick<Negotiated, 'mediaType' | 'pretty'>, status: number, value: unknown): ApiResponse | Promise<ApiResponse> {
    if (context.request.inProcess) return { status, headers: {}, object: value }
    const long = form.mediaType === JSON_TYPE && !form.pretty ? longField(value) : undefined
    if (long !== undefined) return this.longValue(form.mediaType, status, value as Record<string, unknown>, long)
    return { status, headers: { 'content-type': form.mediaType }, bytes: this.encoder.encode(value, form.mediaType, form.pretty) }
  }

  /** A list or table of many: encoded item by item, giving the loop back in between. */
  private async longValue(mediaType: string, status: number, value: Record<string, unknown>, field: string): Promise<ApiResponse> {
    const tick = yielder()
    const parts: string[] = []
    for (const item of value[field] as unknown[]) {
      parts.push(encodeJSON(item))
      const pause = tick()
      if (pause) await pause
    }
    const empty = encodeJSON({ ...value, [field]: [] })
    const at = empty.lastIndexOf(`"${field}":[]`) + field.length + 4
    return { status, headers: { 'content-type': mediaType }, bytes: Buffer.from(`${empty.slice(0, at)}${parts.join(',')}${empty.slice(at)}\n`, 'utf8') }
  }

  private async shape(context: RequestContext, endpoint: Endpoint, form: Negotiated, object: KubeObject): Promise<unknown> {
    switch (form.as) {
      case undefined:
        return object
      case 'Table': {
        const maker = this.tableMaker(context, endpoint, form)
        const rv = object.metadata.resourceVersion
        return maker.table([object], rv ? { resourceVersion: rv } : {})
      }
      case 'PartialObjectMetadata':
        return partialMetadata(object, form.asVersion as string)
      case 'PartialObjectMetadataList':
        throw newNotAcceptable(`you requested PartialObjectMetadataList, but the requested object is not a list (*${goType(endpoint)})`)
    }
  }

  /** A list that was made by hand, of the spoken version. */
  async collection(
    context: RequestContext,
    endpoint: Endpoint,
    form: Negotiated,
    list: { kind: string; apiVersion: string; metadata: { resourceVersion?: string }; items: KubeObject[] },
  ): Promise<ApiResponse> {
    switch (form.as) {
      case 'Table':
        return this.value(context, form, 200, await this.tableMaker(context, endpoint, form).table(list.items, list.metadata))
      case 'PartialObjectMetadata':
        throw newNotAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (*${goType(endpoint)}List)`)
      case 'PartialObjectMetadataList': {
        const version = form.asVersion as string
        return this.value(context, form, 200, {
          kind: 'PartialObjectMetadataList',
          apiVersion: `meta.k8s.io/${version}`,
          metadata: list.metadata,
          items: list.items.map((i) => partialMetadata(i, version)),
        })
      }
      case undefined:
        return this.value(context, form, 200, endpoint.custom || context.request.inProcess ? list : { ...list, items: list.items.map(withoutType) })
    }
  }

  tableMaker(context: RequestContext, endpoint: Endpoint, form: Negotiated): TableMaker {
    return new TableMaker(endpoint, includeObjectOf(context), form.asVersion as string, () => this.clock.now())
  }
}

/** How the original's messages name a type: `core.Pod`. */
export function goType(endpoint: Endpoint): string {
  if (endpoint.custom) return 'unstructured.Unstructured'
  const group = endpoint.info.group
  const name = group === '' ? 'core' : (group.split('.')[0] as string)
  return `${name === 'rbac' ? 'rbac' : name}.${endpoint.info.kind}`
}

/** Items of typed lists say nothing of their kind. */
export function withoutType(object: KubeObject): KubeObject {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object
  return rest as KubeObject
}
