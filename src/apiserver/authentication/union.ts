import type { Authenticator } from './authenticator.ts'

/** Several authenticators as one: the first that accepts answers. What a wrong credential threw is thrown when nobody accepts. */
export function unionAuthenticator(authenticators: readonly Authenticator[]): Authenticator {
  return {
    name: 'union',
    async authenticate(credentials) {
      const errors: unknown[] = []
      for (const authenticator of authenticators) {
        if (errors.length && authenticator.name === 'anonymous') break
        try {
          const found = await authenticator.authenticate(credentials)
          if (found) return found
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length) throw errors.length === 1 ? errors[0] : new AggregateError(errors, 'no authenticator accepts the credentials')
      return undefined
    },
  }
}
