import { createServer, type Server } from 'node:http'

/** The text of a page, and its status; undefined: no such page here. */
export type Page = (path: string) => { status: number; body: string; type?: string } | undefined

const REQUEST_TIMEOUT_MS = 5000
const MAX_CONNECTIONS = 100

/** A plain HTTP server for health, readiness and metrics. @throws Error of the platform when the address cannot be had */
export async function servePages(host: string, port: number, page: Page): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    request.resume()
    const found = page((request.url ?? '/').split('?', 1)[0] as string) ?? { status: 404, body: '404 page not found\n' }
    response.writeHead(found.status, { 'Content-Type': found.type ?? 'text/plain; charset=utf-8', 'Content-Length': Buffer.byteLength(found.body) })
    response.end(request.method === 'HEAD' ? undefined : found.body)
  })
  server.maxConnections = MAX_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as { port: number }).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
