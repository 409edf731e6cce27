import type { IncomingHttpHeaders } from 'node:http'

/** Header values as single texts: repeated ones are joined the way HTTP says. */
export function flatHeaders(raw: IncomingHttpHeaders): Record<string, string | undefined> {
  const out: Record<string, string | undefined> = {}
  for (const name in raw) {
    const value = raw[name]
    out[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return out
}

export function bearerToken(headers: Readonly<Record<string, string | undefined>>): string | undefined {
  const value = headers.authorization
  if (value !== undefined) {
    const space = value.indexOf(' ')
    if (space > 0 && value.slice(0, space).toLowerCase() === 'bearer') {
      const token = value.slice(space + 1).trim()
      return token === '' ? undefined : token
    }
    return undefined
  }
  return websocketToken(headers)
}

const WEBSOCKET_PREFIX = 'base64url.bearer.authorization.k8s.io.'

function websocketToken(headers: Readonly<Record<string, string | undefined>>): string | undefined {
  const protocols = headers['sec-websocket-protocol']
  if (!protocols || headers.upgrade?.toLowerCase() !== 'websocket') return undefined
  for (const protocol of protocols.split(',')) {
    const text = protocol.trim()
    if (text.startsWith(WEBSOCKET_PREFIX)) return Buffer.from(text.slice(WEBSOCKET_PREFIX.length), 'base64url').toString('utf8')
  }
  return undefined
}

/** Splits a request target at its query. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?')
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}
