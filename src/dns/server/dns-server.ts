import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock, Random } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import { parseCorefile, type ServerConfig } from '../corefile/config.ts'
import { exchangeUdp } from '../plugins/exchange.ts'
import { queryFor, Type } from '../wire/message.ts'
import { Generation, type GenerationOptions } from './generation.ts'
import { Listener } from './listener.ts'
import { DnsMetrics } from './metrics.ts'
import { type Page, servePages } from './pages.ts'
import { respond } from './respond.ts'

export interface DnsServerOptions extends Pick<GenerationOptions, 'readFile' | 'connect' | 'print'> {
  clock: Clock
  random: Random
  log: Logger
  /** Of the Corefile, for `readFile` and in errors. */
  corefile: string
  /** Of server blocks that name none. @default 53 */
  port?: number
  /** Addresses to listen on where the Corefile names none. */
  hosts: readonly string[]
  /** The Corefile may name no other addresses. */
  onlyHosts: boolean
  /** Waits before it stops, as the Corefile says, so that clients find another server. */
  lameduck: boolean
  env?: Readonly<Record<string, string | undefined>>
}

/** The version of CoreDNS whose answers these are. */
export const COREDNS_VERSION = '1.14.2'
const POD_WIDE = new Set(['0.0.0.0', '::', '127.0.0.1', '::1'])
/** A server that has heard nothing of its own question by then goes in no circle. */
const LOOP_CHECK_MS = 30_000

/** Where a server is reached, as far as its configuration has it. */
export interface Endpoints {
  readonly dns: readonly { readonly host: string; readonly port: number }[]
  /** By address as written in the Corefile. */
  readonly pages: ReadonlyMap<string, number>
}

/** Serves what a Corefile says, and what it says later. */
export class DnsServer {
  readonly metrics = new DnsMetrics(COREDNS_VERSION)
  private readonly o: DnsServerOptions
  private readonly listeners = new Map<string, Listener>()
  private readonly pages = new Map<string, Awaited<ReturnType<typeof servePages>>>()
  private generation: Generation | undefined
  private hash = ''
  private readonly stop = new AbortController()

  constructor(options: DnsServerOptions) {
    this.o = options
  }

  get endpoints(): Endpoints {
    return {
      dns: [...this.listeners].map(([key, l]) => ({ host: key.slice(0, key.lastIndexOf(' ')), port: l.port })),
      pages: new Map([...this.pages].map(([key, p]) => [key, p.port])),
    }
  }

