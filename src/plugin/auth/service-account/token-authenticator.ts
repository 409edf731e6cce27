import { createHash } from 'node:crypto'
import { quote } from '../../../apimachinery/quote.ts'
import type { UserInfo } from '../../../apiserver/authentication/authenticator.ts'
import type { TokenAuthenticator } from '../../../apiserver/authentication/token.ts'
import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Clock } from '../../../base/clock.ts'
import { type ObjectClaim, type TokenClaims, tokenClaims } from './claims.ts'
import { serviceAccountUser, serviceAccountUsername } from './identity.ts'
import { decodeJwt, type VerificationKey, verifyJwt } from './jwt.ts'
import type { BoundObjects } from './objects.ts'

export interface ServiceAccountTokenOptions {
  /** Keys whose tokens are believed, PEM already read. */
  readonly keys: readonly VerificationKey[]
  /** Accepted issuers; the first is the one that signs. */
  readonly issuers: readonly string[]
  readonly objects: BoundObjects
  readonly clock: Pick<Clock, 'now'>
  /** Told of each use of an extended token after the time it should have been renewed. */
  readonly onStaleToken?: (subject: string) => void
}

/** Tokens whose signature was found good, by hash. */
const REMEMBERED = 4096
/** A pod, node or secret that has been going away for longer than this no longer vouches for its tokens. */
const DELETION_LEEWAY_MS = 60_000

/**
 * Bound service-account tokens. The signature is checked once a token; times, audience, the service account and the objects a token
 * is bound to are checked on every use, so that deleting any of them ends it at once.
 */
export function serviceAccountTokenAuthenticator(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const verified = new BoundedMap<string, TokenClaims>(REMEMBERED)
  const issuers = new Set(options.issuers)
  const read = (token: string): TokenClaims | undefined => {
    const hash = createHash('sha256').update(token).digest('base64')
    const known = verified.get(hash)
    if (known) return known
    const decoded = decodeJwt(token)
    // Tokens of other issuers are not ours to judge.
    if (!decoded || typeof decoded.claims.iss !== 'string' || !issuers.has(decoded.claims.iss)) return undefined
    if (!verifyJwt(decoded, options.keys)) throw new Error('failed to verify signature')
    const claims = tokenClaims(decoded.claims)
    if (!claims) throw new Error('service account token claims could not be validated due to unexpected types')
    verified.set(hash, claims)
    return claims
  }
  return {
    name: 'service-account',
    async authenticateToken(token, audiences) {
      const claims = read(token)
      if (!claims) return undefined
      const shared = audiences.filter((a) => claims.aud.includes(a))
      if (shared.length === 0) {
        const list = (a: readonly string[]) => `[${a.map(quote).join(' ')}]`
        throw new Error(`token audiences ${list(claims.aud)} is invalid for the target audiences ${list(audiences)}`)
      }
      return { user: await validate(claims, options), audiences: shared }
    },
  }
}

async function validate(claims: TokenClaims, { objects, clock, onStaleToken }: ServiceAccountTokenOptions): Promise<UserInfo> {
  const now = clock.now()
  const bound = claims['kubernetes.io']
  const { namespace, serviceaccount } = bound
  if (now >= claims.exp * 1000) throw new Error('service account token has expired')
  if (now < claims.nbf * 1000) throw new Error('service account token is not valid yet')
  if (claims.sub !== serviceAccountUsername(namespace, serviceaccount.name)) throw new Error('service account token subject does not match its claims')
  const account = await objects.serviceAccount(namespace, serviceaccount.name)
  if (!account) throw new Error(`service account ${namespace}/${serviceaccount.name} has been deleted`)
  if (isGone(account, now)) throw new Error(`service account ${namespace}/${serviceaccount.name} has been deleted`)
  if (account.metadata.uid !== serviceaccount.uid) {
    throw new Error(`service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid})`)
  }
  const extra: Record<string, string[]> = {}
  if (claims.jti !== '') extra['authentication.kubernetes.io/credential-id'] = [`JTI=${claims.jti}`]
  if (bound.secret) checkBound('secret', bound.secret, await objects.secret(namespace, bound.secret.name), now)
  if (bound.pod) {
    const pod = checkBound('pod', bound.pod, await objects.pod(namespace, bound.pod.name), now)
    extra['authentication.kubernetes.io/pod-name'] = [bound.pod.name]
    extra['authentication.kubernetes.io/pod-uid'] = [pod.metadata.uid ?? '']
  }
  if (bound.node) {
    // Bound to a node alone, the node must be there; beside a pod it only says where the pod ran.
    if (!bound.pod) checkBound('node', bound.node, await objects.node(bound.node.name), now)
    extra['authentication.kubernetes.io/node-name'] = [bound.node.name]
    if (bound.node.uid) extra['authentication.kubernetes.io/node-uid'] = [bound.node.uid]
  }
  if (bound.warnafter !== undefined && now > bound.warnafter * 1000) onStaleToken?.(claims.sub)
  return serviceAccountUser(namespace, serviceaccount.name, account.metadata.uid, extra)
}

interface Deletable {
  metadata: { uid?: string; deletionTimestamp?: string }
}

const isGone = (object: Deletable, now: number) =>
  object.metadata.deletionTimestamp !== undefined && Date.parse(object.metadata.deletionTimestamp) + DELETION_LEEWAY_MS < now

function checkBound<T extends Deletable>(what: 'pod' | 'secret' | 'node', claim: ObjectClaim, object: T | undefined, now: number): T {
  if (!object || isGone(object, now)) throw new Error('service account token has been invalidated')
  if (object.metadata.uid !== claim.uid) {
    throw new Error(`${what} UID (${object.metadata.uid}) does not match service account ${what} ref claim (${claim.uid})`)
  }
  return object
}
