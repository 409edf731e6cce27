import { existsSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'

/**
 * How the commands talk to a running cluster: JSON over HTTP on a socket in its folder, which only its owner can open. The socket is also
 * the sign that the cluster runs: a connection that is refused means that it does not.
 */
export type ControlHandler = (method: string, path: string, body: unknown) => Promise<unknown>

export interface ControlServer {
  close(): Promise<void>
}

/** @throws Error `code: EADDRINUSE` when a cluster of the same folder runs */
export async function serveControl(socket: string, handler: ControlHandler): Promise<ControlServer> {
  if (await isRunning(socket)) throw Object.assign(new Error('already running'), { code: 'EADDRINUSE' })
  await unlink(socket).catch((e: NodeJS.ErrnoException) => {
    if (e.code !== 'ENOENT') throw e
  })
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (c: Buffer) => {
      size += c.length
      if (size > 1 << 20) req.destroy()
      else chunks.push(c)
    })
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      Promise.resolve()
        .then(() => handler(req.method ?? 'GET', req.url ?? '/', text === '' ? undefined : JSON.parse(text)))
        .then(
          (value) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value ?? {})),
          (error) =>
            res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: error instanceof Error ? error.message : String(error) })),
        )
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const old = process.umask(0o177)
    server.listen(socket, () => resolve())
    process.umask(old)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** One call; rejects with the cluster's own message, or with `code: ENOENT | ECONNREFUSED` when none runs. */
export function callControl<T = Record<string, unknown>>(socket: string, method: string, path: string, body?: unknown, timeoutMs = 120_000): Promise<T> {
  return new Promise((resolve, reject) => {
    const req = request({ socketPath: socket, method, path, timeout: timeoutMs, headers: { 'content-type': 'application/json' } }, (res) => {
      let text = ''
      res.setEncoding('utf8')
      res.on('data', (c: string) => {
        text += c
      })
      res.on('end', () => {
        try {
          const value = JSON.parse(text)
          if (res.statusCode === 200) resolve(value as T)
          else reject(new Error(String(value.error)))
        } catch (e) {
          reject(e instanceof Error ? e : new Error(String(e)))
        }
      })
      res.on('error', reject)
    })
    req.on('timeout', () => req.destroy(new Error(`the cluster did not answer within ${timeoutMs / 1000} s`)))
    req.on('error', reject)
    req.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

export async function isRunning(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false
  return new Promise((resolve) => {
    const connection = connect(socket)
    const done = (running: boolean) => {
      connection.destroy()
      resolve(running)
    }
    connection.once('connect', () => done(true))
    connection.once('error', (e: NodeJS.ErrnoException) => done(e.code !== 'ENOENT' && e.code !== 'ECONNREFUSED' && e.code !== 'ENOTSOCK'))
  })
}
