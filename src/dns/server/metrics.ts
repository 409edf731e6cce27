import type { CacheMetrics } from '../plugins/cache.ts'
import type { ForwardMetrics } from '../plugins/forward.ts'
import { type Message, rcodeName, Type, typeName } from '../wire/message.ts'
import type { Answered } from './respond.ts'

const SECONDS = [0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192]
const BYTES = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3]
const KNOWN_TYPES = new Set<number>([Type.A, Type.AAAA, Type.CNAME, Type.HTTPS, Type.MX, Type.NS, Type.PTR, Type.SOA, Type.SRV, Type.TXT, Type.ANY, Type.DS])

interface Family {
  readonly help: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly buckets: readonly number[]
  /** By labels in text form. */
  readonly values: Map<string, { value: number; counts: number[]; sum: number }>
}

/** CoreDNS's metrics by their names. */
export class DnsMetrics {
  private readonly families = new Map<string, Family>()

  constructor(version: string) {
    this.family('coredns_build_info', 'gauge', "A metric with a constant '1' value labeled by version, revision, and goversion from which CoreDNS was built.")
    this.set('coredns_build_info', { goversion: '', revision: '', version }, 1)
    this.family('coredns_panics_total', 'counter', 'A metrics that counts the number of panics.')
    this.add('coredns_panics_total', {}, 0)
    this.family('coredns_plugin_enabled', 'gauge', 'A metric that indicates whether a plugin is enabled on per server and zone basis.')
    this.family('coredns_dns_requests_total', 'counter', 'Counter of DNS requests made per zone, protocol and family.')
    this.family('coredns_dns_request_duration_seconds', 'histogram', 'Histogram of the time (in seconds) each request took per zone.', SECONDS)
    this.family('coredns_dns_request_size_bytes', 'histogram', 'Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.', BYTES)
    this.family('coredns_dns_do_requests_total', 'counter', 'Counter of DNS requests with DO bit set per zone.')
    this.family('coredns_dns_response_size_bytes', 'histogram', 'Size of the returned response in bytes.', BYTES)
    this.family('coredns_dns_responses_total', 'counter', 'Counter of response status codes.')
    this.family('coredns_cache_entries', 'gauge', 'The number of elements in the cache.')
    this.family('coredns_cache_hits_total', 'counter', 'The count of cache hits.')
    this.family('coredns_cache_misses_total', 'counter', 'The count of cache misses. Deprecated, derive misses from cache hits/requests counters.')
    this.family('coredns_cache_requests_total', 'counter', 'The count of cache requests.')
    this.family('coredns_proxy_request_duration_seconds', 'histogram', 'Histogram of the time each request took.', SECONDS)
    this.family('coredns_proxy_healthcheck_failures_total', 'counter', 'Counter of the number of failed healthchecks.')
    this.family('coredns_forward_healthcheck_broken_total', 'counter', 'Counter of the number of complete failures of the healthchecks.')
    this.family(
      'coredns_forward_max_concurrent_rejects_total',
      'counter',
      'Counter of the number of queries rejected because the concurrent queries were at maximum.',
    )
    this.family('coredns_health_request_duration_seconds', 'histogram', 'Histogram of the time (in seconds) each request took.', SECONDS)
    this.family('coredns_reload_failed_total', 'counter', 'Counter of the number of failed reload attempts.')
    this.add('coredns_reload_failed_total', {}, 0)
  }

  private family(name: string, kind: Family['kind'], help: string, buckets: readonly number[] = []): void {
    this.families.set(name, { kind, help, buckets, values: new Map() })
  }

  private cell(name: string, labels: Readonly<Record<string, string>>) {
    const family = this.families.get(name) as Family
    const key = Object.keys(labels)
      .sort()
      .map((k) => `${k}="${(labels[k] as string).replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`)
      .join(',')
    let cell = family.values.get(key)
    if (!cell) family.values.set(key, (cell = { value: 0, sum: 0, counts: family.buckets.map(() => 0) }))
    return { family, cell }
  }

  add(name: string, labels: Readonly<Record<string, string>>, by = 1): void {
    this.cell(name, labels).cell.value += by
  }

  panicked(): void {
    this.add('coredns_panics_total', {})
  }

  set(name: string, labels: Readonly<Record<string, string>>, value: number): void {
    this.cell(name, labels).cell.value = value
  }

  observe(name: string, labels: Readonly<Record<string, string>>, value: number): void {
    const { family, cell } = this.cell(name, labels)
    cell.value++
    cell.sum += value
    for (const [i, bound] of family.buckets.entries()) if (value <= bound) cell.counts[i] = (cell.counts[i] as number) + 1
  }

  /** Plugins of a configuration that is no longer in force are forgotten. */
  plugins(server: string, zones: readonly string[], names: readonly string[], reset: boolean): void {
    const enabled = this.families.get('coredns_plugin_enabled') as Family
    if (reset) enabled.values.clear()
    for (const zone of zones) for (const name of names) this.set('coredns_plugin_enabled', { server, zone, view: '', name }, 1)
  }

  answered(server: string, a: Answered): void {
    const { query: q, zone } = a
    const of = { server, zone, view: '' }
    const proto = q.transport
    const type = KNOWN_TYPES.has(q.question.type) ? typeName(q.question.type) : 'other'
    const edns = (q.message as Message).edns
    this.add('coredns_dns_requests_total', { ...of, proto, family: q.client.address.includes(':') ? '2' : '1', type })
    if (edns?.dnssecOk) this.add('coredns_dns_do_requests_total', of)
    this.observe('coredns_dns_request_duration_seconds', of, a.seconds)
    this.observe('coredns_dns_request_size_bytes', { ...of, proto }, a.querySize)
    this.observe('coredns_dns_response_size_bytes', { ...of, proto }, a.replySize)
    this.add('coredns_dns_responses_total', { ...of, rcode: rcodeName(a.rcode), plugin: '' })
  }

  cache(server: string, zone: string): CacheMetrics {
    const of = { server, zones: zone, view: '' }
    return {
      request: () => this.add('coredns_cache_requests_total', of),
      hit: (type) => this.add('coredns_cache_hits_total', { ...of, type }),
      miss: () => this.add('coredns_cache_misses_total', of),
      entries: (type, count) => this.set('coredns_cache_entries', { ...of, type }, count),
    }
  }

  forward(): ForwardMetrics {
    return {
      exchanged: (to, rcode, seconds) => this.observe('coredns_proxy_request_duration_seconds', { proxy_name: 'forward', to, rcode }, seconds),
      healthcheckFailed: (to) => this.add('coredns_proxy_healthcheck_failures_total', { proxy_name: 'forward', to }),
      broken: () => this.add('coredns_forward_healthcheck_broken_total', {}),
      rejected: () => this.add('coredns_forward_max_concurrent_rejects_total', {}),
    }
  }

  /** The text exposition format. */
  expose(): string {
    let out = ''
    for (const [name, { help, kind, buckets, values }] of [...this.families].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (values.size === 0) continue
      out += `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`
      for (const [labels, { value, sum, counts }] of values) {
        const braces = labels === '' ? '' : `{${labels}}`
        if (kind !== 'histogram') out += `${name}${braces} ${value}\n`
        else {
          const le = (bound: string, count: number) => `${name}_bucket{${labels}${labels === '' ? '' : ','}le="${bound}"} ${count}\n`
          out += buckets.map((bound, i) => le(String(bound), counts[i] as number)).join('')
          out += `${le('+Inf', value)}${name}_sum${braces} ${sum}\n${name}_count${braces} ${value}\n`
        }
      }
    }
    return out
  }
}
