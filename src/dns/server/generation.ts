import { setMaxListeners } from 'node:events'
import type { Clock, Random } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { Logger } from '../../component-base/component.ts'
import type { HostsConfig, ServerConfig } from '../corefile/config.ts'
import { MAX_UPSTREAMS, resolvConfUpstreams, type Upstream } from '../corefile/forward-config.ts'
import type { KubernetesConfig } from '../corefile/kubernetes-config.ts'
import { answerFromCluster } from '../kubernetes/answer.ts'
import type { ZoneOptions } from '../kubernetes/find.ts'
import { watchCluster } from '../kubernetes/informer-view.ts'
import { cachePlugin } from '../plugins/cache.ts'
import { forwardPlugin } from '../plugins/forward.ts'
import { type Handler, isFailure, type Plugin, type Query } from '../plugins/handler.ts'
import { type HostsTable, hostsPlugin, parseHosts } from '../plugins/hosts.ts'
import { loadbalancePlugin } from '../plugins/loadbalance.ts'
import { errorsPlugin, logPlugin } from '../plugins/log.ts'
import { LoopDetector } from '../plugins/loop.ts'
import { encodeMessage } from '../wire/encode.ts'
import { queryFor, Rcode, replyTo } from '../wire/message.ts'
import { canonical, isWithin } from '../wire/name.ts'
import type { DnsMetrics } from './metrics.ts'
import { finished, replyLimit } from './respond.ts'

export interface GenerationOptions {
  clock: Clock
  random: Random
  log: Logger
  metrics: DnsMetrics
  /** Prints a line as CoreDNS would. */
  print(line: string): void
  readFile(path: string): Promise<string>
  /** The API server that a configuration names, or the cluster's own. */
  connect(kubeconfig: KubernetesConfig['kubeconfig']): Promise<{ client: Client; close(): void }>
  /** Where a server listens: addresses of `bind`, or the default. */
  hostsOf(config: ServerConfig): readonly string[]
  onLoop(config: ServerConfig, zone: string, query: string): void
}

/** Questions that lead to further questions, at most. */
const MAX_DEPTH = 8

export interface ServedZone {
  readonly handler: Handler
  readonly zone: string
}

/** One configuration in force: its plugins with all that they keep, until the next one takes its place. */
export class Generation {
  readonly configs: readonly ServerConfig[]
  readonly loops: { readonly config: ServerConfig; readonly detector: LoopDetector }[] = []
  private readonly o: GenerationOptions
  private readonly stopped = new AbortController()
  private readonly chains = new Map<ServerConfig, Handler>()
  private readonly waiting: { synced: (signal: AbortSignal) => Promise<void>; isSynced: () => boolean; timeoutMs: number }[] = []
  private readonly ends: (() => Promise<void>)[] = []

  private constructor(configs: readonly ServerConfig[], o: GenerationOptions) {
    this.configs = configs
    this.o = o
    setMaxListeners(0, this.stopped.signal)
  }

  /** Resolves when everything works, and the cluster was read or took too long. @throws Error when something cannot be had */
  static async start(configs: readonly ServerConfig[], o: GenerationOptions): Promise<Generation> {
    const generation = new Generation(configs, o)
    try {
      for (const config of configs) generation.chains.set(config, await generation.chain(config))
      await generation.waitForSync()
      return generation
    } catch (e) {
      await generation.stop()
      throw e
    }
  }

  /** Who serves a canonical name at an address: the longest zone there. */
  route(host: string, port: number, name: string): ServedZone | undefined {
    let best: ServedZone | undefined
    for (const config of this.configs) {
      if (config.port !== port || !this.o.hostsOf(config).includes(host)) continue
      for (const zone of config.zones)
        if (isWithin(name, zone) && (!best || zone.length > best.zone.length)) best = { zone, handler: this.chains.get(config) as Handler }
    }
    return best
  }

  /** Plugins that are not ready to answer. */
  notReady(): string[] {
    return this.waiting.some((w) => !w.isSynced()) ? ['kubernetes'] : []
  }

  async stop(): Promise<void> {
    this.stopped.abort(new Error('the server stops'))
    await Promise.all(this.ends.map((end) => end()))
  }

  private async waitForSync(): Promise<void> {
    const { clock, print } = this.o
    await Promise.all(
      this.waiting.map(async ({ synced, timeoutMs }) => {
        const { signal } = this.stopped
        const end = new AbortController()
        const over = () => end.abort(signal.reason)
        signal.addEventListener('abort', over, { once: true })
        const timer = clock.deadline(() => end.abort(new Error('late')), timeoutMs)
        try {
          await synced(end.signal)
        } catch {
          if (!signal.aborted) print('[WARNING] plugin/kubernetes: starting server with unsynced Kubernetes API')
        } finally {
          timer.cancel()
          signal.removeEventListener('abort', over)
        }
      }),
    )
  }

