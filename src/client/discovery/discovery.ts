import { StatusError } from '../../apimachinery/errors.ts'
import type { APIResource, Status } from '../../apimachinery/meta/v1/types.generated.ts'
import { apiVersionOf, type GroupVersion, parseApiVersion, type ResourceHandle } from '../../apimachinery/object.ts'
import type { Client } from '../client.ts'

/** A resource as the server says it serves it; usable as a handle. */
export interface DiscoveredResource extends ResourceHandle {
  readonly verbs: readonly string[]
  /** The group's preferred version serves it in this version. */
  readonly preferred: boolean
}

export interface Discovery {
  resources: DiscoveredResource[]
  /** Group versions that could not be asked, such as those of an API service that is down. */
  failures: Map<string, Error>
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

interface GroupDiscoveryList {
  kind: string
  items?: {
    metadata: { name?: string }
    versions?: {
      version: string
      freshness?: string
      resources?: { resource: string; responseKind?: { group: string; version: string; kind: string }; scope: string; verbs: string[] }[]
    }[]
  }[]
}

/** All resources of all groups, in two requests where the server can, else in one per group version. Rejects when the server cannot be reached. */
export async function discover(client: Client, signal?: AbortSignal): Promise<Discovery> {
  const discovery: Discovery = { resources: [], failures: new Map() }
  for (const path of ['/api', '/apis']) {
    const body = (await getJson(client, path, AGGREGATED, signal)) as GroupDiscoveryList
    if (body.kind === 'APIGroupDiscoveryList') readAggregated(body, discovery)
    else await readGroups(client, body, discovery, signal)
  }
  return discovery
}

async function getJson(client: Client, path: string, accept: string, signal: AbortSignal | undefined): Promise<unknown> {
  const response = await client.raw({ path, headers: { accept }, ...(signal ? { signal } : {}) })
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new StatusError({ code: response.status, reason: response.status === 404 ? 'NotFound' : '', message: text.trim() || `unexpected answer to ${path}` })
  }
  if (response.status >= 400) throw StatusError.fromStatus(body as Status)
  return body
}

function readAggregated(list: GroupDiscoveryList, out: Discovery): void {
  for (const group of list.items ?? []) {
    const name = group.metadata.name ?? ''
    const preferred = new Set<string>()
    for (const version of group.versions ?? []) {
      const gv: GroupVersion = { group: name, version: version.version }
      if (version.freshness === 'Stale') out.failures.set(apiVersionOf(gv), new Error(`stale GroupVersion discovery: ${apiVersionOf(gv)}`))
      for (const r of version.resources ?? []) {
        // A resource without a kind of its own is there for its subresources alone.
        if (!r.responseKind?.kind) continue
        out.resources.push({
          ...gv,
          resource: r.resource,
          kind: r.responseKind.kind,
          namespaced: r.scope === 'Namespaced',
          verbs: r.verbs,
          preferred: !preferred.has(r.resource),
        })
        preferred.add(r.resource)
      }
    }
  }
}

async function readGroups(client: Client, body: unknown, out: Discovery, signal: AbortSignal | undefined): Promise<void> {
  const { versions, groups } = body as { versions?: string[]; groups?: { preferredVersion?: { groupVersion: string }; versions: { groupVersion: string }[] }[] }
  const ordered = versions
    ? [versions]
    : (groups ?? []).map((g) =>
        g.versions.map((v) => v.groupVersion).sort((a, b) => Number(b === g.preferredVersion?.groupVersion) - Number(a === g.preferredVersion?.groupVersion)),
      )
  for (const groupVersions of ordered) {
    const preferred = new Set<string>()
    for (const groupVersion of groupVersions) {
      const gv = parseApiVersion(groupVersion)
      if (!gv) continue
      try {
        const list = (await getJson(client, versions ? `/api/${groupVersion}` : `/apis/${groupVersion}`, 'application/json', signal)) as {
          resources?: APIResource[]
        }
        for (const r of list.resources ?? []) {
          if (r.name.includes('/')) continue
          out.resources.push({ ...gv, resource: r.name, kind: r.kind, namespaced: r.namespaced, verbs: r.verbs ?? [], preferred: !preferred.has(r.name) })
          preferred.add(r.name)
        }
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        out.failures.set(groupVersion, error)
      }
    }
  }
}
