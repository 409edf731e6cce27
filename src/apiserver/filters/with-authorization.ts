import type { UserInfo } from '../authentication/authenticator.ts'
import type { Attributes, Authorizer } from '../authorization/authorizer.ts'
import { forbiddenError } from '../authorization/refusal.ts'
import type { Handler, RequestContext } from '../request/context.ts'

/** What a request wants, for the authorizers. */
export function attributesOf(context: RequestContext, user: UserInfo = context.user): Attributes {
  const info = context.info
  const attributes: Attributes = {
    user,
    verb: info.verb,
    resourceRequest: info.isResource,
    namespace: info.namespace,
    apiGroup: info.group,
    apiVersion: info.version,
    resource: info.resource,
    subresource: info.subresource,
    name: info.name,
    path: info.path,
  }
  if (!info.isResource || context.request.query === '') return attributes
  const fieldSelector = context.query.get('fieldSelector')
  const labelSelector = context.query.get('labelSelector')
  return { ...attributes, ...(fieldSelector ? { fieldSelector } : {}), ...(labelSelector ? { labelSelector } : {}) }
}

const STREAMS = new Set(['exec', 'attach', 'portforward'])

/** A WebSocket begins with a GET, yet runs a command or opens a connection as a POST does: who may only read Pods must not. */
const opensStream = (a: Attributes): boolean =>
  a.verb === 'get' && a.resourceRequest && a.apiGroup === '' && a.resource === 'pods' && STREAMS.has(a.subresource)

/** Lets through what the user may do, else 403. */
export function withAuthorization(next: Handler, authorizer: Authorizer): Handler {
  return async (context) => {
    const attributes = attributesOf(context)
    const answer = authorizer.authorize(attributes)
    const decision = answer instanceof Promise ? await answer : answer
    if (decision.decision === 'allow') {
      if (!opensStream(attributes)) return next(context)
      const create = { ...attributes, verb: 'create' }
      const second = await authorizer.authorize(create)
      if (second.decision === 'allow') return next(context)
      context.responseHeaders['x-content-type-options'] = 'nosniff'
      throw forbiddenError(create, second.reason)
    }
    context.responseHeaders['x-content-type-options'] = 'nosniff'
    throw forbiddenError(attributes, decision.reason)
  }
}
