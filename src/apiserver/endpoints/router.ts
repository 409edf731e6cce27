import { newMethodNotSupported, newNotFound } from '../../apimachinery/errors.ts'
import { handleCreate } from '../handlers/create.ts'
import { handleDelete, handleDeleteCollection } from '../handlers/delete.ts'
import { handleGet } from '../handlers/get.ts'
import { handleList } from '../handlers/list.ts'
import { handlePatch } from '../handlers/patch.ts'
import { checkTarget, type HandlerEnvironment, type Target } from '../handlers/request-scope.ts'
import { handleGetScale, handleWriteScale } from '../handlers/scale.ts'
import { handleCreateSubresource, handleVirtualCreate, handleVirtualRead } from '../handlers/subresource-create.ts'
import { handleUpdate } from '../handlers/update.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { Handler, RequestContext } from '../request/context.ts'
import type { Endpoint, SubresourceEndpoint } from './endpoint.ts'
import type { EndpointTable } from './endpoint-table.ts'
import { notFoundPlain } from './plain.ts'
import { routerMethodNotAllowed, routerNotFound } from './router-errors.ts'

export interface RouterOptions {
  readonly table: EndpointTable
  readonly environment: HandlerEnvironment
  /** Paths that are no resource. Undefined: nothing is served there. */
  nonResource(context: RequestContext): Promise<ApiResponse> | undefined
  /** Groups that others serve: custom resources not yet known, aggregated APIs. */
  readonly fallback?: (context: RequestContext) => Promise<ApiResponse> | undefined
}

/** Sends a request to the handler of its resource, subresource and verb. */
export function createRouter(options: RouterOptions): Handler {
  const { table, environment } = options
  return async (context) => {
    const { info } = context
    if (!info.isResource) {
      if (info.problem) return internalPlain(info.path, info.problem)
      const served = (await options.nonResource(context)) ?? (await options.fallback?.(context))
      if (served) return served
      if (isBelowKnownGroup(info.path, table)) throw routerNotFound()
      return notFoundPlain()
    }
    if (!info.path.startsWith('/api')) return notFoundPlain()
    const endpoint = table.find(info.group, info.version, info.resource)
    if (!endpoint) {
      const other = await options.fallback?.(context)
      if (other) return other
      if (!table.hasGroup(info.group)) return notFoundPlain()
      if (table.isCustomGroup(info.group)) return notFoundPlain()
      if (info.prefix === 'api' && info.group !== '') return notFoundPlain()
      throw routerNotFound()
    }
    const target = targetOf(context, endpoint)
    // The server of custom resources knows no Status for paths that are none of theirs.
    if (!target && endpoint.custom) return notFoundPlain()
    if (!target) throw routerNotFound()
    if (target.subresource !== '') return subresource(environment, target)
    return resource(environment, target)
  }
}

/** `/api/v2` or `/apis/apps/v9`: an unknown version of what is built in. */
function isBelowKnownGroup(path: string, table: EndpointTable): boolean {
  if (path.startsWith('/api/')) return true
  if (!path.startsWith('/apis/')) return false
  const group = path.slice(6).split('/')[0] as string
  return group !== '' && table.hasGroup(group) && !table.isCustomGroup(group)
}

/** Namespaced resources live below a namespace, others never do: no path reaches an object the authorizer was not asked about. */
function targetOf(context: RequestContext, endpoint: Endpoint): Target | undefined {
  const { info } = context
  const { parts } = info
  const isNamespaces = endpoint.info.resource === 'namespaces' && endpoint.info.group === ''
  const subresource = info.subresource
  const name = parts[1] ?? ''
  let namespace = info.namespace
  if (!endpoint.info.namespaced) {
    // A namespace in the path of a cluster-scoped resource is only ever the namespace object itself.
    if (namespace !== '' && !(isNamespaces && name === namespace)) return undefined
    namespace = ''
  } else if (namespace === '' && name !== '') return undefined
  if (parts.length > 3) {
    const sub = endpoint.subresources.get(subresource)
    if (sub?.kind !== 'connect' || subresource !== 'proxy') return undefined
  }
  return { context, endpoint, namespace, name, subresource }
}

