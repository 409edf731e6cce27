import { createHash } from 'node:crypto'
import type { ResourceInfo, Scheme } from '../../api/scheme.ts'
import { apiVersionOf } from '../../apimachinery/object.ts'
import { customDocument } from './custom.ts'
import type { Descriptions, JSONObject } from './definitions.ts'
import { type DocumentedVersion, type ExtraSwagger, swaggerText } from './v2.ts'
import { type DocumentOptions, discoveryDocument, groupVersionText, openIDDocument, versionDocument } from './v3.ts'

/** One OpenAPI 3 document: its entity tag at once, its text when somebody asks. */
export interface OpenAPIDocument {
  /** Changes when the text does; goes into `?hash=` and, in double quotes, into Etag. */
  readonly hash: string
  text(): Promise<string>
}

export interface OpenAPIConfig {
  readonly scheme: Scheme
  /** What is served, as `scheme.served(runtimeConfig)` gives it. */
  readonly resources: readonly ResourceInfo[]
  /** `info.version` of the documents, such as `1.36`. */
  readonly version: string
  /** Loads what types and fields mean, when a document is first made; nothing: documents describe nothing. */
  readonly descriptions?: () => Promise<Descriptions | undefined>
}

/**
 * The OpenAPI documents of a server's built-in kinds, made on first demand and kept. Documents of custom resources and
 * of other servers are added by `set` and go by `delete`.
 */
export class OpenAPIDocuments {
  private readonly config: OpenAPIConfig
  private readonly documents = new Map<string, OpenAPIDocument>()
  private readonly custom = new Set<string>()
  private readonly builtin: readonly DocumentedVersion[]
  private described: Promise<Descriptions | undefined> | undefined
  private swagger: Promise<string> | undefined
  private extra: ExtraSwagger | undefined

  constructor(config: OpenAPIConfig) {
    this.config = config
    const versions = new Map<string, DocumentedVersion & { resources: ResourceInfo[] }>()
    for (const r of config.resources) {
      const key = apiVersionOf(r)
      const v = versions.get(key)
      if (v) v.resources.push(r)
      else versions.set(key, { group: r.group, version: r.version, resources: [r] })
    }
    this.builtin = [...versions.values()]
    const { scheme } = config
    const fixed = (path: string, make: (options: DocumentOptions) => JSONObject) => this.add(path, '', async () => JSON.stringify(make(await this.options())))
    fixed('.well-known/openid-configuration', (options) => openIDDocument('configuration', options))
    fixed('api', (options) => discoveryDocument(scheme, '', options))
    fixed('apis', (options) => discoveryDocument(scheme, undefined, options))
    fixed('openid/v1/jwks', (options) => openIDDocument('jwks', options))
    fixed('version', (options) => versionDocument(options))
    for (const v of this.builtin) {
      if (v.group !== '' && !this.documents.has(`apis/${v.group}`)) fixed(`apis/${v.group}`, (options) => discoveryDocument(scheme, v.group, options))
      const names = v.resources.map((r) => r.resource).join(',')
      this.add(v.group === '' ? `api/${v.version}` : `apis/${apiVersionOf(v)}`, names, async () =>
        groupVersionText(scheme, v, v.resources, await this.options()),
      )
    }
  }

  private async options(): Promise<DocumentOptions> {
    this.described ??= this.config.descriptions?.() ?? Promise.resolve(undefined)
    const descriptions = await this.described
    return { version: this.config.version, ...(descriptions ? { descriptions } : {}) }
  }

  private add(path: string, content: string, make: () => Promise<string>): void {
    const { version, descriptions } = this.config
    const hash = hashOf(`${version}|${descriptions ? 'described' : ''}|${path}|${content}`)
    let text: Promise<string> | undefined
    this.documents.set(path, { hash, text: () => (text ??= make()) })
  }

  /** Documents the custom resources that are served just now, and forgets those of others. Nothing is made before it is asked for. */
  setCustom(resources: readonly ResourceInfo[]): void {
    for (const path of this.custom) this.documents.delete(path)
    this.custom.clear()
    const byVersion = new Map<string, ResourceInfo[]>()
    for (const r of resources) {
      const list = byVersion.get(apiVersionOf(r))
      if (list) list.push(r)
      else byVersion.set(apiVersionOf(r), [r])
    }
    const { scheme } = this.config
    for (const [apiVersion, list] of byVersion) {
      const gv = list[0] as ResourceInfo
      const documented = list.map((info) => ({ info, schema: info.openAPISchema?.() }))
      this.add(`apis/${apiVersion}`, JSON.stringify(documented), async () => JSON.stringify(customDocument(scheme, gv, documented, await this.options())))
      this.custom.add(`apis/${apiVersion}`)
      if (this.documents.has(`apis/${gv.group}`)) continue
      this.add(`apis/${gv.group}`, '', async () => JSON.stringify(discoveryDocument(scheme, gv.group, await this.options())))
      this.custom.add(`apis/${gv.group}`)
    }
  }

  /** Adds or replaces the document of a path without leading slash, such as `apis/example.com/v1`. */
  set(path: string, document: OpenAPIDocument): void {
    this.documents.set(path, document)
  }

  delete(path: string): void {
    this.documents.delete(path)
  }

  /** The document of a path without leading slash; undefined when nothing is served there. */
  get(path: string): OpenAPIDocument | undefined {
    return this.documents.get(path)
  }

  /** `/openapi/v3`. */
  index(): JSONObject {
    const paths = [...this.documents].sort(([a], [b]) => (a < b ? -1 : 1))
    return { paths: Object.fromEntries(paths.map(([path, d]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${d.hash}` }])) }
  }

  /** Sets what custom resources add to the OpenAPI 2 document, which is made anew on next demand. */
  setExtraSwagger(extra: ExtraSwagger | undefined): void {
    this.extra = extra
    this.swagger = undefined
  }

  /** `/openapi/v2`, as JSON text. */
  swaggerText(): Promise<string> {
    this.swagger ??= this.options().then((options) => swaggerText(this.config.scheme, this.builtin, options, this.extra))
    return this.swagger
  }
}

/** Upper-case hex SHA-512, the form of the original's entity tags. */
export function hashOf(text: string): string {
  return createHash('sha512').update(text).digest('hex').toUpperCase()
}
