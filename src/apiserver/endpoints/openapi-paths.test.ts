import { describe, expect, it } from 'vitest'
import { scheme } from '../../api/scheme.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { OpenAPIDocuments } from '../openapi/index.ts'
import type { RequestContext } from '../request/context.ts'
import { Query } from '../request/query.ts'
import { OpenAPIPaths } from './openapi-paths.ts'

describe('OpenAPIPaths', () => {
  const documents = new OpenAPIDocuments({ scheme, resources: scheme.served(), version: '1.36' })
  const paths = new OpenAPIPaths(documents, new VirtualClock())
  const get = async (target: string, headers: Record<string, string> = {}) => {
    const [path, query = ''] = target.split('?') as [string, string?]
    const context = { info: { path }, query: new Query(query), request: { method: 'GET', headers, inProcess: false } } as unknown as RequestContext
    const response = await paths.serve(context)
    return { ...response, body: response?.bytes ? Buffer.from(response.bytes).toString() : '' }
  }

  it('lists documents as text whatever is accepted', async () => {
    const index = await get('/openapi/v3', { accept: 'text/html' })
    expect(index.status).toBe(200)
    expect(index.headers?.['content-type']).toMatch(/^text\/plain/)
    expect(JSON.parse(index.body).paths).toHaveProperty(['apis/apps/v1'])
  })

  it('sends a document for its hash, for none, and redirects from another', async () => {
    const url = JSON.parse((await get('/openapi/v3')).body).paths['apis/node.k8s.io/v1'].serverRelativeURL as string
    const right = await get(url)
    expect(right).toMatchObject({ status: 200, headers: { 'cache-control': 'public, immutable', 'content-type': 'application/json', vary: 'Accept' } })
    expect(JSON.parse(right.body).paths).toHaveProperty(['/apis/node.k8s.io/v1/runtimeclasses'])
    expect((await get('/openapi/v3/apis/node.k8s.io/v1')).headers).not.toHaveProperty('cache-control')
    expect(await get('/openapi/v3/apis/node.k8s.io/v1?hash=wrong')).toMatchObject({ status: 301, headers: { location: url }, body: '' })
    expect(await get(url, { 'if-none-match': right.headers?.etag as string })).toMatchObject({ status: 304, body: '' })
  })

  it('refuses what is not there and what is not JSON', async () => {
    for (const path of ['/openapi/v3/', '/openapi/v3/nothing', '/openapi/v3/apis/none.example.org/v1'])
      expect(await get(path)).toMatchObject({ status: 404, body: '' })
    expect(await get('/openapi/v3/version', { accept: 'application/yaml' })).toMatchObject({ status: 406, body: '' })
    expect(await get('/openapi/v2', { accept: 'text/html' })).toMatchObject({ status: 406, body: '' })
  })

  it('sends the OpenAPI 2 document with a tag', async () => {
    const first = await get('/openapi/v2')
    expect(JSON.parse(first.body)).toMatchObject({ swagger: '2.0', info: { title: 'Kubernetes' } })
    expect((await get('/openapi/v2', { 'if-none-match': first.headers?.etag as string })).status).toBe(304)
  })
})
