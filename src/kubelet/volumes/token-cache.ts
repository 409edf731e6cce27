import type { TokenRequest } from '../../api/authentication/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import { nameOf, namespaceOf, uidOf } from '../pods/pod.ts'

const DAY_MS = 86_400_000
const JITTER_MS = 10_000
const LIMIT = 2000

interface Held {
  token: string
  refreshAt: number
  expiresAt: number
}

/** Service account tokens bound to Pods; a token is renewed at 80 % of its life, or after a day. */
export class TokenCache {
  private readonly held = new BoundedMap<string, Held>(LIMIT)
  private readonly client: Client
  private readonly clock: Clock
  private readonly random: Random

  constructor(client: Client, clock: Clock, random: Random) {
    this.client = client
    this.clock = clock
    this.random = random
  }

  async get(pod: Pod, audience: string, expirationSeconds: number): Promise<string> {
    const account = pod.spec.serviceAccountName || 'default'
    const key = [uidOf(pod), account, audience, expirationSeconds].join('\0')
    const now = this.clock.now()
    const held = this.held.get(key)
    if (held && now < held.refreshAt) return held.token
    try {
      const answer = await this.client
        .resource(resources.corev1.serviceaccounts)
        .namespace(namespaceOf(pod))
        .createSubresource<TokenRequest>(account, 'token', {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          metadata: {},
          spec: {
            audiences: audience ? [audience] : [],
            expirationSeconds,
            boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: nameOf(pod), uid: uidOf(pod) },
          },
        } as TokenRequest)
      const expiresAt = Date.parse(answer.status.expirationTimestamp ?? '') || now + expirationSeconds * 1000
      const life = Math.min(expirationSeconds * 1000, expiresAt - now)
      const refreshAt = now + Math.min(life * 0.8, DAY_MS) - this.random.float() * Math.min(JITTER_MS, life * 0.1)
      this.held.set(key, { token: answer.status.token, refreshAt, expiresAt })
      return answer.status.token
    } catch (error) {
      // An old token that still holds is better than none.
      if (held && now < held.expiresAt) return held.token
      throw new Error(`failed to fetch token: ${(error as Error).message}`, { cause: error })
    }
  }

  forget(podUid: string): void {
    for (const key of this.held.keys()) if (key.startsWith(`${podUid}\0`)) this.held.delete(key)
  }
}
