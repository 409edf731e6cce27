import { expect, test } from 'vitest'
import type { corev1 } from '../../../api/index.ts'
import { bootstrapTokenAuthenticator } from './index.ts'

const now = Date.UTC(2026, 0, 1)
const good = {
  'token-id': 'abcdef',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
  'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
  expiration: '2026-01-02T00:00:00Z',
}
const ask = (token: string, change: Record<string, string> = {}, rest: object = {}) => {
  const data = Object.fromEntries(Object.entries({ ...good, ...change }).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))
  const secret = { metadata: { name: 'bootstrap-token-abcdef' }, type: 'bootstrap.kubernetes.io/token', data, ...rest } as unknown as corev1.Secret
  return bootstrapTokenAuthenticator({
    secret: async (name) => (name === 'bootstrap-token-abcdef' ? secret : undefined),
    clock: { now: () => now },
  }).authenticateToken(token, ['a'])
}

test('a token of a Secret is a bootstrapper', async () => {
  expect(await ask('abcdef.0123456789abcdef')).toEqual({
    user: { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', 'system:bootstrappers:kubeadm:default-node-token'] },
    audiences: ['a'],
  })
})

test.each([
  ['another form', 'abcdef', {}, {}],
  ['another secret', 'abcdef.0123456789abcdee', {}, {}],
  ['no such Secret', 'abcdeg.0123456789abcdef', {}, {}],
  ['expired', 'abcdef.0123456789abcdef', { expiration: '2025-12-31T00:00:00Z' }, {}],
  ['an expiration that is no time', 'abcdef.0123456789abcdef', { expiration: 'soon' }, {}],
  ['not for authentication', 'abcdef.0123456789abcdef', { 'usage-bootstrap-authentication': 'yes' }, {}],
  ['a group outside the bootstrappers', 'abcdef.0123456789abcdef', { 'auth-extra-groups': 'system:masters' }, {}],
  ['another type of Secret', 'abcdef.0123456789abcdef', {}, { type: 'Opaque' }],
  ['an id that differs from the name', 'abcdef.0123456789abcdef', { 'token-id': 'zzzzzz' }, {}],
])('nobody: %s', async (_name, token, change, rest) => {
  expect(await ask(token, change, rest)).toBeUndefined()
})
