import type { corev1, discoveryv1 } from '../api/index.ts'
import { resources } from '../api/index.ts'
import { objectKey } from '../apimachinery/object.ts'
import { timeMs } from '../apimachinery/time.ts'
import { InformerFactory } from '../client/cache/informer-factory.ts'
import type { Client } from '../client/client.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { type Family, familyOf } from './address.ts'
import type { ProxyConfig } from './config.ts'
import { type ClusterView, FamilyTable } from './family-table.ts'
import type { ProxyMetrics } from './metrics.ts'
import type { PacketFilter } from './packet-filter.ts'
import type { ServiceRules } from './service-rules.ts'

/** What the proxy tells of itself, for its health and that of Services. */
export interface ProxierListener {
  /** All tables are as the API says. */
  synced(at: number): void
  /** The rules of all Services after a sync, first family first. */
  rules(services: ReadonlyMap<string, ServiceRules>, views: ClusterView, addresses: readonly string[] | 'all'): void
  /** Something waits to be synced since then. */
  pending(since: number): void
}

export interface ProxierOptions {
  client: Client
  config: ProxyConfig
  nodeName: string
  filter: PacketFilter
  metrics: ProxyMetrics
  listener: ProxierListener
}

/** Rules that nobody touched are written again after this time. */
const FULL_SYNC_MS = 60 * 60_000
const SERVICE_NAME = 'kubernetes.io/service-name'
const SELECTOR = '!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name'
const SLICES_OF = 'service'

/** Follows Services, EndpointSlices and the node, and keeps the kernel's tables in step: at once after a pause, at most once in the least period. */
export class Proxier {
  private readonly context: ComponentContext
  private readonly options: ProxierOptions
  private readonly dirty = new Set<string>()
  private readonly counts = { endpoint: 0, service: 0 }
  /** Times at which endpoints of a Service changed, for the latency of programming. */
  private readonly triggers = new Map<string, number>()
  private all = true
  private wake: () => void = () => {}

  constructor(context: ComponentContext, options: ProxierOptions) {
    this.context = context
    this.options = options
  }

  /** Runs until the context's signal aborts. The rules stay: connections outlive the proxy. */
  async run(): Promise<void> {
    const { clock, random, log, signal } = this.context
    const { client, nodeName, config, filter, metrics, listener } = this.options
    const informers = new InformerFactory({ client, clock, random, log })
    const services = informers.informer(resources.corev1.services, { labelSelector: SELECTOR })
    const slices = informers.informer(resources.discoveryv1.endpointslices, { labelSelector: '!service.kubernetes.io/headless' })
    const nodes = informers.informer(resources.corev1.nodes, { fieldSelector: `metadata.name=${nodeName}` })
    const cidrs = informers.informer(resources.networkingv1.servicecidrs)
    slices.addIndex(SLICES_OF, (s) => (serviceKey(s) ? [serviceKey(s) as string] : []))
    const onService = (s: corev1.Service) => this.mark('service', objectKey(s))
    services.addHandler({ onAdd: onService, onUpdate: (_, s) => onService(s), onDelete: onService })
    const onSlice = (s: discoveryv1.EndpointSlice) => {
      const key = serviceKey(s)
      if (key) this.mark('endpoint', key)
    }
    const changed = (s: discoveryv1.EndpointSlice) => {
      this.trigger(s)
      onSlice(s)
    }
    slices.addHandler({
      onAdd: (s, initial) => (initial ? onSlice(s) : changed(s)),
      onUpdate: (before, s) => {
        onSlice(before)
        changed(s)
      },
      onDelete: onSlice,
    })
    // Facts are compared at the sync; an update of the node's status alone is not worth one.
    nodes.addHandler({ onAdd: () => this.poke(), onUpdate: (a, b) => nodeMatters(a, b) && this.poke(), onDelete: () => this.poke() })
    cidrs.addHandler({ onAdd: () => this.poke(), onUpdate: () => this.poke(), onDelete: () => this.poke() })
    const view: ClusterView = {
      services: () => services.lister.list(),
      service: (key) => services.lister.get(key),
      slices: (key) => slices.lister.byIndex(SLICES_OF, key),
      node: () => nodes.lister.get(nodeName),
      serviceCIDRs: () => cidrs.lister.list(),
    }
    informers.start(signal)
    try {
      await informers.waitForSync(signal)
      const tables = familiesOf(config, view.node()).map(
        (family) => new FamilyTable({ family, nodeName, config, view, filter, log, onCleanupFailure: () => metrics.cleanupFailed(family) }),
      )
      let lastFull = clock.monotonic()
      for (;;) {
        const started = clock.monotonic()
        if (started - lastFull >= FULL_SYNC_MS) {
          lastFull = started
          this.all = true
          for (const t of tables) t.forget()
        }
        const ok = await this.sync(tables)
        if (ok) {
          listener.synced(clock.now())
          const [first] = tables
          if (first) listener.rules(first.rules(), view, first.nodeAddresses)
        }
        if (signal.aborted) return
        await this.rest(started + (ok ? config.minSyncPeriodMs : Math.min(config.syncPeriodMs, Math.max(config.minSyncPeriodMs, 1000))), !ok, tables)
      }
    } catch (e) {
      if (!signal.aborted) throw e
    } finally {
      await informers.stopped()
    }
  }

