import type { Impersonator } from '../authentication/impersonation.ts'
import type { Handler } from '../request/context.ts'
import { attributesOf } from './with-authorization.ts'

/** Acts as the user named by Impersonate-* headers, when the caller may. */
export function withImpersonation(next: Handler, impersonator: Impersonator): Handler {
  return async (context) => {
    const { headers } = context.request
    if (headers['impersonate-user'] === undefined && !hasImpersonation(headers)) return next(context)
    const found = await impersonator.impersonate(headers, attributesOf(context))
    if (found) {
      context.impersonator = context.user
      context.user = found.user
    }
    return next(context)
  }
}

function hasImpersonation(headers: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true
  return false
}
