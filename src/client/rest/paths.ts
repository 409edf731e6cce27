import type { GroupVersionResource } from '../../apimachinery/object.ts'

export interface ResourcePath {
  handle: GroupVersionResource
  namespace?: string | undefined
  name?: string
  subresource?: string
}

/** `/api/v1/…` or `/apis/<group>/<version>/…`, every part percent-encoded. */
export function resourcePath(path: ResourcePath): string {
  const { handle, namespace, name, subresource } = path
  let out = handle.group === '' ? `/api/${handle.version}` : `/apis/${handle.group}/${handle.version}`
  if (namespace) out += `/namespaces/${encodeURIComponent(namespace)}`
  out += `/${handle.resource}`
  if (name !== undefined) out += `/${encodeURIComponent(name)}`
  if (subresource) out += `/${subresource.split('/').map(encodeURIComponent).join('/')}`
  return out
}

/** Appends what is set; `true` is printed as such, false and undefined are left out. */
export function withQuery(path: string, query: Record<string, string | number | boolean | undefined>): string {
  const parts: string[] = []
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === false || value === '') continue
    parts.push(`${key}=${encodeURIComponent(String(value))}`)
  }
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`
}
