import type { authenticationv1, corev1 } from '../../../api/index.ts'
import { newBadRequest, newConflict, newInvalid, newNotFound } from '../../../apimachinery/errors.ts'
import { type ErrorList, FieldPath, invalid } from '../../../apimachinery/field.ts'
import { parseApiVersion } from '../../../apimachinery/object.ts'
import { quote } from '../../../apimachinery/quote.ts'
import { formatSeconds } from '../../../apimachinery/time.ts'
import type { CreateHandler } from '../../../apiserver/registry/create-handler.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { PrivateClaims, TokenClaims } from './claims.ts'
import { serviceAccountUsername } from './identity.ts'
import { type SigningKey, signJwt } from './jwt.ts'
import type { BoundObjects } from './objects.ts'

export interface TokenRequestOptions {
  readonly key: SigningKey
  readonly issuer: string
  /** Audiences of tokens that ask for none. */
  readonly apiAudiences: readonly string[]
  readonly objects: BoundObjects
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
  /** No token lives longer; undefined: no limit beyond the request's. */
  readonly maxExpirationSeconds?: number
  /** Tokens of pods that ask for exactly the kubelet's usual time live a year and warn @default true */
  readonly extendExpiration?: boolean
}

const MIN_SECONDS = 10 * 60
const MAX_SECONDS = 2 ** 32
/** What the kubelet asks for in the volumes that admission adds. */
const WARN_ONLY_SECONDS = 3607
const EXTENDED_SECONDS = 365 * 24 * 3600
const KIND = { group: 'authentication.k8s.io', kind: 'TokenRequest' }
const RESOURCE = { group: 'authentication.k8s.io', resource: 'TokenRequest' }

/** POST serviceaccounts/NAME/token: signs a token for a service account (KEP-1205, KEP-4193). */
export function tokenRequestHandler(options: TokenRequestOptions): CreateHandler<authenticationv1.TokenRequest> {
  return {
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    defaults({ spec }) {
      spec.expirationSeconds ??= 3600
    },
    async create(request, context) {
      const { namespace, name } = context
      const { metadata, spec } = request
      if (metadata.name && metadata.name !== name) {
        const path = FieldPath.root('metadata').child('name')
        throw newInvalid(KIND, name, [invalid(path, metadata.name, 'must match the service account name if specified')])
      }
      if (metadata.namespace && metadata.namespace !== namespace) {
        const path = FieldPath.root('metadata').child('namespace')
        throw newInvalid(KIND, name, [invalid(path, metadata.namespace, 'must match the service account namespace if specified')])
      }
      const account = await options.objects.serviceAccount(namespace, name)
      if (!account) throw newNotFound({ group: '', resource: 'serviceaccounts' }, name)
      if (metadata.uid && metadata.uid !== account.metadata.uid) {
        const text = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${account.metadata.uid})`
        throw newConflict(RESOURCE, name, text)
      }
      const audiences = spec.audiences?.length ? [...spec.audiences] : [...options.apiAudiences]
      let seconds = spec.expirationSeconds ?? 3600
      const errors = validateExpiration(seconds)
      if (errors.length) throw newInvalid(KIND, '', errors)
      const bound = spec.boundObjectRef ? await resolveBound(spec.boundObjectRef, namespace, name, options.objects) : {}
      if (options.maxExpirationSeconds !== undefined && seconds > options.maxExpirationSeconds) {
        context.warn(`requested expiration of ${seconds} seconds shortened to ${options.maxExpirationSeconds} seconds`)
        seconds = options.maxExpirationSeconds
      }
      const now = Math.floor(options.clock.now() / 1000)
      const extend =
        (options.extendExpiration ?? true) &&
        bound.pod !== undefined &&
        seconds === WARN_ONLY_SECONDS &&
        audiences.every((a) => options.apiAudiences.includes(a))
      const jti = options.random.uuid()
      const claims: TokenClaims = {
        aud: audiences,
        exp: now + (extend ? EXTENDED_SECONDS : seconds),
        iat: now,
        iss: options.issuer,
        jti,
        'kubernetes.io': {
          namespace,
          ...bound,
          serviceaccount: { name, uid: account.metadata.uid ?? '' },
          ...(extend ? { warnafter: now + seconds } : {}),
        },
        nbf: now,
        sub: serviceAccountUsername(namespace, name),
      }
      context.annotate('authentication.kubernetes.io/issued-credential-id', `JTI=${jti}`)
      return {
        ...request,
        metadata: { ...metadata, name, namespace, uid: options.random.uuid(), creationTimestamp: formatSeconds(now) },
        spec: { ...spec, audiences, expirationSeconds: seconds },
        status: { token: signJwt(claims, options.key), expirationTimestamp: formatSeconds(now + seconds) },
      } as authenticationv1.TokenRequest
    },
  }
}

function validateExpiration(seconds: number): ErrorList {
  const path = FieldPath.root('spec').child('expirationSeconds')
  if (seconds < MIN_SECONDS) return [invalid(path, seconds, 'may not specify a duration less than 10 minutes')]
  if (seconds > MAX_SECONDS) return [invalid(path, seconds, 'may not specify a duration larger than 2^32 seconds')]
  return []
}

async function resolveBound(
  ref: authenticationv1.BoundObjectReference,
  namespace: string,
  account: string,
  objects: BoundObjects,
): Promise<Pick<PrivateClaims, 'pod' | 'node' | 'secret'>> {
  const { group, version } = parseApiVersion(ref.apiVersion ?? '') ?? { group: ref.apiVersion ?? '', version: '' }
  const refName = ref.name ?? ''
  const found = async <T extends corev1.Pod | corev1.Secret | corev1.Node>(object: T | undefined, resource: string): Promise<T> => {
    if (!object) throw newNotFound({ group: '', resource }, refName)
    return object
  }
  const checkUid = (uid: string | undefined) => {
    if (!ref.uid || ref.uid === uid) return
    const text = `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw newConflict({ group, resource: ref.kind ?? '' }, refName, text)
  }
  if (group === '' && version === 'v1' && ref.kind === 'Pod') {
    const pod = await found(await objects.pod(namespace, refName), 'pods')
    if (pod.spec.serviceAccountName !== account) {
      throw newBadRequest(`cannot bind token for serviceaccount ${quote(account)} to pod running with different serviceaccount name.`)
    }
    checkUid(pod.metadata.uid)
    const claim = { pod: { name: refName, uid: pod.metadata.uid ?? '' } }
    if (!pod.spec.nodeName) return claim
    const node = await objects.node(pod.spec.nodeName)
    return { node: { name: pod.spec.nodeName, ...(node?.metadata.uid ? { uid: node.metadata.uid } : {}) }, ...claim }
  }
  if (group === '' && version === 'v1' && ref.kind === 'Node') {
    const node = await found(await objects.node(refName), 'nodes')
    checkUid(node.metadata.uid)
    return { node: { name: refName, uid: node.metadata.uid ?? '' } }
  }
  if (group === '' && version === 'v1' && ref.kind === 'Secret') {
    const secret = await found(await objects.secret(namespace, refName), 'secrets')
    checkUid(secret.metadata.uid)
    return { secret: { name: refName, uid: secret.metadata.uid ?? '' } }
  }
  throw newBadRequest(`cannot bind token to object of type ${group}/${version}, Kind=${ref.kind ?? ''}`)
}
