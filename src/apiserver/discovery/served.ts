import type { ResourceInfo, RuntimeConfig, Scheme } from '../../api/scheme.ts'
import { apiVersionOf } from '../../apimachinery/object.ts'

export interface ServedSubresource {
  readonly name: string
  /** Empty: the subresource has no kind of its own (custom resources' status has the parent's, said outright). */
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly verbs: readonly string[]
}

export interface ServedResource {
  readonly resource: string
  readonly kind: string
  readonly singular: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly storageVersionHash?: string
  readonly subresources: readonly ServedSubresource[]
}

/** One group version as discovery shows it. */
export interface ServedVersion {
  readonly group: string
  readonly version: string
  /** Orders groups: highest first, then by name. A group has the highest of its versions. */
  readonly groupPriority: number
  /** Orders versions of a group: highest first, then as Kubernetes orders version names. */
  readonly versionPriority: number
  readonly resources: readonly ServedResource[]
  /** Built-in kinds leave group and version of response kinds empty in the aggregated form; custom resources name them. */
  readonly builtin: boolean
  /** Resources as last seen from another server that does not answer now. */
  readonly stale?: boolean
}

/** Priorities that groups of custom resources get. */
export const CUSTOM_GROUP_PRIORITY = 1000
export const CUSTOM_VERSION_PRIORITY = 100

/** What the built-in kinds contribute under a runtime-config. */
export function builtinVersions(scheme: Scheme, config: RuntimeConfig = {}): ServedVersion[] {
  const byVersion = new Map<string, ResourceInfo[]>()
  for (const r of scheme.served(config)) {
    const key = apiVersionOf(r)
    const list = byVersion.get(key)
    if (list) list.push(r)
    else byVersion.set(key, [r])
  }
  const out: ServedVersion[] = []
  for (const g of scheme.groups) {
    for (const v of g.versions) {
      const resources = byVersion.get(apiVersionOf({ group: g.group, version: v.version }))
      if (!resources) continue
      out.push({ group: g.group, version: v.version, groupPriority: g.groupPriority, versionPriority: v.priority, resources, builtin: true })
    }
  }
  return out
}

export interface ServedGroup {
  readonly group: string
  readonly versions: readonly ServedVersion[]
}

/** Groups in discovery order with their versions in preference order. */
export function orderGroups(versions: readonly ServedVersion[]): ServedGroup[] {
  const groups = new Map<string, ServedVersion[]>()
  for (const v of versions) {
    const list = groups.get(v.group)
    if (list) list.push(v)
    else groups.set(v.group, [v])
  }
  const priority = (list: readonly ServedVersion[]) => Math.max(...list.map((v) => v.groupPriority))
  return [...groups]
    .map(([group, list]) => ({ group, versions: list.sort((a, b) => b.versionPriority - a.versionPriority || compareVersions(b.version, a.version)) }))
    .sort((a, b) => priority(b.versions) - priority(a.versions) || (a.group < b.group ? -1 : 1))
}

const VERSION = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/

/** Kubernetes' order of version names, later is greater: v2, v1, v2beta1, v1alpha1, then others by reverse name. */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  const x = VERSION.exec(a)
  const y = VERSION.exec(b)
  if (!x || !y) return x ? 1 : y ? -1 : a < b ? 1 : -1
  const stage = (m: RegExpExecArray) => (m[2] === undefined ? 2 : m[2] === 'beta' ? 1 : 0)
  return stage(x) - stage(y) || Number(x[1]) - Number(y[1]) || Number(x[3] ?? 0) - Number(y[3] ?? 0)
}
