import { newBadRequest } from '../../apimachinery/errors.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { ApiResponse } from '../request/api-request.ts'
import { badVersionError, parseResourceVersion } from '../request/list-options.ts'
import type { HandlerEnvironment, Target } from './request-scope.ts'

/** GET of one object. */
export async function handleGet(environment: HandlerEnvironment, target: Target): Promise<ApiResponse> {
  const { context, endpoint } = target
  const form = environment.responder.negotiator.negotiate(context, endpoint.mediaTypes, true)
  const store = endpoint.store as ResourceStore
  let version: number | undefined
  if (context.request.query !== '') {
    if (context.query.bool('export')) throw newBadRequest('the export parameter, deprecated since v1.14, is no longer supported')
    const text = context.query.get('resourceVersion') ?? ''
    if (text !== '') {
      version = parseResourceVersion(text)
      if (version === undefined) throw badVersionError(text)
    }
  }
  const stored = await store.get(target.namespace, target.name, version)
  return environment.responder.stored(context, endpoint, form, 200, stored)
}
