import { createHash, timingSafeEqual } from 'node:crypto'
import type { corev1 } from '../../../api/index.ts'
import type { TokenAuthenticator } from '../../../apiserver/authentication/token.ts'
import type { Clock } from '../../../base/clock.ts'

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
const SECRET_TYPE = 'bootstrap.kubernetes.io/token'

export interface BootstrapTokenOptions {
  /** A Secret of kube-system by name, current. */
  readonly secret: (name: string) => Promise<corev1.Secret | undefined>
  readonly clock: Pick<Clock, 'now'>
}

/** Tokens with which new nodes ask for their first certificate: `id.secret`, kept in Secrets of kube-system. */
export function bootstrapTokenAuthenticator({ secret, clock }: BootstrapTokenOptions): TokenAuthenticator {
  return {
    name: 'bootstrap-token',
    async authenticateToken(token, audiences) {
      const [, id, value] = TOKEN.exec(token) ?? []
      if (id === undefined || value === undefined) return undefined
      const found = await secret(`bootstrap-token-${id}`)
      if (!found || found.metadata.deletionTimestamp || found.type !== SECRET_TYPE) return undefined
      const data = (key: string) => Buffer.from(found.data?.[key] ?? '', 'base64').toString('utf8')
      if (!equal(data('token-secret'), value) || data('token-id') !== id) return undefined
      const expiration = data('expiration')
      if (expiration !== '' && !(Date.parse(expiration) > clock.now())) return undefined
      if (data('usage-bootstrap-authentication') !== 'true') return undefined
      const extra = data('auth-extra-groups') === '' ? [] : data('auth-extra-groups').split(',')
      if (!extra.every((g) => EXTRA_GROUP.test(g))) return undefined
      return { user: { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...[...new Set(extra)].sort()] }, audiences }
    },
  }
}

/** Takes the same time wherever the texts differ; their lengths are no secret. */
function equal(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
