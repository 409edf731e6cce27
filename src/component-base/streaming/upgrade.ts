import http, { type IncomingMessage, STATUS_CODES } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'

/** The answer of a server that did not switch protocols. */
export interface UpgradeRefusal {
  status: number
  headers: Record<string, string>
  body: Buffer
}

export type UpgradeResult =
  | { kind: 'upgraded'; socket: Duplex; head: Buffer; rawHeaders: string[]; headers: Record<string, string> }
  | { kind: 'refused'; refusal: UpgradeRefusal }

const MAX_REFUSAL = 64 * 1024

/**
 * Asks a server to switch protocols, on a connection of its own. Redirects are not followed, and the connection of a refusal is closed, never
 * used again.
 * @throws when the server cannot be reached or the signal is aborted
 */
export function dialUpgrade(
  target: https.RequestOptions & { secure: boolean; method: string; path: string; headers: Record<string, string>; signal: AbortSignal },
): Promise<UpgradeResult> {
  const { secure, signal, ...options } = target
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const request = (secure ? https : http).request({ ...options, agent: false, timeout: 0 })
    const abort = () => request.destroy(new Error('client went away'))
    signal.addEventListener('abort', abort, { once: true })
    const settled = () => signal.removeEventListener('abort', abort)
    request.on('error', (error) => {
      settled()
      reject(error)
    })
    request.on('upgrade', (answer, socket, head) => {
      settled()
      // Until somebody listens: a reset in between is no accident of the process.
      socket.on('error', () => {})
      resolve({ kind: 'upgraded', socket, head, rawHeaders: answer.rawHeaders, headers: flat(answer) })
    })
    request.on('response', (answer) => {
      let body: Buffer = Buffer.alloc(0)
      const done = () => {
        settled()
        request.destroy()
        resolve({ kind: 'refused', refusal: { status: answer.statusCode ?? 502, headers: flat(answer), body } })
      }
      answer.on('data', (chunk: Buffer) => {
        if (body.length < MAX_REFUSAL) body = Buffer.concat([body, chunk])
        else done()
      })
      answer.on('end', done)
      answer.on('error', done)
    })
    request.end()
  })
}

function flat(answer: IncomingMessage): Record<string, string> {
  const out: Record<string, string> = {}
  for (const [k, v] of Object.entries(answer.headers)) out[k] = Array.isArray(v) ? v.join(', ') : (v ?? '')
  return out
}

/** The head of a `101 Switching Protocols`. */
export function switchingProtocols(headers: Record<string, string>): string {
  let head = `HTTP/1.1 101 ${STATUS_CODES[101]}\r\n`
  for (const [k, v] of Object.entries(headers)) head += `${k}: ${v}\r\n`
  return `${head}\r\n`
}

/** Answers an upgrade with a plain answer; the connection ends with it. */
export function refuseUpgrade(socket: Duplex, status: number, headers: Record<string, string>, body: string | Uint8Array): void {
  const payload = Buffer.from(body as string)
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
  for (const [k, v] of Object.entries(headers)) {
    if (!['connection', 'content-length', 'transfer-encoding', 'upgrade', 'keep-alive'].includes(k.toLowerCase()))
      head += `${k}: ${v.replace(/[\r\n]+/g, ' ')}\r\n`
  }
  socket.write(`${head}content-length: ${payload.length}\r\nconnection: close\r\n\r\n`, 'latin1')
  socket.end(payload)
}
