import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { ConfigMap } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { VirtualClock } from '../../base/index.ts'
import { ConnectionError } from '../client.ts'
import { createClient } from './client.ts'
import { createHttpsTransport } from './https-transport.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function serve(handler: (path: string, res: ServerResponse, body: string, headers: Record<string, unknown>) => void) {
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (c) => (body += c))
    req.on('end', () => handler(`${req.method} ${req.url}`, res, body, req.headers))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const transport = createHttpsTransport({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'secret' })
  return { server, transport }
}

const maps = resources.corev1.configmaps

describe('client over HTTP', () => {
  it('writes and reads objects, with its token and user agent', async () => {
    const seen: unknown[] = []
    const { transport } = await serve((path, res, body, headers) => {
      seen.push([path, body && JSON.parse(body), headers['authorization'], headers['user-agent']])
      res.end(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' } }))
    })
    const client = createClient(transport, { userAgent: 'me/1' })
    const made = await client
      .resource(maps)
      .namespace('n s')
      .create({ metadata: { name: 'a' } } as ConfigMap, { fieldManager: 'm', dryRun: true })
    expect(Object.isFrozen(made.metadata)).toBe(true)
    await client
      .resource(maps)
      .namespace('n')
      .delete('a', { preconditions: { uid: 'u' } })
    expect(seen).toEqual([
      [
        'POST /api/v1/namespaces/n%20s/configmaps?dryRun=All&fieldManager=m',
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
        'Bearer secret',
        'me/1',
      ],
      ['DELETE /api/v1/namespaces/n/configmaps/a', { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'u' } }, 'Bearer secret', 'me/1'],
    ])
    transport.close()
  })

  it('throws the Status of the server, and a generic one for other answers', async () => {
    const { transport } = await serve((path, res) => {
      if (path.endsWith('/gone')) {
        res.statusCode = 404
        res.end(JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'NotFound', message: 'configmaps "gone" not found', code: 404 }))
      } else {
        res.statusCode = 502
        res.end('bad gateway')
      }
    })
    const client = createClient(transport).resource(maps).namespace('n')
    await expect(client.get('gone')).rejects.toSatisfy(isNotFound)
    await expect(client.get('x')).rejects.toMatchObject({ code: 502, details: { causes: [{ message: 'bad gateway' }] } })
    transport.close()
  })

  it('waits as Retry-After asks', async () => {
    const clock = new VirtualClock()
    let tries = 0
    const { transport } = await serve((_, res) => {
      if (++tries === 1) res.writeHead(429, { 'retry-after': '7' }).end()
      else res.end(JSON.stringify({ kind: 'ConfigMap', metadata: { name: 'a' } }))
    })
    const answer = createClient(transport, { clock }).resource(maps).namespace('n').get('a')
    await clock.advanceUntil(() => tries === 1 && clock.timerCount() === 1).catch(() => {})
    while (clock.timerCount() === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(6_999)
    expect(tries).toBe(1)
    await clock.advance(1)
    expect((await answer).metadata.name).toBe('a')
    expect(clock.monotonic()).toBe(7_000)
    transport.close()
  })

  it('streams watch events that arrive in pieces, and ends when stopped', async () => {
    let closed = false
    const { transport } = await serve((_, res) => {
      res.on('close', () => (closed = true))
      const text = ['ADDED', 'MODIFIED'].map((type) => JSON.stringify({ type, object: { metadata: { name: 'ä' } } })).join('\n')
      const bytes = Buffer.from(`${text}\n`)
      res.write(bytes.subarray(0, 40))
      setImmediate(() => res.write(bytes.subarray(40)))
    })
    const watch = await createClient(transport).resource(maps).watch({ resourceVersion: '1' })
    const seen: string[] = []
    for await (const event of watch) {
      seen.push(`${event.type} ${event.object.metadata.name}`)
      if (seen.length === 2) watch.stop()
    }
    expect(seen).toEqual(['ADDED ä', 'MODIFIED ä'])
    while (!closed) await new Promise((resolve) => setImmediate(resolve))
    transport.close()
  })

  it('says that nobody listens, and obeys its signal', async () => {
    const { server, transport } = await serve(() => {})
    const abort = new AbortController()
    const pending = createClient(transport).resource(maps).get('a', { signal: abort.signal })
    const reason = new Error('enough')
    setImmediate(() => abort.abort(reason))
    await expect(pending).rejects.toBe(reason)
    const { port } = server.address() as AddressInfo
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    servers.length = 0
    const error = await createClient(createHttpsTransport({ server: `http://127.0.0.1:${port}` }))
      .resource(maps)
      .get('a')
      .catch((e) => e)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error.code).toBe('ECONNREFUSED')
    transport.close()
    await expect(createClient(transport).resource(maps).get('a')).rejects.toMatchObject({ code: 'ECLOSED' })
  })
})
