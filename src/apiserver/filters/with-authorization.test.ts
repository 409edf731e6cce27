import { expect, test } from 'vitest'
import type { Attributes, Authorizer } from '../authorization/authorizer.ts'
import type { RequestContext } from '../request/context.ts'
import { withAuthorization } from './with-authorization.ts'

const context = (verb: string, resource: string, subresource: string, group = '') =>
  ({
    user: { name: 'jane', groups: [] },
    info: { verb, isResource: true, namespace: 'ns', group, version: 'v1', resource, subresource, name: 'p', path: '/x' },
    request: { query: '' },
    query: new URLSearchParams(),
    responseHeaders: {},
  }) as unknown as RequestContext

/** Who may only get. */
const reader: Authorizer = { name: 'reader', authorize: (a: Attributes) => ({ decision: a.verb === 'get' ? 'allow' : 'noOpinion' }) }
const all: Authorizer = { name: 'all', authorize: () => ({ decision: 'allow' }) }
const next = async () => ({ status: 200, headers: {} })

test.each(['exec', 'attach', 'portforward'])('a GET of pods/%s needs the right to create, as the POST does', async (subresource) => {
  await expect(withAuthorization(next, reader)(context('get', 'pods', subresource))).rejects.toMatchObject({
    code: 403,
    message: `pods "p" is forbidden: User "jane" cannot create resource "pods/${subresource}" in API group "" in the namespace "ns"`,
  })
  expect((await withAuthorization(next, all)(context('get', 'pods', subresource))).status).toBe(200)
})

test('other reads need no more than the right to read', async () => {
  for (const c of [
    context('get', 'pods', 'log'),
    context('get', 'pods', ''),
    context('get', 'pods', 'exec', 'example.com'),
    context('get', 'services', 'attach'),
  ]) {
    expect((await withAuthorization(next, reader)(c)).status).toBe(200)
  }
})
