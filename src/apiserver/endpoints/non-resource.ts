import { type HealthCheck, HealthChecks } from '../../component-base/healthz/health-checks.ts'
import { createMetricsRegistry, type MetricsRegistry } from '../../component-base/metrics/registry.ts'
import { versionInfo } from '../../component-base/version.ts'
import type { Negotiator } from '../negotiation/accept.ts'
import { JSON_TYPE } from '../negotiation/accept.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'
import { plainText, rawJSON } from './plain.ts'
import { routerMethodNotAllowed } from './router-errors.ts'

/** Serves a path that is no resource. Undefined: not mine. */
export type PathHandler = (context: RequestContext) => Promise<ApiResponse> | ApiResponse | undefined

/** Health, version, metrics, the list of paths, and what others add. */
export class NonResourcePaths {
  readonly healthz: HealthChecks
  readonly livez: HealthChecks
  readonly readyz: HealthChecks
  private readonly exact = new Map<string, PathHandler>()
  private readonly prefixes: { prefix: string; handler: PathHandler }[] = []
  private readonly negotiator: Negotiator
  private metrics: Promise<MetricsRegistry> | undefined
  private readonly collectors: ((registry: MetricsRegistry) => void)[] = []

  constructor(negotiator: Negotiator) {
    this.negotiator = negotiator
    const ping: HealthCheck = { name: 'ping', check: () => {} }
    const log: HealthCheck = { name: 'log', check: () => {} }
    this.healthz = new HealthChecks('healthz', [ping, log])
    this.livez = new HealthChecks('livez', [ping, log])
    this.readyz = new HealthChecks('readyz', [ping, log])
    this.exact.set('/version', (c) => this.versionPage(c))
    this.exact.set('/version/', (c) => this.versionPage(c))
    this.exact.set('/metrics', () => this.metricsPage())
    this.exact.set('/', (c) => this.root(c))
    for (const [name, checks] of [
      ['healthz', this.healthz],
      ['livez', this.livez],
      ['readyz', this.readyz],
    ] as const) {
      this.exact.set(`/${name}`, (c) => this.health(c, checks))
      this.prefixes.push({ prefix: `/${name}/`, handler: (c) => this.oneCheck(c, name, checks) })
    }
  }

  /** Serves one path exactly. */
  handle(path: string, handler: PathHandler): void {
    this.exact.set(path, handler)
  }

  /** Serves everything below a path; `prefix` ends with a slash. The longest prefix is asked first. */
  handlePrefix(prefix: string, handler: PathHandler): void {
    this.prefixes.push({ prefix, handler })
    this.prefixes.sort((a, b) => b.prefix.length - a.prefix.length)
  }

  /** Called before each scrape. */
  collect(collector: (registry: MetricsRegistry) => void): void {
    this.collectors.push(collector)
  }

  /** Metrics that are kept elsewhere, in the text format. */
  exposeMore: () => string = () => ''

  registry(): Promise<MetricsRegistry> {
    this.metrics ??= createMetricsRegistry()
    return this.metrics
  }

  /** Asked before all paths: discovery, whose paths come and go. */
  serveFirst: PathHandler = () => undefined

  serve(context: RequestContext): Promise<ApiResponse> | undefined {
    const { path } = context.info
    const first = this.serveFirst(context)
    if (first) return Promise.resolve(first)
    const exact = this.exact.get(path)
    if (exact) {
      const answer = exact(context)
      if (answer) return Promise.resolve(answer)
    }
    for (const { prefix, handler } of this.prefixes) {
      if (!path.startsWith(prefix)) continue
      const answer = handler(context)
      if (answer) return Promise.resolve(answer)
    }
    return undefined
  }

  private async health(context: RequestContext, checks: HealthChecks): Promise<ApiResponse> {
    const answer = await checks.answer({ verbose: context.query.has('verbose'), exclude: context.query.all('exclude') })
    return plainText(answer?.status ?? 404, answer?.body ?? '404 page not found\n')
  }

  private oneCheck(context: RequestContext, name: string, checks: HealthChecks): Promise<ApiResponse> | undefined {
    const only = context.info.path.slice(name.length + 2)
    if (!checks.names().includes(only)) return undefined
    return checks.answer({ only }).then((answer) => {
      if (answer?.status === 200) return plainText(200, 'ok')
      return plainText(500, 'internal server error: reason withheld\n')
    })
  }

  private versionPage(context: RequestContext): ApiResponse {
    if (context.request.method !== 'GET') throw routerMethodNotAllowed()
    this.negotiator.negotiate(context, [JSON_TYPE], false)
    return rawJSON(200, versionInfo())
  }

  private async metricsPage(): Promise<ApiResponse> {
    const registry = await this.registry()
    for (const collector of this.collectors) collector(registry)
    return { status: 200, headers: { 'content-type': registry.contentType }, bytes: Buffer.from(`${await registry.expose()}${this.exposeMore()}`) }
  }

  private root(context: RequestContext): ApiResponse | undefined {
    if (context.request.method !== 'GET') throw routerMethodNotAllowed()
    return rawJSON(200, { paths: this.paths() })
  }

  /** All known paths, for `/`. */
  extraPaths: () => readonly string[] = () => []

  private paths(): string[] {
    const all = new Set<string>(this.extraPaths())
    for (const path of this.exact.keys()) if (path !== '/' && !path.endsWith('/')) all.add(path)
    for (const [name, checks] of [
      ['healthz', this.healthz],
      ['livez', this.livez],
      ['readyz', this.readyz],
    ] as const) {
      for (const check of checks.names()) all.add(`/${name}/${check}`)
    }
    return [...all].sort()
  }
}
