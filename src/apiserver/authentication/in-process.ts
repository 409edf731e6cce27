import type { Authenticator } from './authenticator.ts'
import { asAuthenticated } from './groups.ts'

/** Callers inside the process, introduced by whoever built the server. No request from a socket can carry such a user. */
export function inProcessAuthenticator(): Authenticator {
  return {
    name: 'in-process',
    authenticate: async ({ inProcessUser }) => (inProcessUser ? { user: asAuthenticated(inProcessUser) } : undefined),
  }
}
