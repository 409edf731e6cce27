import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { formatTime } from '../apimachinery/time.ts'
import type { Clock } from '../base/index.ts'
import type { Logger } from '../component-base/component.ts'
import { parseHostPort } from './config.ts'
import type { ProxyMetrics } from './metrics.ts'
import type { ServiceRules } from './service-rules.ts'

type Handler = (path: string, res: ServerResponse, req: IncomingMessage) => void

/** Listens on `address:port`. @throws Error when it is taken */
export async function listen(address: string, handler: Handler): Promise<Server> {
  const at = parseHostPort(address)
  if (!at) throw new Error(`${address} is no IP:port`)
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 5000 }, (req, res) => {
    req.resume()
    handler((req.url ?? '/').split('?')[0] as string, res, req)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  // Health is asked for as long as something else keeps the process alive.
  server.unref()
  return server
}

export async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

export function answer(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff', 'content-length': Buffer.byteLength(body) })
  res.end(body)
}

const notFound = (res: ServerResponse) => answer(res, 404, 'text/plain; charset=utf-8', '404 page not found\n')

/** Whether the proxy keeps up: it is not, when a change waits for longer than the allowed time. */
export class ProxyHealth {
  private readonly clock: Clock
  private readonly allowedMs: number
  private lastUpdated = 0
  private waitingSince: number | undefined
  /** False while the node is on its way out: load balancers shall send no new connections. */
  nodeEligible = true

  constructor(clock: Clock, allowedMs: number) {
    this.clock = clock
    this.allowedMs = allowedMs
  }

  pending(at: number): void {
    this.waitingSince ??= at
  }

  synced(at: number): void {
    this.lastUpdated = at
    this.waitingSince = undefined
  }

  healthy(): boolean {
    return this.lastUpdated > 0 && (this.waitingSince === undefined || this.clock.now() - this.waitingSince < this.allowedMs)
  }

  body(): string {
    const now = formatTime(this.clock.now())
    // While nothing waits, the rules are as of now.
    const updated = this.healthy() ? now : formatTime(this.lastUpdated)
    return JSON.stringify({ lastUpdated: updated, currentTime: now, nodeEligible: this.nodeEligible })
  }
}

/** `/healthz` for load balancers, `/livez` for whoever restarts the proxy. */
export function healthHandler(health: ProxyHealth, metrics: ProxyMetrics): Handler {
  return (path, res) => {
    const probe = path === '/healthz' ? 'healthz' : path === '/livez' ? 'livez' : undefined
    if (!probe) return notFound(res)
    const status = health.healthy() && (probe === 'livez' || health.nodeEligible) ? 200 : 503
    metrics.health(probe, status)
    answer(res, status, 'application/json', health.body())
  }
}

/** `/metrics`, `/proxyMode`, `/healthz`. */
export function metricsHandler(metrics: ProxyMetrics, log: Logger): Handler {
  return (path, res) => {
    if (path === '/healthz') return answer(res, 200, 'text/plain; charset=utf-8', 'ok')
    if (path === '/proxyMode') return answer(res, 200, 'text/plain; charset=utf-8', 'nftables')
    if (path !== '/metrics') return notFound(res)
    metrics.expose().then(
      (text) => answer(res, 200, metrics.contentType, text),
      (e) => {
        log.error('metrics could not be told', { err: String(e) })
        answer(res, 500, 'text/plain; charset=utf-8', 'internal error\n')
      },
    )
  }
}

interface ServiceServer {
  port: number
  local: number
  servers: Server[]
}

/** Health of single Services, at their `healthCheckNodePort`: whether this node has an endpoint for a load balancer. */
export class ServiceHealth {
  private readonly log: Logger
  private readonly healthy: () => boolean
  private readonly onFailure: (namespace: string, name: string, message: string) => void
  private readonly servers = new Map<string, ServiceServer>()

  constructor(log: Logger, healthy: () => boolean, onFailure: (namespace: string, name: string, message: string) => void) {
    this.log = log
    this.healthy = healthy
    this.onFailure = onFailure
  }

  /** @param ports by Service, its health-check port. @param addresses of the node */
  update(ports: ReadonlyMap<string, number>, rules: ReadonlyMap<string, ServiceRules>, addresses: readonly string[] | 'all'): void {
    for (const [key, s] of this.servers) {
      if (ports.get(key) === s.port) continue
      this.servers.delete(key)
      for (const server of s.servers) void close(server)
    }
    for (const [key, port] of ports) {
      const local = Math.max(0, ...(rules.get(key)?.ports ?? []).map((p) => p.localReady))
      const have = this.servers.get(key)
      if (have) have.local = local
      else this.open(key, port, local, addresses === 'all' ? ['0.0.0.0'] : addresses)
    }
  }

  private open(key: string, port: number, local: number, addresses: readonly string[]): void {
    const entry: ServiceServer = { port, local, servers: [] }
    this.servers.set(key, entry)
    const [namespace, name] = key.split('/') as [string, string]
    for (const address of addresses) {
      listen(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`, (_, res) => {
        const healthy = this.healthy()
        const status = entry.local > 0 && healthy ? 200 : 503
        res.setHeader('X-Load-Balancing-Endpoint-Weight', String(entry.local))
        answer(res, status, 'application/json', JSON.stringify({ service: { namespace, name }, localEndpoints: entry.local, serviceProxyHealthy: healthy }))
      }).then(
        (server) => {
          if (this.servers.get(key) === entry) entry.servers.push(server)
          else void close(server)
        },
        (e: Error) => {
          this.log.error('Failed to start healthcheck', { service: key, port, err: e.message })
          this.onFailure(namespace, name, `node ${address} failed to start healthcheck ${JSON.stringify(key)} on port ${port}: ${e.message}`)
        },
      )
    }
  }

  async close(): Promise<void> {
    const open = [...this.servers.values()].flatMap((s) => s.servers)
    this.servers.clear()
    await Promise.all(open.map(close))
  }
}