  /** Serves until the signal aborts. @param started called when questions are answered. @throws Error when it cannot start, or finds itself in a loop */
  async run(signal: AbortSignal, started: () => void = () => {}): Promise<void> {
    const onAbort = () => this.stop.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await this.load(await this.o.readFile(this.o.corefile))
      if (signal.aborted) return
      this.announce()
      started()
      await Promise.race([this.watchCorefile(), new Promise<void>((resolve) => this.stop.signal.addEventListener('abort', () => resolve(), { once: true }))])
      if (!signal.aborted) throw this.stop.signal.reason
      await this.goLame()
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.stop.abort(new Error('the server stops'))
      await Promise.all([...this.listeners.values(), ...this.pages.values()].map((l) => l.close()))
      await this.generation?.stop()
    }
  }

  /** Takes a configuration into force, in place of the one before. */
  private async load(text: string): Promise<void> {
    const { o } = this
    const configs = parseCorefile(text, { file: o.corefile, ...(o.port === undefined ? {} : { port: o.port }), ...(o.env ? { env: o.env } : {}) })
    for (const c of configs) for (const host of [...c.bind, ...pageAddresses(c).map(hostOf)]) this.hosts(host)
    const next = await Generation.start(configs, {
      ...o,
      metrics: this.metrics,
      hostsOf: (c) => this.hostsOf(c),
      onLoop: (c, zone, query) => {
        const message = `Loop (127.0.0.1:0 -> :${c.port}) detected for zone ${JSON.stringify(zone)}, see https://coredns.io/plugins/loop#troubleshooting. Query: ${JSON.stringify(query)}`
        o.print(`[FATAL] plugin/loop: ${message}`)
        this.stop.abort(new Error(message))
      },
    })
    const before = this.generation
    try {
      await this.listen(next)
    } catch (e) {
      await next.stop()
      throw e
    }
    this.generation = next
    this.hash = hashOf(text)
    await this.closeUnused(next)
    for (const [i, c] of configs.entries()) this.metrics.plugins(`dns://:${c.port}`, c.zones, pluginNames(c), i === 0)
    this.checkLoops(next)
    await before?.stop()
  }

  private hostsOf(c: ServerConfig): readonly string[] {
    return c.bind.length > 0 ? c.bind.flatMap((b) => this.hosts(b)) : this.o.hosts
  }

  /** The addresses that a word of the Corefile stands for. @throws Error for those that are not to be had */
  private hosts(word: string): readonly string[] {
    const { hosts, onlyHosts } = this.o
    if (word === '') return hosts
    const address = word === 'localhost' ? '127.0.0.1' : word.replace(/^\[|\]$/g, '')
    // All addresses of a Pod, and its loopback, are here its own address: others on the machine are not the Pod's.
    if (onlyHosts && POD_WIDE.has(address)) return hosts
    if (!isIP(address)) throw new Error(`${this.o.corefile}: not a valid IP address: ${word}`)
    if (onlyHosts && !hosts.includes(address)) throw new Error(`${this.o.corefile}: this server listens on ${hosts.join(', ')} alone, not on ${word}`)
    return [address]
  }

  private async listen(next: Generation): Promise<void> {
    const { clock } = this.o
    for (const c of next.configs) {
      for (const host of this.hostsOf(c)) {
        const key = `${host} ${c.port}`
        if (this.listeners.has(key)) continue
        const server = `dns://:${c.port}`
        const responder = {
          route: (name: string) => (this.generation ?? next).route(host, c.port, name),
          answered: (a: Parameters<DnsMetrics['answered']>[1]) => this.metrics.answered(server, a),
          panicked: (error: unknown) => {
            this.metrics.panicked()
            this.o.log.error('dns: a question could not be answered', { err: error instanceof Error ? (error.stack ?? error.message) : String(error) })
          },
        }
        const now = () => clock.monotonic()
        this.listeners.set(key, await Listener.open({ host, port: c.port, clock, answer: (bytes, origin) => respond(bytes, origin, responder, now) }))
      }
      for (const address of pageAddresses(c)) {
        for (const host of this.hosts(hostOf(address))) {
          const key = `${host} ${portOf(address)}`
          if (!this.pages.has(key)) this.pages.set(key, await servePages(host, portOf(address), this.page(address)))
        }
      }
    }
  }

  private async closeUnused(now: Generation): Promise<void> {
    const dns = new Set(now.configs.flatMap((c) => this.hostsOf(c).map((host) => `${host} ${c.port}`)))
    const pages = new Set(now.configs.flatMap((c) => pageAddresses(c).flatMap((a) => this.hosts(hostOf(a)).map((host) => `${host} ${portOf(a)}`))))
    for (const [map, wanted] of [[this.listeners, dns] as const, [this.pages, pages] as const]) {
      for (const [key, open] of map) {
        if (wanted.has(key)) continue
        map.delete(key)
        await open.close()
      }
    }
  }

  private page(address: string): Page {
    const has = (pick: (c: ServerConfig) => { address: string } | undefined) =>
      this.generation?.configs.some((c) => {
        const page = pick(c)
        return page !== undefined && portOf(page.address) === portOf(address)
      }) ?? false
    return (path) => {
      if (path === '/health' && has((c) => c.health)) {
        this.metrics.observe('coredns_health_request_duration_seconds', {}, 0)
        return { status: 200, body: 'OK' }
      }
      if (path === '/ready' && has((c) => c.ready)) {
        const missing = this.generation?.notReady() ?? ['kubernetes']
        return missing.length === 0 ? { status: 200, body: 'OK' } : { status: 503, body: missing.join(',') }
      }
      if (path === '/metrics' && has((c) => c.prometheus)) return { status: 200, body: this.metrics.expose(), type: 'text/plain; version=0.0.4; charset=utf-8' }
      return undefined
    }
  }

  private announce(): void {
    const { print } = this.o
    for (const c of this.generation?.configs ?? []) for (const zone of c.zones) print(`${zone}:${c.port}${c.bind.length > 0 ? ` on ${c.bind.join(' ')}` : ''}`)
    if (this.generation?.configs.some((c) => c.reload)) print(`[INFO] plugin/reload: Running configuration SHA512 = ${this.hash}`)
    print(`CoreDNS-${COREDNS_VERSION}`)
  }

  /** Each server asks itself once, over its own socket. */
  private checkLoops(generation: Generation): void {
    const { clock, random } = this.o
    for (const { config, detector } of generation.loops) {
      const [host] = this.hostsOf(config)
      const port = this.listeners.get(`${host} ${config.port}`)?.port
      if (host === undefined || port === undefined) continue
      const query = queryFor(random.int(0x10000), detector.name, Type.HINFO)
      exchangeUdp(query, { address: host, port }, { clock, signal: this.stop.signal, timeoutMs: 2000 }).catch(() => {})
      const over = clock.setTimeout(() => detector.stop(), LOOP_CHECK_MS)
      this.stop.signal.addEventListener('abort', () => over.cancel(), { once: true })
    }
  }

  private async watchCorefile(): Promise<void> {
    const { clock, random, print } = this.o
    const { signal } = this.stop
    let failed = ''
    while (!signal.aborted) {
      const reload = this.generation?.configs.find((c) => c.reload)?.reload
      // Without the plugin a configuration lasts as long as the server.
      if (!reload) return new Promise(() => {})
      await clock.sleep(reload.everyMs + random.int(Math.ceil(reload.jitterMs)), signal).catch(() => {})
      if (signal.aborted) return
      const text = await this.o.readFile(this.o.corefile).catch(() => undefined)
      if (text === undefined || hashOf(text) === this.hash || hashOf(text) === failed) continue
      print('[INFO] Reloading')
      try {
        await this.load(text)
        failed = ''
        print(`[INFO] plugin/reload: Running configuration SHA512 = ${this.hash}`)
        print('[INFO] Reloading complete')
      } catch (e) {
        failed = hashOf(text)
        this.metrics.add('coredns_reload_failed_total', {})
        print(`[ERROR] Restart failed: ${e instanceof Error ? e.message : String(e)}`)
        print('[ERROR] plugin/reload: Corefile changed but reload failed: the configuration before stays in force')
      }
    }
  }

  private async goLame(): Promise<void> {
    const ms = Math.max(0, ...(this.generation?.configs ?? []).map((c) => c.health?.lameduckMs ?? 0))
    if (!this.o.lameduck || ms === 0) return
    this.o.print(`[INFO] plugin/health: Going into lameduck mode for ${ms / 1000}s`)
    await this.o.clock.sleep(ms)
  }
}

const hashOf = (text: string): string => createHash('sha512').update(text).digest('hex')
const hostOf = (address: string): string => address.slice(0, address.lastIndexOf(':'))
const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1))
const pageAddresses = (c: ServerConfig): string[] => [c.health, c.ready, c.prometheus].flatMap((p) => (p ? [p.address] : []))

function pluginNames(c: ServerConfig): string[] {
  const named = {
    errors: c.errors,
    log: c.log.length > 0,
    health: c.health,
    ready: c.ready,
    prometheus: c.prometheus,
    loadbalance: c.loadbalance,
    loop: c.loop,
  }
  const more = { cache: c.cache, hosts: c.hosts, kubernetes: c.kubernetes, forward: c.forwards.length > 0, reload: c.reload }
  return Object.entries({ ...named, ...more }).flatMap(([name, on]) => (on ? [name] : []))
}
