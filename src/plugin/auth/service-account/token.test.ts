import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { authenticationv1, corev1 } from '../../../api/index.ts'
import type { StatusError } from '../../../apimachinery/errors.ts'
import { authenticateToken, InvalidBearerTokenError } from '../../../apiserver/authentication/token.ts'
import { seededRandom } from '../../../base/random.ts'
import { type BoundObjects, openIdDocuments, serviceAccountTokenAuthenticator, signingKey, tokenRequestHandler, verificationKey } from './index.ts'

const pem = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const meta = (name: string, uid: string) => ({ name, namespace: 'ns', uid })

function cluster() {
  const key = signingKey(pem())
  let now = Date.UTC(2026, 0, 1)
  const store = new Map<string, unknown>([
    ['sa/robot', { metadata: meta('robot', 'u-sa') }],
    ['pod/p', { metadata: meta('p', 'u-pod'), spec: { serviceAccountName: 'robot', nodeName: 'n1' } }],
    ['node/n1', { metadata: { name: 'n1', uid: 'u-node' } }],
  ])
  const objects: BoundObjects = {
    serviceAccount: async (_, name) => store.get(`sa/${name}`) as corev1.ServiceAccount | undefined,
    pod: async (_, name) => store.get(`pod/${name}`) as corev1.Pod | undefined,
    secret: async (_, name) => store.get(`secret/${name}`) as corev1.Secret | undefined,
    node: async (name) => store.get(`node/${name}`) as corev1.Node | undefined,
  }
  const clock = { now: () => now }
  const warnings: string[] = []
  const issue = async (spec: Partial<authenticationv1.TokenRequestSpec>, name = 'robot', metadata = {}) => {
    const handler = tokenRequestHandler({ key, issuer: ISSUER, apiAudiences: [ISSUER], objects, clock, random: seededRandom(1), maxExpirationSeconds: 1e8 })
    const context = { user: { name: 'x', groups: [] }, namespace: 'ns', name, dryRun: false, annotate: () => {}, warn: (w: string) => warnings.push(w) }
    return (await handler.create({ metadata, spec } as unknown as authenticationv1.TokenRequest, context)) as authenticationv1.TokenRequest
  }
  const authenticator = serviceAccountTokenAuthenticator({ keys: [key], issuers: [ISSUER], objects, clock })
  return {
    key,
    store,
    issue,
    warnings,
    check: (token: string, audiences = [ISSUER]) => authenticateToken([authenticator], token, audiences),
    pass: (ms: number) => (now += ms),
  }
}
const message = async (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (e: StatusError) => (e.reason ? `${e.code} ${e.message}` : e.message),
  )

test('a token is who it was made for', async () => {
  const c = cluster()
  const { spec, status, metadata } = await c.issue({})
  expect(spec).toEqual({ audiences: [ISSUER], expirationSeconds: 3600 })
  expect(status.expirationTimestamp).toBe('2026-01-01T01:00:00Z')
  expect(metadata).toMatchObject({ name: 'robot', namespace: 'ns', creationTimestamp: '2026-01-01T00:00:00Z' })
  expect(await c.check(status.token)).toEqual({
    user: {
      name: 'system:serviceaccount:ns:robot',
      uid: 'u-sa',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)] },
    },
    audiences: [ISSUER],
  })
})

test('a pod-bound token names pod and node, and ends with the pod', async () => {
  const c = cluster()
  const { status } = await c.issue({ expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } as never })
  const { user } = await c.check(status.token)
  expect(user.extra).toMatchObject({
    'authentication.kubernetes.io/pod-name': ['p'],
    'authentication.kubernetes.io/pod-uid': ['u-pod'],
    'authentication.kubernetes.io/node-name': ['n1'],
    'authentication.kubernetes.io/node-uid': ['u-node'],
  })
  expect(status.expirationTimestamp).toBe('2026-01-01T01:00:07Z')
  c.pass(300 * 24 * 3_600_000)
  expect((await c.check(status.token)).user.name).toBe('system:serviceaccount:ns:robot')
  c.store.delete('pod/p')
  expect(await message(c.check(status.token))).toBe('[invalid bearer token, service account token has been invalidated]')
})

test('what makes a token invalid', async () => {
  const c = cluster()
  const { status } = await c.issue({})
  const { token } = status
  expect(await message(c.check('garbage'))).toBe('invalid bearer token')
  expect(await message(c.check(token, ['vault']))).toBe(`[invalid bearer token, token audiences ["${ISSUER}"] is invalid for the target audiences ["vault"]]`)
  const [head, body, signature] = token.split('.') as [string, string, string]
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'system:serviceaccount:ns:boss' })).toString('base64url')
  expect(await message(c.check(`${head}.${forged}.${signature}`))).toContain('failed to verify signature')
  for (const alg of ['none', 'HS256', 'RS256']) {
    const other = Buffer.from(JSON.stringify({ alg, kid: c.key.id })).toString('base64url')
    await expect(c.check(`${other}.${body}.${alg === 'none' ? '' : signature}`)).rejects.toThrow(InvalidBearerTokenError)
  }
  c.store.set('sa/robot', { metadata: meta('robot', 'u-new') })
  expect(await message(c.check(token))).toBe('[invalid bearer token, service account UID (u-new) does not match claim (u-sa)]')
  c.store.delete('sa/robot')
  expect(await message(c.check(token))).toBe('[invalid bearer token, service account ns/robot has been deleted]')
  c.pass(3_600_000)
  expect(await message(c.check(token))).toBe('[invalid bearer token, service account token has expired]')
})

test('requests are refused in the words of the original', async () => {
  const c = cluster()
  const bound = (kind: string, name: string, uid?: string) => ({ boundObjectRef: { kind, apiVersion: 'v1', name, ...(uid ? { uid } : {}) } as never })
  c.store.set('sa/other', { metadata: meta('other', 'u-other') })
  const rows: [Promise<unknown>, string][] = [
    [
      c.issue({ expirationSeconds: 599 }),
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      c.issue({ expirationSeconds: 4294967297 }),
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    [c.issue({}, 'missing'), '404 serviceaccounts "missing" not found'],
    [c.issue(bound('Pod', 'nope')), '404 pods "nope" not found'],
    [c.issue(bound('Node', 'nope')), '404 nodes "nope" not found'],
    [c.issue(bound('ConfigMap', 'x')), '400 cannot bind token to object of type /v1, Kind=ConfigMap'],
    [
      c.issue({}, 'robot', { name: 'other' }),
      '422 TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
    ],
    [
      c.issue(bound('Pod', 'p', 'x')),
      '409 Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    [c.issue(bound('Pod', 'p'), 'other'), '400 cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.'],
  ]
  for (const [work, want] of rows) expect(await message(work)).toBe(want)
  await c.issue({ expirationSeconds: 2e8 })
  expect(c.warnings).toEqual(['requested expiration of 200000000 seconds shortened to 100000000 seconds'])
})

test('discovery shows the keys, for RSA too', () => {
  const rsa = verificationKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }) as string)
  const [configuration, jwks] = openIdDocuments(ISSUER, 'https://192.0.2.1:6443/openid/v1/jwks', [signingKey(pem()), rsa])
  expect(JSON.parse(configuration!.body)).toMatchObject({ issuer: ISSUER, id_token_signing_alg_values_supported: ['ES256', 'RS256'] })
  expect(JSON.parse(jwks!.body).keys.map((k: Record<string, string>) => Object.keys(k).join())).toEqual(['use,kty,kid,crv,alg,x,y', 'use,kty,kid,alg,n,e'])
})
