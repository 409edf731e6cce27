import type { authenticationv1 } from '../../api/index.ts'
import { newBadRequest } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts'
import { authenticateToken, type TokenAuthenticator } from '../../apiserver/authentication/token.ts'
import type { CreateHandler } from '../../apiserver/registry/create-handler.ts'
import type { Clock } from '../../base/clock.ts'

const GROUP = 'authentication.k8s.io'

/** A user as reviews show it: no empty fields, extra keys sorted. */
export function userInfoObject(user: UserInfo): authenticationv1.UserInfo {
  const keys = Object.keys(user.extra ?? {}).sort()
  return {
    ...(user.name === '' ? {} : { username: user.name }),
    ...(user.uid ? { uid: user.uid } : {}),
    ...(user.groups.length ? { groups: [...user.groups] } : {}),
    ...(keys.length ? { extra: Object.fromEntries(keys.map((k) => [k, [...(user.extra?.[k] ?? [])]])) } : {}),
  }
}

export interface TokenReviewOptions {
  readonly authenticators: readonly TokenAuthenticator[]
  /** Audiences a review that names none is about. */
  readonly apiAudiences: readonly string[]
}

export function tokenReviewHandler({ authenticators, apiAudiences }: TokenReviewOptions): CreateHandler<authenticationv1.TokenReview> {
  return {
    group: GROUP,
    resource: 'tokenreviews',
    async create(review) {
      const token = review.spec?.token ?? ''
      if (token === '') throw newBadRequest('token is required for TokenReview in authentication')
      const audiences = review.spec.audiences?.length ? review.spec.audiences : apiAudiences
      try {
        const found = await authenticateToken(authenticators, token, audiences)
        const shown = { authenticated: true, user: userInfoObject(found.user) }
        return { ...review, status: found.audiences.length ? { ...shown, audiences: [...found.audiences] } : shown }
      } catch (error) {
        return { ...review, status: { user: {}, error: error instanceof Error ? error.message : String(error) } }
      }
    },
  }
}

export function selfSubjectReviewHandler(clock: Pick<Clock, 'now'>): CreateHandler<authenticationv1.SelfSubjectReview> {
  return {
    group: GROUP,
    resource: 'selfsubjectreviews',
    async create(review, { user }) {
      const creationTimestamp = formatTime(clock.now())
      return { ...review, metadata: { creationTimestamp }, status: { userInfo: userInfoObject(user) } }
    },
  }
}
