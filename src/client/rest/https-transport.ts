import * as http from 'node:http'
import * as https from 'node:https'
import { deepFreeze } from '../../base/index.ts'
import { ConnectionError, type WatchEvent } from '../client.ts'
import type { Transport, TransportRequest, TransportResponse } from '../transport.ts'
import { watchEvents } from './json-lines.ts'

export interface HttpsTransportOptions {
  /** `https://host:port`, with a path when the server is behind one; `http:` only for a loopback proxy. */
  server: string
  /** PEM bundle to trust; without it the platform's. */
  ca?: string | Uint8Array
  cert?: string | Uint8Array
  key?: string | Uint8Array
  /** Asked for before each request, so that a rotated token takes effect. */
  token?: string | (() => string | Promise<string>)
  basicAuth?: { username: string; password: string }
  /** Name to verify the server's certificate against. */
  tlsServerName?: string
  insecureSkipTlsVerify?: boolean
  /** Connections kept for requests; watches hold one each on top. @default 64 */
  maxSockets?: number
}

/** HTTP/1.1 over TLS with kept connections. Watches do not count against the sockets that requests share. */
export function createHttpsTransport(options: HttpsTransportOptions): Transport {
  return new HttpsTransport(options)
}

const MAX_BODY_BYTES = 512 * 1024 * 1024

class HttpsTransport implements Transport {
  private readonly options: HttpsTransportOptions
  private readonly base: URL
  private readonly agent: http.Agent
  private readonly watchAgent: http.Agent
  private readonly open = new Set<http.ClientRequest>()
  private closed = false

  constructor(options: HttpsTransportOptions) {
    this.options = options
    this.base = new URL(options.server)
    const tls = {
      ...(options.ca === undefined ? {} : { ca: options.ca as string }),
      ...(options.cert === undefined ? {} : { cert: options.cert as string }),
      ...(options.key === undefined ? {} : { key: options.key as string }),
      ...(options.tlsServerName ? { servername: options.tlsServerName } : {}),
      ...(options.insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
      keepAlive: true,
      keepAliveMsecs: 30_000,
    }
    const agentOf = (maxSockets: number) =>
      this.base.protocol === 'http:'
        ? new http.Agent({ keepAlive: true, keepAliveMsecs: 30_000, maxSockets })
        : new https.Agent({ ...tls, maxSockets, maxCachedSessions: 100 })
    this.agent = agentOf(options.maxSockets ?? 64)
    this.watchAgent = agentOf(Number.POSITIVE_INFINITY)
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const headers: Record<string, string> = { ...request.headers }
    const { token, basicAuth } = this.options
    if (headers['authorization'] === undefined) {
      if (token !== undefined) headers['authorization'] = `Bearer ${typeof token === 'string' ? token : await token()}`
      else if (basicAuth) headers['authorization'] = `Basic ${Buffer.from(`${basicAuth.username}:${basicAuth.password}`).toString('base64')}`
    }
    let bytes: Uint8Array | undefined
    if (request.body) bytes = 'bytes' in request.body ? request.body.bytes : Buffer.from(JSON.stringify(request.body.object))
    if (bytes) headers['content-length'] = String(bytes.length)
    try {
      return await this.attempt(request, headers, bytes)
    } catch (error) {
      // A kept connection may have been closed by the server just as it was taken up again.
      if (error instanceof ReusedSocketError && (request.method === 'GET' || request.method === 'HEAD')) return this.attempt(request, headers, bytes)
      throw error
    }
  }

  close(): void {
    this.closed = true
    for (const req of [...this.open]) req.destroy(new ConnectionError('client: the transport was closed', 'ECLOSED'))
    this.agent.destroy()
    this.watchAgent.destroy()
  }

  private attempt(request: TransportRequest, headers: Record<string, string>, bytes: Uint8Array | undefined): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      const { signal } = request
      if (this.closed) return reject(new ConnectionError('client: the transport was closed', 'ECLOSED'))
      if (signal?.aborted) return reject(signal.reason)
      const { base } = this
      const make = base.protocol === 'http:' ? http.request : https.request
      const req = make({
        protocol: base.protocol,
        hostname: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port || (base.protocol === 'http:' ? 80 : 443),
        path: base.pathname.replace(/\/$/, '') + request.path,
        method: request.method,
        headers,
        agent: request.watch ? this.watchAgent : this.agent,
      })
      this.open.add(req)
      const onAbort = () => req.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
      signal?.addEventListener('abort', onAbort, { once: true })
      req.once('close', () => {
        this.open.delete(req)
        signal?.removeEventListener('abort', onAbort)
      })
      req.on('error', (error: NodeJS.ErrnoException) => {
        if (signal?.aborted) return reject(signal.reason)
        const code = error.code ?? 'EUNKNOWN'
        const wrapped = error instanceof ConnectionError ? error : connectionError(request, base, error, code)
        reject(req.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE') ? new ReusedSocketError(wrapped.message, code, error) : wrapped)
      })
      req.on('response', (res) => resolve(answer(request, req, res)))
      req.end(bytes)
    })
  }
}

class ReusedSocketError extends ConnectionError {}

/** The text Go's client would give. */
function connectionError(request: TransportRequest, base: URL, error: Error, code: string): ConnectionError {
  const verb = request.method.charAt(0) + request.method.slice(1).toLowerCase()
  const host = base.port ? `${base.hostname}:${base.port}` : base.hostname
  const why = code === 'ECONNREFUSED' ? `dial tcp ${host}: connect: connection refused` : error.message
  return new ConnectionError(`${verb} "${base.origin}${request.path}": ${why}`, code, error)
}

function answer(request: TransportRequest, req: http.ClientRequest, res: http.IncomingMessage): TransportResponse {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(res.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  const status = res.statusCode ?? 0
  let body: Promise<Buffer> | undefined
  const whole = (): Promise<Buffer> => {
    body ??= collect(res)
    return body
  }
  const response: TransportResponse = {
    status,
    headers,
    async object() {
      const text = (await whole()).toString('utf8')
      if (text === '' || (text[0] !== '{' && text[0] !== '[')) return undefined
      try {
        return deepFreeze(JSON.parse(text) as unknown)
      } catch {
        return undefined
      }
    },
    text: async () => (await whole()).toString('utf8'),
    stream: () => res,
  }
  if (request.watch && status === 200) response.events = eventStream(req, res, request.signal)
  return response
}

async function collect(res: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of res) {
      size += (chunk as Buffer).length
      if (size > MAX_BODY_BYTES) {
        res.destroy()
        throw new ConnectionError(`client: the answer is longer than ${MAX_BODY_BYTES} bytes`, 'EMSGSIZE')
      }
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (error instanceof ConnectionError) throw error
    throw new ConnectionError(`client: the answer broke off: ${(error as Error).message}`, (error as NodeJS.ErrnoException).code ?? 'ECONNRESET', error)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

function eventStream(req: http.ClientRequest, res: http.IncomingMessage, signal: AbortSignal | undefined): AsyncIterable<WatchEvent> & { stop(): void } {
  let stopped = false
  const stop = () => {
    stopped = true
    req.destroy()
    res.destroy()
  }
  async function* events(): AsyncGenerator<WatchEvent> {
    try {
      yield* watchEvents(res)
    } catch (error) {
      // A stream that broke ends like one that was closed: the watcher goes on from its last version.
      if (!stopped && !signal?.aborted && error instanceof RangeError) throw error
    } finally {
      stop()
    }
  }
  // An answer nobody reads yet may break meanwhile; the iteration will see it.
  res.on('error', () => {})
  const iterator = events()
  return { [Symbol.asyncIterator]: () => iterator, stop }
}