  /** Sleeps for the least period, and then until there is something to do. */
  private async rest(until: number, retry: boolean, tables: readonly FamilyTable[]): Promise<void> {
    const { clock, signal } = this.context
    const wait = until - clock.monotonic()
    if (wait > 0) await clock.sleep(wait, signal)
    while (!retry && !this.all && !this.poked && this.dirty.size === 0) {
      signal.throwIfAborted()
      const woken = await new Promise<boolean>((resolve) => {
        const end = (value: boolean) => {
          timer.cancel()
          signal.removeEventListener('abort', stop)
          this.wake = () => {}
          resolve(value)
        }
        const stop = () => end(true)
        const timer = clock.setTimeout(() => end(false), this.options.config.syncPeriodMs)
        signal.addEventListener('abort', stop, { once: true })
        this.wake = stop
      })
      if (woken || signal.aborted) continue
      // Somebody may have flushed the machine's rules.
      for (const t of tables) {
        if (!(await t.isGone().catch(() => false))) continue
        this.context.log.warn('nftables table is gone; writing it again', { family: t.family })
        t.forget()
        this.all = true
      }
      if (!this.all) this.options.listener.synced(clock.now())
    }
  }

  private poked = false

  private poke(): void {
    this.poked = true
    this.wake()
  }

  private mark(kind: 'endpoint' | 'service', key: string): void {
    if (this.dirty.size === 0) this.options.listener.pending(this.context.clock.now())
    this.dirty.add(key)
    this.counts[kind]++
    this.wake()
  }

  private trigger(slice: discoveryv1.EndpointSlice): void {
    const text = slice.metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time']
    const key = serviceKey(slice)
    const at = text === undefined ? undefined : timeMs(text)
    if (key && at !== undefined && Number.isFinite(at) && !this.triggers.has(key)) this.triggers.set(key, at)
  }

  private async sync(tables: readonly FamilyTable[]): Promise<boolean> {
    const { clock, log } = this.context
    const { metrics } = this.options
    const dirty = this.all ? ('all' as const) : new Set(this.dirty)
    const counts = { ...this.counts }
    const triggers = [...this.triggers.values()]
    this.all = false
    this.poked = false
    this.dirty.clear()
    this.triggers.clear()
    this.counts.endpoint = this.counts.service = 0
    let ok = true
    for (const table of tables) {
      const { family } = table
      const start = clock.monotonic()
      metrics.queued(family, clock.now())
      try {
        const { full } = await table.sync(dirty)
        metrics.synced(family, full, (clock.monotonic() - start) / 1000, clock.now())
        for (const at of triggers) metrics.programmed(family, Math.max(0, clock.now() - at) / 1000)
        log.v(3).info('SyncProxyRules complete', { family, full, elapsedMs: Math.round(clock.monotonic() - start), services: table.rules().size })
      } catch (e) {
        ok = false
        this.all = true
        table.forget()
        metrics.failed(family)
        log.error('nftables sync failed', { family, err: (e as Error).message })
      }
      metrics.changes(family, 'endpoint', 0, counts.endpoint)
      metrics.changes(family, 'service', 0, counts.service)
      for (const policy of ['internal', 'external'] as const) {
        let n = 0
        for (const rules of table.rules().values()) if (rules.ports.some((p) => p.noLocal.includes(policy))) n++
        metrics.noLocalEndpoints(family, policy, n)
      }
    }
    return ok
  }
}

function serviceKey(slice: discoveryv1.EndpointSlice): string | undefined {
  const name = slice.metadata.labels?.[SERVICE_NAME]
  return name ? `${slice.metadata.namespace}/${name}` : undefined
}

/** IPv4 always, unless the node has only IPv6; IPv6 when the node has an address of it. */
function familiesOf(config: ProxyConfig, node: corev1.Node | undefined): Family[] {
  const has = new Set((node?.status?.addresses ?? []).filter((a) => a.type === 'InternalIP').map((a) => familyOf(a.address)))
  if (config.bindAddress !== '0.0.0.0' && config.bindAddress !== '::') has.add(familyOf(config.bindAddress))
  const out: Family[] = []
  if (has.has('IPv4') || !has.has('IPv6')) out.push('IPv4')
  if (has.has('IPv6')) out.push('IPv6')
  return out
}

function nodeMatters(a: corev1.Node, b: corev1.Node): boolean {
  const seen = (n: corev1.Node) =>
    JSON.stringify([n.metadata.labels?.['topology.kubernetes.io/zone'], n.spec?.podCIDRs, n.status?.addresses, n.metadata.deletionTimestamp])
  return seen(a) !== seen(b)
}