  /** The plugins of a server, in CoreDNS's order. */
  private async chain(config: ServerConfig): Promise<Handler> {
    const { clock, random, metrics, print } = this.o
    const plugins: Plugin[] = []
    const zone = config.zones[0] as string
    const server = `dns://:${config.port}`
    if (config.errors) plugins.push(errorsPlugin(print))
    for (const log of config.log)
      plugins.push(logPlugin(log, clock, print, (query, outcome) => encodeMessage(finished(query, outcome), replyLimit(query)).length))
    if (config.loadbalance) plugins.push(loadbalancePlugin(random))
    if (config.cache) plugins.push(cachePlugin(config.cache, clock, metrics.cache(server, zone)))
    if (config.hosts) plugins.push(hostsPlugin(config.hosts, await this.hostsTable(config.hosts)))
    if (config.kubernetes) plugins.push(await this.kubernetes(config, config.kubernetes))
    if (config.loop) {
      const detector: LoopDetector = new LoopDetector(zone, random, (query) => this.o.onLoop(config, zone, query))
      this.loops.push({ config, detector })
      plugins.push(detector.plugin)
    }
    for (const forward of config.forwards) {
      const upstreams: Upstream[] = []
      for (const to of forward.to) {
        if (!('file' in to)) upstreams.push(to)
        else {
          const found = resolvConfUpstreams(await this.o.readFile(to.file).catch(() => ''))
          if (found.length === 0) print(`[WARNING] plugin/forward: no nameservers found in ${to.file}: names of other zones are not resolved`)
          upstreams.push(...found)
        }
      }
      const options = { config: forward, upstreams: upstreams.slice(0, MAX_UPSTREAMS), clock, random, metrics: metrics.forward() }
      plugins.push(forwardPlugin({ ...options, signal: this.stopped.signal }))
    }
    let handler: Handler = async () => ({ failure: Rcode.REFUSED })
    for (const plugin of plugins.reverse()) handler = plugin(handler)
    return handler
  }

  private async kubernetes(config: ServerConfig, k: KubernetesConfig): Promise<Plugin> {
    const { clock, random, log } = this.o
    const connection = await this.o.connect(k.kubeconfig)
    const cluster = watchCluster(
      {
        client: connection.client,
        clock,
        random,
        log,
        pods: k.pods === 'verified',
        endpoints: !k.noEndpoints,
        ...(k.labels === undefined ? {} : { labelSelector: k.labels }),
        ...(k.namespaceLabels === undefined ? {} : { namespaceLabelSelector: k.namespaceLabels }),
      },
      this.stopped.signal,
    )
    this.ends.push(async () => {
      await cluster.ended()
      connection.close()
    })
    const { view } = cluster
    this.waiting.push({ synced: cluster.synced, isSynced: view.synced, timeoutMs: k.startupTimeoutMs })
    const options: ZoneOptions = { ...k, namespaces: new Set(k.namespaces), localAddresses: this.o.hostsOf(config) }
    return (next) => async (query) => {
      const lookup = (name: string, type: number) => this.lookup(config, query, name, type)
      const answer = await answerFromCluster(view, options, query.question, lookup)
      return answer === 'next' ? next(query) : replyTo(query.message, { authoritative: true, ...answer })
    }
  }

  /** Asks this server itself, as the target of an alias must be. */
  private async lookup(config: ServerConfig, from: Query, name: string, type: number) {
    const depth = (from.depth ?? 0) + 1
    const served = this.route(this.o.hostsOf(config)[0] ?? '', config.port, canonical(name))
    if (depth > MAX_DEPTH || !served) return undefined
    const message = queryFor(from.message.id, name, type, {
      checkingDisabled: from.message.checkingDisabled,
      ...(from.message.edns ? { edns: from.message.edns } : {}),
    })
    const question = message.question[0] as Query['question']
    const outcome = await served.handler({ ...from, message, question, name: canonical(name), depth })
    return isFailure(outcome) ? undefined : outcome
  }

  /** A hosts file that is read again as it changes. */
  private async hostsTable(hosts: HostsConfig): Promise<() => HostsTable> {
    let text = await this.o.readFile(hosts.file).catch(() => '')
    let table = parseHosts(text)
    if (hosts.reloadMs > 0) {
      const timer = this.o.clock.setInterval(() => {
        this.o.readFile(hosts.file).then(
          (now) => {
            if (now !== text) table = parseHosts((text = now))
          },
          () => {},
        )
      }, hosts.reloadMs)
      this.ends.push(async () => timer.cancel())
    }
    return () => table
  }
}
