import type { ResourceInfo, Scheme } from '../../api/scheme.ts'
import {
  AGGREGATED_PARAMETERS,
  apiGroup,
  apiGroupDiscoveryList,
  apiGroupList,
  apiResourceList,
  apiVersions,
  CUSTOM_GROUP_PRIORITY,
  CUSTOM_VERSION_PRIORITY,
  entityTag,
  orderGroups,
  type ServedGroup,
  type ServedResource,
  type ServedVersion,
} from '../discovery/index.ts'
import { ALL_TYPES, type MediaType } from '../negotiation/accept.ts'
import type { Responder } from '../negotiation/respond.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'
import type { EndpointTable } from './endpoint-table.ts'
import { notFoundPlain } from './plain.ts'
import { routerMethodNotAllowed } from './router-errors.ts'

/** Group versions that others serve: aggregated APIs. */
export type MoreVersions = () => readonly ServedVersion[]

/** `/api`, `/apis` and what is below them, remade when the table of resources changes. */
export class DiscoveryPaths {
  private readonly table: EndpointTable
  private readonly scheme: Scheme
  private readonly responder: Responder
  private readonly serverAddress: () => string
  private groups: ServedGroup[] | undefined
  private readonly encoded = new Map<string, { bytes: Uint8Array; tag: string; value: unknown }>()
  private readonly more: MoreVersions[] = []

  /** @param serverAddress host:port that clients from anywhere should use */
  constructor(table: EndpointTable, scheme: Scheme, responder: Responder, serverAddress: () => string) {
    this.table = table
    this.scheme = scheme
    this.responder = responder
    this.serverAddress = serverAddress
    table.onChange(() => this.invalidate())
  }

  /** Adds versions served elsewhere; call `invalidate` when they change. */
  add(more: MoreVersions): void {
    this.more.push(more)
    this.invalidate()
  }

  invalidate(): void {
    this.groups = undefined
    this.encoded.clear()
  }

  served(): readonly ServedGroup[] {
    this.groups ??= orderGroups([...versionsOf(this.table, this.scheme), ...this.more.flatMap((m) => m())])
    return this.groups
  }

  /** Answers discovery paths; undefined for others. */
  serve(context: RequestContext): Promise<ApiResponse> | ApiResponse | undefined {
    let { path } = context.info
    if (!path.startsWith('/api')) return undefined
    if (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1)
    const parts = path.split('/')
    if (parts[1] === 'api') {
      if (parts.length === 2) return this.top(context, true)
      const group = this.served().find((g) => g.group === '')
      const version = parts.length === 3 ? group?.versions.find((v) => v.version === parts[2]) : undefined
      return version && this.document(context, path, () => apiResourceList(version), true)
    }
    if (parts[1] !== 'apis') return undefined
    if (parts.length === 2) return this.top(context, false)
    const group = this.served().find((g) => g.group === parts[2])
    if (!group || group.group === '') return parts.length === 3 ? notFoundPlain() : undefined
    if (parts.length === 3) return this.document(context, path, () => apiGroup(group), false)
    const version = parts.length === 4 ? group.versions.find((v) => v.version === parts[3]) : undefined
    return version && this.document(context, path, () => apiResourceList(version), true)
  }

  private top(context: RequestContext, core: boolean): ApiResponse {
    const type = this.aggregatedType(context)
    if (type === undefined) {
      return core
        ? this.document(context, '/api', () => apiVersions(this.serverAddress()), true)
        : this.document(context, '/apis', () => apiGroupList(this.served()), false)
    }
    if (core) requireGet(context)
    const response = this.answer(context, `aggregated ${core} ${type}`, type, () => apiGroupDiscoveryList(this.served(), core))
    if (!context.request.inProcess) response.headers['content-type'] = `${type}${AGGREGATED_PARAMETERS}`
    response.headers.vary = 'Accept'
    response.headers['cache-control'] = 'public'
    return response
  }

  /** The media type in which the aggregated form is wanted before any other. */
  private aggregatedType(context: RequestContext): MediaType | undefined {
    const header = context.request.headers.accept
    if (!header?.includes('APIGroupDiscoveryList')) return undefined
    for (const clause of this.responder.negotiator.parse(header)) {
      const type = ALL_TYPES.find((t) => t === clause.type || clause.type === '*/*' || clause.type === 'application/*')
      if (!type) continue
      const { params } = clause
      if (params.get('as') === 'APIGroupDiscoveryList' && params.get('g') === 'apidiscovery.k8s.io' && params.get('v') === 'v2') return type
      if (!params.has('as') && !params.has('g')) return undefined
    }
    return undefined
  }

  private document(context: RequestContext, key: string, make: () => unknown, getOnly: boolean): ApiResponse {
    if (getOnly) requireGet(context)
    const form = this.responder.negotiator.negotiate(context, ALL_TYPES, false)
    const response = this.answer(context, `${key} ${form.mediaType} ${form.pretty}`, form.mediaType, make, form.pretty)
    if (key === '/api' || key === '/apis') response.headers.vary = 'Accept'
    delete response.headers.etag
    return response
  }

  private answer(context: RequestContext, key: string, type: MediaType, make: () => unknown, pretty = false): ApiResponse {
    let known = this.encoded.get(key)
    if (!known) {
      const value = make()
      const bytes = this.responder.encoder.encode(value, type, pretty)
      known = { bytes, tag: entityTag(bytes), value }
      this.encoded.set(key, known)
    }
    if (context.request.inProcess) return { status: 200, headers: {}, object: known.value }
    const headers: Record<string, string> = { 'content-type': type, etag: known.tag }
    if (context.request.headers['if-none-match'] === known.tag) return { status: 304, headers: { etag: known.tag } }
    return { status: 200, headers, bytes: known.bytes }
  }
}

function requireGet(context: RequestContext): void {
  if (context.request.method !== 'GET') throw routerMethodNotAllowed()
}

/** What the table serves, as discovery shows it. */
function versionsOf(table: EndpointTable, scheme: Scheme): ServedVersion[] {
  const versions = new Map<string, { group: string; version: string; custom: boolean; resources: ResourceInfo[] }>()
  for (const { info, custom } of table.all()) {
    const key = `${info.group}/${info.version}`
    const version = versions.get(key)
    if (version) version.resources.push(info)
    else versions.set(key, { group: info.group, version: info.version, custom, resources: [info] })
  }
  return [...versions.values()].map((v) => {
    const group = scheme.group(v.group)
    return {
      group: v.group,
      version: v.version,
      groupPriority: group?.groupPriority ?? CUSTOM_GROUP_PRIORITY,
      versionPriority: group?.versions.find((x) => x.version === v.version)?.priority ?? CUSTOM_VERSION_PRIORITY,
      resources: v.resources as unknown as ServedResource[],
      builtin: !v.custom,
    }
  })
}
