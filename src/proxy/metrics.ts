import { createMetricsRegistry } from '../component-base/metrics/registry.ts'
import type { Family } from './address.ts'

/** What the proxy counts, by upstream's names. */
export interface ProxyMetrics {
  synced(family: Family, full: boolean, seconds: number, at: number): void
  failed(family: Family): void
  cleanupFailed(family: Family): void
  queued(family: Family, at: number): void
  /** From an endpoint's change to its rules. */
  programmed(family: Family, seconds: number): void
  changes(family: Family, kind: 'endpoint' | 'service', pending: number, more: number): void
  noLocalEndpoints(family: Family, policy: 'internal' | 'external', services: number): void
  health(probe: 'healthz' | 'livez', code: number): void
  expose(): Promise<string>
  readonly contentType: string
}

const doubling = (first: number, count: number) => Array.from({ length: count }, (_, i) => first * 2 ** i)
const SECONDS = doubling(0.001, 15)
/** Of network programming: up to the minutes that a slow cluster needs. */
const PROGRAMMING = [
  0.25,
  0.5,
  ...Array.from({ length: 59 }, (_, i) => i + 1),
  ...Array.from({ length: 12 }, (_, i) => 60 + i * 5),
  ...[120, 150, 180, 210, 240, 270, 300],
]

export async function createProxyMetrics(): Promise<ProxyMetrics> {
  const registry = await createMetricsRegistry()
  const labels = ['ip_family']
  const name = (rest: string) => `kubeproxy_${rest}`
  const histogram = (rest: string, help: string, buckets: readonly number[]) => registry.histogram({ name: name(rest), help, labels, buckets })
  const gauge = (rest: string, help: string, more: readonly string[] = []) => registry.gauge({ name: name(rest), help, labels: [...labels, ...more] })
  const counter = (rest: string, help: string) => registry.counter({ name: name(rest), help, labels })
  const sync = histogram('sync_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds', SECONDS)
  const full = histogram('sync_full_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds for full resyncs', SECONDS)
  const partial = histogram('sync_partial_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds for partial resyncs', SECONDS)
  const programming = histogram('network_programming_duration_seconds', 'In Cluster Network Programming Latency in seconds', PROGRAMMING)
  const last = gauge('sync_proxy_rules_last_timestamp_seconds', 'The last time proxy rules were successfully synced')
  const lastQueued = gauge('sync_proxy_rules_last_queued_timestamp_seconds', 'The last time a sync of proxy rules was queued')
  const failures = counter('sync_proxy_rules_nftables_sync_failures_total', 'Cumulative proxy nftables sync failures')
  const cleanupFailures = counter('sync_proxy_rules_nftables_cleanup_failures_total', 'Cumulative proxy nftables cleanup failures')
  const pending = {
    endpoint: gauge('sync_proxy_rules_endpoint_changes_pending', 'Pending proxy rules Endpoint changes'),
    service: gauge('sync_proxy_rules_service_changes_pending', 'Pending proxy rules Service changes'),
  }
  const total = {
    endpoint: counter('sync_proxy_rules_endpoint_changes_total', 'Cumulative proxy rules Endpoint changes'),
    service: counter('sync_proxy_rules_service_changes_total', 'Cumulative proxy rules Service changes'),
  }
  const noLocal = gauge('sync_proxy_rules_no_local_endpoints_total', 'Number of services with a Local traffic policy and no endpoints', ['traffic_policy'])
  const probes = {
    healthz: registry.counter({ name: name('proxy_healthz_total'), help: 'Cumulative proxy healthz HTTP status', labels: ['code'] }),
    livez: registry.counter({ name: name('proxy_livez_total'), help: 'Cumulative proxy livez HTTP status', labels: ['code'] }),
  }
  return {
    synced(ip_family, wasFull, seconds, at) {
      sync.observe({ ip_family }, seconds)
      ;(wasFull ? full : partial).observe({ ip_family }, seconds)
      last.set({ ip_family }, at / 1000)
    },
    failed: (ip_family) => failures.inc({ ip_family }),
    cleanupFailed: (ip_family) => cleanupFailures.inc({ ip_family }),
    queued: (ip_family, at) => lastQueued.set({ ip_family }, at / 1000),
    programmed: (ip_family, seconds) => programming.observe({ ip_family }, seconds),
    changes(ip_family, kind, waiting, more) {
      pending[kind].set({ ip_family }, waiting)
      if (more > 0) total[kind].inc({ ip_family }, more)
    },
    noLocalEndpoints: (ip_family, traffic_policy, services) => noLocal.set({ ip_family, traffic_policy }, services),
    health: (probe, code) => probes[probe].inc({ code: String(code) }),
    expose: () => registry.expose(),
    contentType: registry.contentType,
  }
}
