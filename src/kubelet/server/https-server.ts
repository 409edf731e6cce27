import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { UserInfo } from '../../api/authentication/v1/types.generated.ts'
import type { Logger } from '../../component-base/component.ts'
import type { KubeletAuth } from './auth.ts'
import { type KubeletApi, subresourcesFor, VERBS } from './kubelet-api.ts'
import type { KubeletRequest } from './request.ts'

export interface KubeletServerOptions {
  api: KubeletApi
  auth: KubeletAuth
  log: Logger
  /** PEM. */
  certificate: string
  key: string
  /** PEM of the authority whose client certificates are users. */
  clientCA?: string
  /** @default 127.0.0.1 */
  host?: string
  /** 0 takes a free one. @default 10250 */
  port?: number
}

export interface RunningKubeletServer {
  readonly port: number
  close(): Promise<void>
}

const MAX_HEADER = 64 * 1024

/** Serves the kubelet's API over HTTPS: users by client certificate or token, rights asked of the API server. */
export async function serveKubelet(o: KubeletServerOptions): Promise<RunningKubeletServer> {
  const open = new Set<Duplex>()
  const server = https.createServer({
    cert: o.certificate,
    key: o.key,
    ...(o.clientCA ? { ca: o.clientCA, requestCert: true, rejectUnauthorized: false } : {}),
    minVersion: 'TLSv1.2',
    maxHeaderSize: MAX_HEADER,
    requestTimeout: 0,
  })
  server.keepAliveTimeout = 90_000
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const stop = new AbortController()
    res.on('close', () => stop.abort(new Error('client went away')))
    void answer(o, req, res, stop.signal).catch((error: Error) => {
      o.log.v(2).info('kubelet request failed', { path: req.url, err: error.message })
      if (!res.headersSent) res.writeHead(500)
      res.end()
    })
  })
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {})
    const stop = new AbortController()
    socket.on('close', () => stop.abort(new Error('client went away')))
    void admitted(o, req)
      .then((refusal) => {
        if (refusal)
          socket.end(
            `HTTP/1.1 ${refusal.status} ${http.STATUS_CODES[refusal.status]}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(refusal.body)}\r\n\r\n${refusal.body}`,
          )
        else return o.api.upgrade(toRequest(req, stop.signal), socket, head)
      })
      .catch(() => socket.destroy())
  })
  server.on('tlsClientError', (_e, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(o.port ?? 10250, o.host ?? '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

function toRequest(req: IncomingMessage, signal: AbortSignal): KubeletRequest {
  const headers: Record<string, string | undefined> = {}
  for (const [k, v] of Object.entries(req.headers)) headers[k] = Array.isArray(v) ? v.join(', ') : v
  return { method: req.method ?? 'GET', path: req.url ?? '/', headers, signal }
}

/** Undefined when the caller may go on. */
async function admitted(o: KubeletServerOptions, req: IncomingMessage): Promise<{ status: number; body: string } | undefined> {
  let user: UserInfo | undefined
  try {
    user = certificateUser(req.socket as TLSSocket)
    const bearer = /^Bearer (\S+)$/i.exec(req.headers.authorization ?? '')
    if (!user && bearer) user = await o.auth.authenticate(bearer[1] as string)
  } catch {
    user = undefined
  }
  if (!user) return { status: 401, body: 'Unauthorized' }
  const verb = VERBS[req.method ?? 'GET'] ?? ''
  const subresources = subresourcesFor(new URL(req.url ?? '/', 'http://kubelet').pathname)
  const what = `user=${user.username}, verb=${verb}, resource=nodes, subresource`
  try {
    if (await o.auth.authorize(user, verb, subresources)) return undefined
  } catch {
    return { status: 500, body: `Authorization error (${what}=${subresources.join(' ')})` }
  }
  return { status: 403, body: `Forbidden (${what}(s)=[${subresources.join(' ')}])\n` }
}

function certificateUser(socket: TLSSocket): UserInfo | undefined {
  if (!socket.authorized) return undefined
  const { subject } = socket.getPeerCertificate()
  if (!subject?.CN) return undefined
  const groups = subject.O === undefined ? [] : Array.isArray(subject.O) ? subject.O : [subject.O]
  return { username: String(subject.CN), groups: [...(groups as string[]), 'system:authenticated'] }
}

async function answer(o: KubeletServerOptions, req: IncomingMessage, res: ServerResponse, signal: AbortSignal): Promise<void> {
  const refusal = await admitted(o, req)
  if (refusal) {
    res.writeHead(refusal.status, { 'content-type': 'text/plain; charset=utf-8' })
    res.end(refusal.body)
    return
  }
  const response = await o.api.handle(toRequest(req, signal))
  res.writeHead(response.status, response.headers)
  if (typeof response.body === 'string' || response.body instanceof Uint8Array) {
    res.end(response.body)
    return
  }
  res.flushHeaders()
  for await (const chunk of response.body) {
    if (signal.aborted) break
    if (!res.write(chunk))
      await new Promise<void>((go) => {
        const done = () => {
          res.off('drain', done)
          res.off('close', done)
          go()
        }
        res.once('drain', done)
        res.once('close', done)
      })
  }
  res.end()
}
