import type { Clock } from '../../base/clock.ts'
import { hashOf } from '../openapi/documents.ts'
import type { OpenAPIDocuments } from '../openapi/index.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'
import type { EndpointTable } from './endpoint-table.ts'
import { routerMethodNotAllowed } from './router-errors.ts'

const YEAR_MS = 365 * 24 * 3600 * 1000

/** `/openapi/v2`, `/openapi/v3` and the documents below it. */
export class OpenAPIPaths {
  private readonly documents: OpenAPIDocuments
  private readonly clock: Clock
  private readonly started: string
  private readonly table: EndpointTable | undefined
  private stale = false
  private readonly bytes = new WeakMap<object, Uint8Array>()
  private protobuf: { text: string; bytes: Uint8Array } | undefined
  private swagger: { text: string; bytes: Uint8Array; tag: string } | undefined

  /** @param table whose custom resources are documented too */
  constructor(documents: OpenAPIDocuments, clock: Clock, table?: EndpointTable) {
    this.table = table
    table?.onChange(() => {
      this.stale = true
    })
    this.documents = documents
    this.clock = clock
    this.started = new Date(clock.now()).toUTCString()
  }

  /** Answers OpenAPI paths; undefined for others. */
  serve(context: RequestContext): Promise<ApiResponse> | ApiResponse | undefined {
    const { path } = context.info
    if (this.stale) {
      this.stale = false
      this.documents.setCustom([...(this.table?.all() ?? [])].filter((e) => e.custom).map((e) => e.info))
    }
    if (path === '/openapi/v3') return this.index(context)
    if (path === '/openapi/v2') return this.v2(context)
    if (path.startsWith('/openapi/v3/')) return this.v3(context, path.slice('/openapi/v3/'.length))
    return undefined
  }

  private index(context: RequestContext): ApiResponse {
    const object = this.documents.index()
    if (context.request.inProcess) return { status: 200, headers: {}, object }
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, bytes: Buffer.from(JSON.stringify(object), 'utf8') }
  }

  private async v3(context: RequestContext, path: string): Promise<ApiResponse> {
    const document = this.documents.get(path)
    if (!document) return { status: 404, headers: {} }
    if (context.request.method !== 'GET') throw routerMethodNotAllowed()
    if (!acceptsJSON(context)) return { status: 406, headers: {} }
    const headers: Record<string, string> = { etag: `"${document.hash}"`, vary: 'Accept' }
    const asked = context.query.get('hash')
    if (asked !== undefined && asked !== '') {
      if (asked !== document.hash) return { status: 301, headers: { location: `/openapi/v3/${path}?hash=${document.hash}` } }
      headers['cache-control'] = 'public, immutable'
      headers.expires = new Date(this.clock.now() + YEAR_MS).toUTCString()
    }
    if (context.request.headers['if-none-match'] === headers.etag) return { status: 304, headers }
    const text = await document.text()
    if (context.request.inProcess) return { status: 200, headers: {}, object: JSON.parse(text) }
    let bytes = this.bytes.get(document)
    if (!bytes) {
      bytes = Buffer.from(text, 'utf8')
      this.bytes.set(document, bytes)
    }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, bytes }
  }

  private async v2(context: RequestContext): Promise<ApiResponse> {
    if (context.request.method !== 'GET') throw routerMethodNotAllowed()
    const protobuf = wantsProtobuf(context)
    if (!protobuf && !acceptsJSON(context)) return { status: 406, headers: {} }
    const text = await this.documents.swaggerText()
    if (context.request.inProcess) return { status: 200, headers: {}, object: JSON.parse(text) }
    if (this.swagger?.text !== text) this.swagger = { text, bytes: Buffer.from(text, 'utf8'), tag: `"${hashOf(text)}"` }
    const { bytes, tag } = this.swagger
    const headers = { etag: tag, vary: 'Accept', 'last-modified': this.started }
    if (context.request.headers['if-none-match'] === tag) return { status: 304, headers }
    if (protobuf) {
      const { SWAGGER_PROTOBUF, swaggerProtobuf } = await import('../openapi/v2-protobuf.ts')
      if (this.protobuf?.text !== text) this.protobuf = { text, bytes: swaggerProtobuf(text) }
      return { status: 200, headers: { ...headers, 'content-type': SWAGGER_PROTOBUF }, bytes: this.protobuf.bytes }
    }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, bytes }
  }
}

/** Go clients name the protobuf form first, with or without its version mark. */
function wantsProtobuf(context: RequestContext): boolean {
  const first = (context.request.headers.accept ?? '').split(',')[0] as string
  return first.trim().startsWith('application/com.github.proto-openapi.spec.v2') && first.includes('+protobuf')
}

function acceptsJSON(context: RequestContext): boolean {
  const header = context.request.headers.accept
  if (header === undefined || header.trim() === '') return true
  return header.split(',').some((clause) => {
    const type = (clause.split(';')[0] as string).trim().toLowerCase()
    return type === 'application/json' || type === '*/*' || type === 'application/*'
  })
}
