import type { TokenReview, UserInfo } from '../../api/authentication/v1/types.generated.ts'
import type { SubjectAccessReview } from '../../api/authorization/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Clock } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'

/** Who calls, and whether they may: asked of the API server, with short memories. */
export interface KubeletAuth {
  /** By bearer token; undefined when it is not believed. Throws when the server cannot be asked. */
  authenticate(token: string): Promise<UserInfo | undefined>
  /** @param subresources any of them is enough, tried in order */
  authorize(user: UserInfo, verb: string, subresources: readonly string[]): Promise<boolean>
}

const AUTHN_MS = 120_000
const ALLOWED_MS = 300_000
const DENIED_MS = 30_000
const LIMIT = 1000

class Memory<T> {
  private readonly entries = new BoundedMap<string, { value: T; until: number }>(LIMIT)
  private readonly clock: Clock
  constructor(clock: Clock) {
    this.clock = clock
  }
  get(key: string): T | undefined {
    const e = this.entries.get(key)
    return e && e.until > this.clock.monotonic() ? e.value : undefined
  }
  set(key: string, value: T, ms: number): void {
    this.entries.set(key, { value, until: this.clock.monotonic() + ms })
  }
}

export function delegatedAuth(client: Client, clock: Clock, nodeName: string): KubeletAuth {
  const users = new Memory<{ user: UserInfo | undefined }>(clock)
  const decisions = new Memory<boolean>(clock)
  return {
    async authenticate(token) {
      const known = users.get(token)
      if (known) return known.user
      const review = await client.resource(resources.authenticationv1.tokenreviews).create({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        metadata: {},
        spec: { token },
        status: { user: {} },
      } as TokenReview)
      const user = review.status?.authenticated ? review.status.user : undefined
      users.set(token, { user }, AUTHN_MS)
      return user
    },
    async authorize(user, verb, subresources) {
      for (const subresource of subresources) {
        const key = JSON.stringify([user.username, user.groups, user.uid, verb, subresource])
        let allowed = decisions.get(key)
        if (allowed === undefined) {
          const review = await client.resource(resources.authorizationv1.subjectaccessreviews).create({
            apiVersion: 'authorization.k8s.io/v1',
            kind: 'SubjectAccessReview',
            metadata: {},
            spec: {
              ...(user.username ? { user: user.username } : {}),
              ...(user.groups ? { groups: user.groups } : {}),
              ...(user.uid ? { uid: user.uid } : {}),
              ...(user.extra ? { extra: user.extra } : {}),
              resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
            },
            status: { allowed: false },
          } as SubjectAccessReview)
          allowed = review.status.allowed
          decisions.set(key, allowed, allowed ? ALLOWED_MS : DENIED_MS)
        }
        if (allowed) return true
      }
      return false
    },
  }
}
