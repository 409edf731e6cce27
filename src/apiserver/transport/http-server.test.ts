import { connect } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom, systemClock } from '../../base/index.ts'
import { silentLogger } from '../../component-base/index.ts'
import { issueKeyPair } from '../../component-base/x509/index.ts'
import { createMemoryKV } from '../../storage/kv/memory/memory-kv.ts'
import { type ApiServer, createApiServer } from '../server.ts'
import type { Listener } from './http-server.ts'

const clock = systemClock()
let server: ApiServer
let listener: Listener

beforeAll(async () => {
  const now = clock.now()
  const pair = issueKeyPair(
    {
      subject: { commonName: 'test', organizations: [] },
      notBefore: now - 60_000,
      notAfter: now + 3_600_000,
      ca: true,
      usages: ['digitalSignature', 'keyCertSign'],
      names: { ips: ['127.0.0.1'] },
    },
    undefined,
    seededRandom(3),
  )
  server = createApiServer({
    kv: createMemoryKV({ clock, autoCompaction: false }),
    clock,
    random: seededRandom(5),
    log: silentLogger(),
    authenticators: [{ name: 'all', authenticate: async () => ({ user: { name: 'u', groups: [] } }) }],
    authorizers: [{ name: 'all', authorize: () => ({ decision: 'allow' }) }],
  })
  listener = await server.listen({ port: 0, cert: pair.certificate, key: pair.key })
})
afterAll(() => server.close(0))

function overHttp1(
  method: string,
  path: string,
  body?: Buffer | string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ host: '127.0.0.1', port: listener.port, method, path, headers, rejectUnauthorized: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (c) => {
        text += c
      })
      response.on('end', () => resolve({ status: response.statusCode as number, text, headers: response.headers }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

const CMS = '/api/v1/namespaces/default/configmaps'

describe('HTTPS', () => {
  it('serves both versions of HTTP on one port', async () => {
    const made = await overHttp1('POST', CMS, JSON.stringify({ metadata: { name: 'a' } }), { 'content-type': 'application/json' })
    expect(made.status).toBe(201)
    const session = connect(`https://127.0.0.1:${listener.port}`, { rejectUnauthorized: false })
    const stream = session.request({ ':path': `${CMS}/a` })
    const text = await new Promise<string>((resolve, reject) => {
      let all = ''
      stream.setEncoding('utf8')
      stream.on('data', (c) => {
        all += c
      })
      stream.on('end', () => resolve(all))
      stream.on('error', reject)
    })
    session.close()
    expect(text).toBe(made.text)
  })

  it('refuses bodies over 3 MiB and goes on serving', async () => {
    const refused = await overHttp1('POST', CMS, Buffer.alloc(4 << 20, 97), { 'content-type': 'application/json' })
    expect(refused.status).toBe(413)
    expect(JSON.parse(refused.text).message).toBe('Request entity too large: limit is 3145728')
    expect((await overHttp1('GET', '/livez')).text).toBe('ok')
  })

  it('compresses big answers for those who ask', async () => {
    const data = { x: 'y'.repeat(200_000) }
    await overHttp1('POST', CMS, JSON.stringify({ metadata: { name: 'big' }, data }), { 'content-type': 'application/json' })
    const plain = await overHttp1('GET', `${CMS}/big`)
    const small = await overHttp1('GET', `${CMS}/big`, undefined, { 'accept-encoding': 'gzip' })
    expect(small.headers['content-encoding']).toBe('gzip')
    expect(Number(small.headers['content-length'])).toBeLessThan(Number(plain.headers['content-length']) / 10)
  })

  it('sends a starting state larger than it buffers to a reader that pauses', async () => {
    const large = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'large-' }, data: { x: 'x'.repeat(500_000) } })
    for (let i = 0; i < 90; i++) {
      const made = await overHttp1('POST', '/api/v1/namespaces/kube-public/configmaps', large, { 'content-type': 'application/json' })
      expect(made.status).toBe(201)
    }
    const path = '/api/v1/namespaces/kube-public/configmaps?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
    const { events, ended } = await new Promise<{ events: number; ended: boolean }>((resolve, reject) => {
      const request = httpsRequest({ host: '127.0.0.1', port: listener.port, path, rejectUnauthorized: false }, (response) => {
        let events = 0
        let tail = ''
        response.setEncoding('latin1')
        response.pause()
        // Long enough for a server that does not wait to have sent all it has.
        setTimeout(() => response.resume(), 500)
        response.on('data', (text: string) => {
          const lines = (tail + text).split('\n')
          tail = lines.pop() as string
          events += lines.filter((l) => l.startsWith('{"type":"ADDED"')).length
          if (!lines.some((l) => l.includes('k8s.io/initial-events-end'))) return
          resolve({ events, ended: response.readableEnded })
          request.destroy()
        })
        response.on('end', () => resolve({ events, ended: true }))
        response.on('error', reject)
      })
      request.on('error', reject)
      request.end()
    })
    expect({ events, ended }).toEqual({ events: 90, ended: false })
  })

  it('streams events as lines and ends them when the server closes', async () => {
    const session = connect(`https://127.0.0.1:${listener.port}`, { rejectUnauthorized: false })
    session.on('error', () => {})
    const stream = session.request({ ':path': `${CMS}?watch=true&fieldSelector=metadata.name%3Dw` })
    stream.setEncoding('utf8')
    let text = ''
    const first = new Promise<void>((resolve) => {
      stream.on('data', (c) => {
        text += c
        resolve()
      })
    })
    const ended = new Promise<void>((resolve) => stream.on('close', () => resolve()))
    stream.on('error', () => {})
    await new Promise((resolve) => stream.on('response', resolve))
    await overHttp1('POST', CMS, JSON.stringify({ metadata: { name: 'w' } }), { 'content-type': 'application/json' })
    await first
    expect(JSON.parse(text)).toMatchObject({ type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name: 'w' } } })
    await server.close(0)
    await ended
    session.destroy()
  })
})
