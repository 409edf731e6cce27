import { newUnauthorized } from '../../apimachinery/errors.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Authenticator } from '../authentication/authenticator.ts'
import type { Handler } from '../request/context.ts'

/** Finds out who asks: the first authenticator that accepts the credentials says; none: 401. */
export function withAuthentication(next: Handler, authenticators: readonly Authenticator[], log: Logger): Handler {
  return async (context) => {
    const credentials = context.request.credentials
    if (credentials.inProcessUser) {
      context.user = credentials.inProcessUser
      return next(context)
    }
    let failed: unknown
    for (const authenticator of authenticators) {
      try {
        const found = await authenticator.authenticate(credentials)
        if (found && (failed === undefined || authenticator.name !== 'anonymous')) {
          context.user = found.user
          return next(context)
        }
      } catch (error) {
        failed ??= error
      }
    }
    if (failed !== undefined) log.v(2).info('unable to authenticate the request', { error: failed instanceof Error ? failed.message : String(failed) })
    context.responseHeaders['x-content-type-options'] = 'nosniff'
    throw newUnauthorized()
  }
}
