import { apiVersionOf, type GroupVersion, type GroupVersionKind, type GroupVersionResource, parseApiVersion } from '../apimachinery/object.ts'
import type { SchemaRegistry } from '../apimachinery/schema/registry.ts'
import type { StructSchema } from '../apimachinery/schema/schema.ts'
import { packagePaths } from './packages.generated.ts'
import { discoveryTable } from './resources.generated.ts'
import { builtinTypes } from './types.ts'

export interface SubresourceInfo {
  readonly name: string
  readonly kind: string
  /** Group and version of the kind; the parent's unless the kind is of another one (Scale, Eviction, TokenRequest). */
  readonly group: string
  readonly version: string
  readonly verbs: readonly string[]
}

/** One resource of one group version: what discovery, routes, codecs and storage need to know about it. */
export interface ResourceInfo extends GroupVersionKind {
  readonly resource: string
  readonly singular: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** apiVersion of stored values; undefined for resources without storage (reviews, bindings). */
  readonly storageVersion?: string
  /** Key prefix in the store without trailing slash, such as `/registry/services/specs`. */
  readonly etcdPrefix?: string
  readonly storageVersionHash?: string
  readonly subresources: readonly SubresourceInfo[]
  /** Served unless switched off; others only when enabled. */
  readonly isDefault: boolean
  /** Shape of the kind; resolved on first call. */
  schema(): StructSchema
  /** Of custom resources: the OpenAPI schema that their definition gives. */
  openAPISchema?(): Record<string, unknown> | undefined
}

export interface VersionInfo {
  readonly version: string
  readonly priority: number
  readonly isDefault: boolean
}

export interface GroupInfo {
  readonly group: string
  readonly groupPriority: number
  /** In preference order. */
  readonly versions: readonly VersionInfo[]
}

/** Which group versions a server serves: `runtime-config` keys (`apps/v1`, `v1`, `api/all`, `api/ga`, `api/beta`, `api/alpha`, `group/version/resource`) to on or off. */
export type RuntimeConfig = Readonly<Record<string, boolean>>

interface Row {
  group: string
  version: string
  default: boolean
  resource: string
  kind: string
  singular: string
  namespaced?: boolean
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  storage?: string
  etcd?: string
  storageVersionHash?: string
  subresources?: { name: string; kind: string; group?: string; version?: string; verbs: string[] }[]
}

interface Table {
  groups: { group: string; groupPriority: number; versions: { version: string; priority: number; default: boolean }[] }[]
  resources: Row[]
}

const META = 'k8s.io/apimachinery/pkg/apis/meta/v1'

/** Kinds of meta/v1 that belong to group version `v1` whatever the group of the request. */
const UNVERSIONED = new Set(['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList'])
/** Kinds of meta/v1 that exist in every group version. */
const EVERYWHERE = new Set(['WatchEvent', 'ListOptions', 'GetOptions', 'DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions'])
/** Kinds of meta.k8s.io/v1 that are also known as v1beta1. */
const BETA = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'])

/**
 * The kinds and resources a server can know, as data. Immutable after construction and shared by every cluster of the process; what a
 * server serves is decided by `served`.
 */
export class Scheme {
  readonly types: SchemaRegistry
  readonly groups: readonly GroupInfo[]
  /** All resources in discovery order: groups by priority, versions in preference order, resources by name. */
  readonly resources: readonly ResourceInfo[]
  private readonly byResource = new Map<string, ResourceInfo>()
  private readonly byKind = new Map<string, ResourceInfo>()
  private readonly packagesByVersion: ReadonlyMap<string, readonly string[]>

  /**
   * @param tableText JSON text of the discovery facts
   * @param packagePaths import paths by apiVersion
   */
  constructor(types: SchemaRegistry, tableText: string, packagePaths: ReadonlyMap<string, readonly string[]>) {
    this.types = types
    this.packagesByVersion = packagePaths
    const table = JSON.parse(tableText) as Table
    this.groups = table.groups.map((g) => ({
      group: g.group,
      groupPriority: g.groupPriority,
      versions: g.versions.map((v) => ({ version: v.version, priority: v.priority, isDefault: v.default })),
    }))
    this.resources = table.resources.map((row) => this.resource(row))
    for (const info of this.resources) {
      this.byResource.set(key(info, info.resource), info)
      const kindKey = key(info, info.kind)
      if (!this.byKind.has(kindKey)) this.byKind.set(kindKey, info)
    }
  }

  forResource(gvr: GroupVersionResource): ResourceInfo | undefined {
    return this.byResource.get(key(gvr, gvr.resource))
  }

  /** The resource whose objects are of this kind. */
  forKind(gvk: GroupVersionKind): ResourceInfo | undefined {
    return this.byKind.get(key(gvk, gvk.kind))
  }

