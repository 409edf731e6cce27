import type { Authenticator } from './authenticator.ts'
import { ANONYMOUS_USER, UNAUTHENTICATED } from './groups.ts'

/** Accepts everybody as nobody. Stands last, and is not asked when credentials were given and found wrong. */
export function anonymousAuthenticator(): Authenticator {
  const answer = { user: { name: ANONYMOUS_USER, groups: [UNAUTHENTICATED] } }
  return { name: 'anonymous', authenticate: async () => answer }
}
