import { createHash } from 'node:crypto'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Clock } from '../../base/clock.ts'
import type { TokenAuthentication, TokenAuthenticator } from './token.ts'

/** How long a token that was good is believed without looking again; upstream's time. */
const BELIEVED_MS = 10_000
const MAX_REMEMBERED = 4096

/**
 * Remembers good tokens for 10 s: checking a signature costs more than most requests. Bad ones are looked at each time. Tokens are kept
 * as hashes only.
 */
export function cachedTokenAuthenticator(inner: TokenAuthenticator, clock: Pick<Clock, 'monotonic'>): TokenAuthenticator {
  const known = new BoundedMap<string, { answer: TokenAuthentication; until: number }>(MAX_REMEMBERED)
  return {
    name: inner.name,
    async authenticateToken(token, audiences) {
      const key = `${createHash('sha256').update(token).digest('base64')} ${audiences.join(' ')}`
      const now = clock.monotonic()
      const hit = known.get(key)
      if (hit && hit.until > now) return hit.answer
      if (hit) known.delete(key)
      const answer = await inner.authenticateToken(token, audiences)
      if (answer) {
        known.set(key, { answer, until: now + BELIEVED_MS })
      }
      return answer
    },
  }
}