  group(name: string): GroupInfo | undefined {
    return this.groups.find((g) => g.group === name)
  }

  /** True when any kind is registered for the group version, served or not. */
  hasVersion(gv: GroupVersion): boolean {
    return this.packagesByVersion.has(apiVersionOf(gv))
  }

  /** Every group version with registered kinds, served or not, sorted by apiVersion. */
  versions(): GroupVersion[] {
    return [...this.packagesByVersion.keys()].sort().map((apiVersion) => parseApiVersion(apiVersion) as GroupVersion)
  }

  /** Shape of any registered kind, also those without a resource (List kinds, options, Status, Scale, Table); undefined when unregistered. */
  schema(gvk: GroupVersionKind): StructSchema | undefined {
    const name = this.typeName(gvk)
    return name === undefined ? undefined : this.types.structType(name)
  }

  /** Like `schema`, by apiVersion and kind as an object carries them. */
  schemaOf(apiVersion: string, kind: string): StructSchema | undefined {
    const gv = parseApiVersion(apiVersion)
    return gv && this.schema({ ...gv, kind })
  }

  /** Declared Go-style name with import path, such as `k8s.io/api/core/v1.Pod`. */
  typeName(gvk: GroupVersionKind): string | undefined {
    if (gvk.kind === '' || gvk.kind.includes('.')) return undefined
    const apiVersion = apiVersionOf(gvk)
    if (apiVersion === 'meta.k8s.io/v1beta1') return BETA.has(gvk.kind) ? `${META}.${gvk.kind}` : undefined
    const paths = this.packagesByVersion.get(apiVersion)
    if (!paths) return undefined
    for (const path of paths) if (this.isKind(path, gvk.kind)) return `${path}.${gvk.kind}`
    if (EVERYWHERE.has(gvk.kind) || (apiVersion === 'v1' && UNVERSIONED.has(gvk.kind))) return `${META}.${gvk.kind}`
    return undefined
  }

  /** Resources of a server with this runtime-config; nothing given: those on by default. Groups keep discovery order. */
  served(config: RuntimeConfig = {}): ResourceInfo[] {
    return this.resources.filter((r) => isServed(r, config))
  }

  /** Resources of the group version that `served` would list. */
  servedIn(gv: GroupVersion, config: RuntimeConfig = {}): ResourceInfo[] {
    return this.resources.filter((r) => r.group === gv.group && r.version === gv.version && isServed(r, config))
  }

  private isKind(path: string, kind: string): boolean {
    const table = this.types.package(path).types
    if (!Object.hasOwn(table, kind)) return false
    const type = table[kind]
    return type?.f?.some((f) => f.i === 1 && /(^|\.)TypeMeta$/.test(f.t)) ?? kind === 'WatchEvent'
  }

  private resource(row: Row): ResourceInfo {
    let known: StructSchema | undefined
    const schema = (): StructSchema => {
      if (known) return known
      const found = this.schema(row)
      if (!found) throw new Error(`scheme: no type for ${apiVersionOf(row)} ${row.kind}`)
      known = found
      return found
    }
    return {
      group: row.group,
      version: row.version,
      kind: row.kind,
      resource: row.resource,
      singular: row.singular,
      namespaced: row.namespaced === true,
      verbs: row.verbs,
      shortNames: row.shortNames ?? [],
      categories: row.categories ?? [],
      ...(row.storage === undefined ? {} : { storageVersion: row.storage }),
      ...(row.etcd === undefined ? {} : { etcdPrefix: row.etcd }),
      ...(row.storageVersionHash === undefined ? {} : { storageVersionHash: row.storageVersionHash }),
      subresources: (row.subresources ?? []).map((s) => ({
        name: s.name,
        kind: s.kind,
        group: s.group ?? row.group,
        version: s.version ?? row.version,
        verbs: s.verbs,
      })),
      isDefault: row.default,
      schema,
    }
  }
}

function isServed(r: ResourceInfo, config: RuntimeConfig): boolean {
  const apiVersion = apiVersionOf(r)
  const own = config[`${apiVersion}/${r.resource}`]
  if (own !== undefined) return own
  const version = config[apiVersion] ?? config[`api/${apiVersion}`]
  if (version !== undefined) return version
  const stage = r.version.includes('alpha') ? 'alpha' : r.version.includes('beta') ? 'beta' : 'ga'
  return config[`api/${stage}`] ?? config['api/all'] ?? r.isDefault
}

function key(gv: GroupVersion, name: string): string {
  return `${gv.group}/${gv.version}/${name}`
}

/** Everything built in. */
export const scheme: Scheme = new Scheme(builtinTypes, discoveryTable, packagePaths)
