import { newUnauthorized } from '../../apimachinery/errors.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Authenticator } from '../authentication/authenticator.ts'
import { asAuthenticated } from '../authentication/groups.ts'
import type { Handler } from '../request/context.ts'

/** Finds out who asks; credentials nobody accepts: 401. */
export function withAuthentication(next: Handler, authenticator: Authenticator, log: Logger): Handler {
  return async (context) => {
    const { credentials } = context.request
    if (credentials.inProcessUser) {
      context.user = asAuthenticated(credentials.inProcessUser)
      return next(context)
    }
    const found = await authenticator.authenticate(credentials).catch((error: unknown) => {
      log.v(2).info('unable to authenticate the request', { error: error instanceof Error ? error.message : String(error) })
      return undefined
    })
    if (!found) {
      context.responseHeaders['x-content-type-options'] = 'nosniff'
      throw newUnauthorized()
    }
    context.user = found.user
    return next(context)
  }
}
