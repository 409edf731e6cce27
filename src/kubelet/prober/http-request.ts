import http from 'node:http'
import https from 'node:https'
import type { HTTPHeader } from '../../api/core/v1/types.generated.ts'
import type { Clock } from '../../base/index.ts'

export interface HttpRequestOptions {
  scheme: 'http' | 'https'
  host: string
  port: number
  /** With query. */
  path: string
  headers: readonly HTTPHeader[]
  userAgent: string
  /** 0 is none. */
  timeoutMs: number
  clock: Clock
  signal?: AbortSignal
}

export interface HttpAnswer {
  status: number
  body: string
  /** Set for a redirect. */
  location: string | undefined
}

const MAX_BODY = 10 * 1024

/** One GET without redirects, proxies or certificate checks. Failures read as Go's HTTP client would print them. */
export function httpRequest(o: HttpRequestOptions): Promise<HttpAnswer> {
  const host = o.host.includes(':') ? `[${o.host}]` : o.host
  const path = o.path.startsWith('/') ? o.path : `/${o.path}`
  const url = `${o.scheme}://${host}:${o.port}${path}`
  const headers: Record<string, string | string[]> = { 'User-Agent': o.userAgent, Accept: '*/*', Connection: 'close' }
  let hostHeader: string | undefined
  for (const { name, value } of o.headers) {
    const lower = name.toLowerCase()
    if (lower === 'host') hostHeader = value
    else if (lower === 'user-agent') headers['User-Agent'] = value
    else if (lower === 'accept') {
      if (value === '') delete headers['Accept']
      else headers['Accept'] = value
    } else headers[name] = value
  }
  if (hostHeader !== undefined) headers['Host'] = hostHeader
  return new Promise((resolve, reject) => {
    const fail = (text: string) => reject(new Error(`Get ${JSON.stringify(url)}: ${text}`))
    let late = false
    const request = (o.scheme === 'https' ? https : http).request(
      {
        host: o.host,
        port: o.port,
        path,
        method: 'GET',
        headers,
        agent: false,
        rejectUnauthorized: false,
        setHost: hostHeader === undefined,
        ...(o.signal ? { signal: o.signal } : {}),
      },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        const done = () => {
          timer?.cancel()
          resolve({ status: response.statusCode ?? 0, body, location: response.headers.location })
          request.destroy()
        }
        response.on('data', (chunk: string) => {
          body += chunk
          if (body.length > MAX_BODY) {
            body = body.slice(0, MAX_BODY)
            done()
          }
        })
        response.on('end', done)
        response.on('error', (e) => {
          timer?.cancel()
          fail(late ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' : dialError(e, host, o.port))
        })
      },
    )
    const timer =
      o.timeoutMs > 0
        ? o.clock.deadline(() => {
            late = true
            request.destroy(new Error('timeout'))
          }, o.timeoutMs)
        : undefined
    request.on('error', (e) => {
      timer?.cancel()
      fail(late ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' : dialError(e, host, o.port))
    })
    request.end()
  })
}

/** A connection failure in the words of Go's net package. */
export function dialError(error: Error, host: string, port: number): string {
  const code = (error as NodeJS.ErrnoException).code
  const dial = `dial tcp ${host}:${port}`
  switch (code) {
    case 'ECONNREFUSED':
      return `${dial}: connect: connection refused`
    case 'EHOSTUNREACH':
      return `${dial}: connect: no route to host`
    case 'ENETUNREACH':
      return `${dial}: connect: network is unreachable`
    case 'ETIMEDOUT':
      return `${dial}: i/o timeout`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${host}: no such host`
    case 'ECONNRESET':
      return /socket hang up/.test(error.message) ? 'EOF' : `read tcp ${host}:${port}: read: connection reset by peer`
    case 'EPROTO':
      return 'http: server gave HTTP response to HTTPS client'
  }
  return error.message
}
