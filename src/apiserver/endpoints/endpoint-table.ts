import type { Endpoint } from './endpoint.ts'

/** The resources a server serves just now. Custom resources come and go. */
export class EndpointTable {
  private readonly byPath = new Map<string, Map<string, Endpoint>>()
  private readonly groups = new Map<string, number>()
  private readonly listeners = new Set<() => void>()

  add(endpoint: Endpoint): void {
    const gv = `${endpoint.info.group}/${endpoint.info.version}`
    let resources = this.byPath.get(gv)
    if (!resources) {
      resources = new Map()
      this.byPath.set(gv, resources)
    }
    if (!resources.has(endpoint.info.resource)) this.groups.set(endpoint.info.group, (this.groups.get(endpoint.info.group) ?? 0) + 1)
    resources.set(endpoint.info.resource, endpoint)
    for (const listener of this.listeners) listener()
  }

  remove(group: string, version: string, resource: string): void {
    const resources = this.byPath.get(`${group}/${version}`)
    if (!resources?.delete(resource)) return
    if (resources.size === 0) this.byPath.delete(`${group}/${version}`)
    const left = (this.groups.get(group) ?? 1) - 1
    if (left === 0) this.groups.delete(group)
    else this.groups.set(group, left)
    for (const listener of this.listeners) listener()
  }

  find(group: string, version: string, resource: string): Endpoint | undefined {
    return this.byPath.get(`${group}/${version}`)?.get(resource)
  }

  hasGroup(group: string): boolean {
    return this.groups.has(group)
  }

  /** All that is served in the group are custom resources. */
  isCustomGroup(group: string): boolean {
    for (const [, resources] of this.byPath) for (const e of resources.values()) if (e.info.group === group) return e.custom
    return false
  }

  hasVersion(group: string, version: string): boolean {
    return this.byPath.has(`${group}/${version}`)
  }

  /** Any served version of a resource. */
  anyVersion(group: string, resource: string): Endpoint | undefined {
    for (const resources of this.byPath.values()) {
      const endpoint = resources.get(resource)
      if (endpoint && endpoint.info.group === group) return endpoint
    }
    return undefined
  }

  *all(): Iterable<Endpoint> {
    for (const resources of this.byPath.values()) yield* resources.values()
  }

  /** Calls back whenever the table changed. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}
