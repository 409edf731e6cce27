import { newForbidden, type StatusError } from '../../apimachinery/errors.ts'
import { quote } from '../../apimachinery/quote.ts'
import type { Attributes } from './authorizer.ts'

/** The 403 of a request that was not allowed, in upstream's words; `&<>` are escaped, as browsers may show it. */
export function forbiddenError(attributes: Attributes, reason: string | undefined): StatusError {
  const text = escapeHtml(refusalText(attributes) + (reason ? `: ${reason}` : ''))
  if (!attributes.resourceRequest) return newForbidden({ group: '', resource: '' }, '', text)
  return newForbidden({ group: attributes.apiGroup, resource: attributes.resource }, attributes.name, text)
}

function refusalText(a: Attributes): string {
  const user = `User ${quote(a.user.name)}`
  if (!a.resourceRequest) return `${user} cannot ${a.verb} path ${quote(a.path)}`
  const resource = a.subresource ? `${a.resource}/${a.subresource}` : a.resource
  const where = a.namespace ? ` in the namespace ${quote(a.namespace)}` : ' at the cluster scope'
  return `${user} cannot ${a.verb} resource ${quote(resource)} in API group ${quote(a.apiGroup)}${where}`
}

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
