import { createHash } from 'node:crypto'
import { apiVersionOf } from '../../apimachinery/object.ts'
import type { ServedGroup, ServedResource, ServedSubresource, ServedVersion } from './served.ts'

/** Media type parameters of the aggregated form, as sent back in Content-Type. */
export const AGGREGATED_PARAMETERS = ';g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** `/api`. @param serverAddress host:port that clients from anywhere should use */
export function apiVersions(serverAddress: string): Record<string, unknown> {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }] }
}

/** `/apis`: every group but the core one. */
export function apiGroupList(groups: readonly ServedGroup[]): Record<string, unknown> {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter((g) => g.group !== '').map(groupEntry) }
}

/** `/apis/{group}`. */
export function apiGroup(group: ServedGroup): Record<string, unknown> {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }
}

function groupEntry(g: ServedGroup): Record<string, unknown> {
  const versions = g.versions.map((v) => ({ groupVersion: apiVersionOf(v), version: v.version }))
  return { name: g.group, versions, preferredVersion: versions[0] }
}

/** `/api/v1` and `/apis/{group}/{version}`. */
export function apiResourceList(v: ServedVersion): Record<string, unknown> {
  const resources: Record<string, unknown>[] = []
  for (const r of v.resources) {
    resources.push(resourceEntry(r))
    for (const s of r.subresources) resources.push(subresourceEntry(r, s, v))
  }
  if (v.builtin) resources.sort((a, b) => ((a.name as string) < (b.name as string) ? -1 : 1))
  return { kind: 'APIResourceList', ...(v.group === '' ? {} : { apiVersion: 'v1' }), groupVersion: apiVersionOf(v), resources }
}

function resourceEntry(r: ServedResource): Record<string, unknown> {
  return {
    name: r.resource,
    singularName: r.singular,
    namespaced: r.namespaced,
    kind: r.kind,
    verbs: r.verbs,
    ...(r.shortNames.length ? { shortNames: r.shortNames } : {}),
    ...(r.categories.length ? { categories: r.categories } : {}),
    ...(r.storageVersionHash === undefined ? {} : { storageVersionHash: r.storageVersionHash }),
  }
}

function subresourceEntry(r: ServedResource, s: ServedSubresource, v: ServedVersion): Record<string, unknown> {
  const foreign = s.group !== v.group || s.version !== v.version
  return {
    name: `${r.resource}/${s.name}`,
    singularName: '',
    namespaced: r.namespaced,
    ...(foreign ? { group: s.group, version: s.version } : {}),
    kind: s.kind,
    verbs: s.verbs,
  }
}

/**
 * The aggregated form (`APIGroupDiscoveryList`): on `/api` the core group, on `/apis` all others.
 * @param core true for `/api`
 */
export function apiGroupDiscoveryList(groups: readonly ServedGroup[], core: boolean): Record<string, unknown> {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups
      .filter((g) => (g.group === '') === core)
      .map((g) => ({ metadata: g.group === '' ? {} : { name: g.group }, versions: g.versions.map(discoveryVersion) })),
  }
}

function discoveryVersion(v: ServedVersion): Record<string, unknown> {
  return { version: v.version, resources: v.resources.map((r) => discoveryResource(r, v)), freshness: v.stale ? 'Stale' : 'Current' }
}

function discoveryResource(r: ServedResource, v: ServedVersion): Record<string, unknown> {
  const own = v.builtin ? { group: '', version: '' } : { group: v.group, version: v.version }
  const responseKind = (s: ServedSubresource) => {
    if (s.kind === '') return {}
    const foreign = s.group !== v.group || s.version !== v.version
    return foreign ? { group: s.group, version: s.version, kind: s.kind } : { ...own, kind: s.kind }
  }
  return {
    resource: r.resource,
    responseKind: { ...own, kind: r.kind },
    scope: r.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: r.singular,
    verbs: r.verbs,
    ...(r.shortNames.length ? { shortNames: r.shortNames } : {}),
    ...(r.categories.length ? { categories: r.categories } : {}),
    ...(r.subresources.length ? { subresources: r.subresources.map((s) => ({ subresource: s.name, responseKind: responseKind(s), verbs: s.verbs })) } : {}),
  }
}

/** The entity tag of a document's text, quotes included. */
export function entityTag(text: string | Uint8Array): string {
  return `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`
}
