import { newForbidden } from '../../apimachinery/errors.ts'
import type { UserInfo } from '../authentication/authenticator.ts'
import type { Attributes, Authorizer, Decision } from '../authorization/authorizer.ts'
import type { Handler, RequestContext } from '../request/context.ts'

/** Asks the authorizers in order; the first that allows or denies decides. */
export async function authorize(authorizers: readonly Authorizer[], attributes: Attributes): Promise<Decision> {
  const reasons: string[] = []
  for (const authorizer of authorizers) {
    const answer = authorizer.authorize(attributes)
    const decision = answer instanceof Promise ? await answer : answer
    if (decision.decision === 'allow') return decision
    if (decision.reason) reasons.push(decision.reason)
    if (decision.decision === 'deny') return { decision: 'deny', ...(reasons.length ? { reason: reasons.join('\n') } : {}) }
  }
  return { decision: 'noOpinion', ...(reasons.length ? { reason: reasons.join('\n') } : {}) }
}

/** What a request wants, for the authorizers. */
export function attributesOf(context: RequestContext, user: UserInfo = context.user): Attributes {
  const info = context.info
  const attributes = {
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

/** The refusal in upstream's words. */
export function forbidden(attributes: Attributes, reason: string | undefined): Error {
  const text = refusalText(attributes) + (reason ? `: ${reason}` : '')
  if (!attributes.resourceRequest) return newForbidden({ group: '', resource: '' }, '', escape(text))
  return newForbidden({ group: attributes.apiGroup, resource: attributes.resource }, attributes.name, escape(text))
}

function refusalText(a: Attributes): string {
  const user = `User ${JSON.stringify(a.user.name)}`
  if (!a.resourceRequest) return `${user} cannot ${a.verb} path ${JSON.stringify(a.path)}`
  const resource = a.subresource ? `${a.resource}/${a.subresource}` : a.resource
  const where = a.namespace ? ` in the namespace ${JSON.stringify(a.namespace)}` : ' at the cluster scope'
  return `${user} cannot ${a.verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(a.apiGroup)}${where}`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Lets through what the user may do, else 403. */
export function withAuthorization(next: Handler, authorizers: readonly Authorizer[]): Handler {
  return async (context) => {
    const attributes = attributesOf(context)
    const decision = await authorize(authorizers, attributes)
    if (decision.decision === 'allow') return next(context)
    context.responseHeaders['x-content-type-options'] = 'nosniff'
    throw forbidden(attributes, decision.reason)
  }
}
