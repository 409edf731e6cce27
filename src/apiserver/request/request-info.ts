/** What a path and method mean, in the terms of authorization and routing. */
export interface RequestInfo {
  readonly isResource: boolean
  /** Decoded path. */
  readonly path: string
  readonly verb: string
  /** `api`, `apis`, or '' for other paths. */
  readonly prefix: string
  readonly group: string
  readonly version: string
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  readonly name: string
  /** Segments from the resource on. */
  readonly parts: readonly string[]
  /** The old `/watch/` form. */
  readonly watchPrefix: boolean
  /** Why the path of a resource request cannot be understood. */
  readonly problem?: string
}

/** The path is not percent-encoded as it should be. */
export class BadPathError extends Error {}

function decode(path: string): string {
  if (path.indexOf('%') < 0) return path
  try {
    return decodeURIComponent(path)
  } catch {
    throw new BadPathError(`invalid URL escape in ${JSON.stringify(path)}`)
  }
}

const NAMESPACE_SUBRESOURCES = ['status', 'finalize']

function methodVerb(method: string): string {
  switch (method) {
    case 'POST':
      return 'create'
    case 'GET':
    case 'HEAD':
      return 'get'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return 'delete'
    default:
      return ''
  }
}

/**
 * Reads a path as upstream does: percent-decoded first, then split at slashes. `isWatch` tells whether the query asks for a watch,
 * `nameSelector` the name a field selector pins, both asked for only when they matter.
 */
export function parseRequestInfo(method: string, rawPath: string, isWatch: () => boolean, nameSelector: () => string): RequestInfo {
  const path = decode(rawPath)
  const other = (problem?: string): RequestInfo => ({
    isResource: false,
    path,
    verb: method.toLowerCase(),
    prefix: '',
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
    watchPrefix: false,
    ...(problem ? { problem } : {}),
  })
  let parts = splitPath(path)
  const prefix = parts[0]
  if (parts.length < 3 || (prefix !== 'api' && prefix !== 'apis')) return other()
  let group = ''
  let at = 1
  if (prefix === 'apis') {
    if (parts.length < 4) return other()
    group = parts[1] as string
    at = 2
  }
  const version = parts[at] as string
  parts = parts.slice(at + 1)
  let verb = methodVerb(method)
  let watchPrefix = false
  if (parts[0] === 'watch' || parts[0] === 'proxy') {
    if (parts.length < 2) return other(`unable to determine kind and namespace from url, ${path}`)
    verb = parts[0]
    watchPrefix = parts[0] === 'watch'
    parts = parts.slice(1)
  }
  let namespace = ''
  if (parts[0] === 'namespaces') {
    if (parts.length > 1) {
      namespace = parts[1] as string
      if (parts.length > 2 && !NAMESPACE_SUBRESOURCES.includes(parts[2] as string)) parts = parts.slice(2)
    }
  }
  const resource = parts[0] as string
  const name = parts.length > 1 ? (parts[1] as string) : ''
  const subresource = parts.length > 2 ? (parts[2] as string) : ''
  let selected = name
  if (name === '' && verb === 'get') {
    verb = isWatch() ? 'watch' : 'list'
  }
  if (name === '' && verb === 'delete') verb = 'deletecollection'
  if (name === '' && (verb === 'list' || verb === 'watch' || verb === 'deletecollection')) selected = nameSelector()
  return { isResource: true, path, verb, prefix, group, version, namespace, resource, subresource, name: selected, parts, watchPrefix }
}

function splitPath(path: string): string[] {
  let start = 0
  let end = path.length
  while (start < end && path.charCodeAt(start) === 47) start++
  while (end > start && path.charCodeAt(end - 1) === 47) end--
  if (start === end) return []
  return path.slice(start, end).split('/')
}