async function resource(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint, name } = target
  if (endpoint.deprecation) warnWhenRouted(target, endpoint.deprecation)
  const { method } = context.request
  const { verbs } = endpoint.info
  if (context.info.watchPrefix) {
    if (method !== 'GET') throw routerMethodNotAllowed()
    if (!verbs.includes('watch')) throw routerNotFound()
    return handleList(environment, target, true)
  }
  const allNamespaces = endpoint.info.namespaced && target.namespace === ''
  if (name === '') {
    switch (method) {
      case 'GET':
        if (endpoint.virtual?.list) return handleVirtualRead(environment, target)
        if (!verbs.includes('list')) break
        return handleList(environment, target)
      case 'POST':
        if (allNamespaces || !verbs.includes('create')) break
        return endpoint.virtual ? handleVirtualCreate(environment, target) : handleCreate(environment, target)
      case 'DELETE':
        if (allNamespaces || !verbs.includes('deletecollection')) break
        return handleDeleteCollection(environment, target)
    }
    throw routerMethodNotAllowed()
  }
  switch (method) {
    case 'GET':
      if (endpoint.virtual?.get) return handleVirtualRead(environment, target)
      if (!verbs.includes('get')) break
      checkTarget(endpoint, target.namespace, name)
      return handleGet(environment, target)
    case 'PUT':
      if (!verbs.includes('update')) break
      return handleUpdate(environment, target)
    case 'PATCH':
      if (!verbs.includes('patch')) break
      return handlePatch(environment, target)
    case 'DELETE':
      if (!verbs.includes('delete')) break
      return handleDelete(environment, target)
  }
  // Resources without objects of their own have no such path at all.
  if (!verbs.includes('get') && !verbs.includes('update') && !verbs.includes('delete') && !verbs.includes('patch')) throw routerNotFound()
  throw routerMethodNotAllowed()
}

/** The warning belongs to routes that exist. */
function warnWhenRouted(target: Target, text: string): void {
  const { context, endpoint, name } = target
  const verb = METHOD_VERBS[context.request.method] ?? ''
  const { verbs } = endpoint.info
  const routed =
    name === ''
      ? verb === 'get'
        ? verbs.includes('list')
        : verb === 'delete'
          ? verbs.includes('deletecollection')
          : verbs.includes(verb)
      : verbs.includes(verb)
  if (routed) context.warn(text)
}

const METHOD_VERBS: Readonly<Record<string, string>> = { GET: 'get', PUT: 'update', PATCH: 'patch', POST: 'create', DELETE: 'delete' }

async function subresource(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  const sub: SubresourceEndpoint | undefined = endpoint.subresources.get(target.subresource)
  const { method } = context.request
  if (!sub && endpoint.custom) throw newNotFound(endpoint.gr, target.name)
  if (!sub) return unhandled(target, METHOD_VERBS[method] ?? '')
  if (sub.kind === 'connect') {
    const verb = METHOD_VERBS[method] ?? ''
    if (target.subresource !== 'proxy' && !sub.verbs.includes(verb)) throw routerMethodNotAllowed()
    checkTarget(endpoint, target.namespace, target.name)
    const rest = context.info.parts.slice(3)
    const trailing = context.info.path.endsWith('/') ? '/' : ''
    return sub.handler.connect({
      context,
      endpoint,
      namespace: target.namespace,
      name: target.name,
      subresource: target.subresource,
      path: rest.length > 0 ? `/${rest.join('/')}${trailing}` : trailing,
    })
  }
  if (context.info.watchPrefix || !sub.verbs.includes(METHOD_VERBS[method] ?? '')) {
    throw endpoint.custom ? newMethodNotSupported(endpoint.gr, METHOD_VERBS[method] ?? '') : routerMethodNotAllowed()
  }
  switch (sub.kind) {
    case 'create':
      return handleCreateSubresource(environment, target, sub)
    case 'scale':
      return method === 'GET' ? handleGetScale(environment, target, sub.fields) : handleWriteScale(environment, target, sub.fields, method === 'PATCH')
    case 'object':
      if (method === 'GET') {
        checkTarget(endpoint, target.namespace, target.name)
        return handleGet(environment, target)
      }
      return method === 'PATCH' ? handlePatch(environment, target, sub.strategy) : handleUpdate(environment, target, sub.strategy)
  }
}

/** A subresource that this server has no handler for: wrong methods and missing objects are told as they would be. */
async function unhandled(target: Target, verb: string): Promise<ApiResponse> {
  const known = target.endpoint.info.subresources.find((s) => s.name === target.subresource)
  if (!known) throw routerNotFound()
  if (!known.verbs.includes(verb)) throw routerMethodNotAllowed()
  await target.endpoint.store?.get(target.namespace, target.name)
  throw routerNotFound()
}

function internalPlain(path: string, problem: string): ApiResponse {
  const text = `Internal Server Error: ${JSON.stringify(path)}: failed to create RequestInfo: ${problem}\n`
  return { status: 500, headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, bytes: Buffer.from(text) }
}
