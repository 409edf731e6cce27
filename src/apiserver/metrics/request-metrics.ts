import type { InFlight } from '../filters/with-max-in-flight.ts'
import type { ApiResponse } from '../request/api-request.ts'
import type { RequestContext } from '../request/context.ts'
import type { RequestInfo } from '../request/request-info.ts'

const DURATION_BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]
const SIZE_BUCKETS = [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000]
/** Series kept; requests of more shapes than that are counted together. */
const MAX_SERIES = 5000

interface Histogram {
  counts: number[]
  sum: number
  total: number
}

interface Row {
  readonly key: string
  readonly place: string
  readonly series: Series
  duration: Histogram | undefined
  size: Histogram | undefined
}

interface Series {
  labels: string
  total: number
}

/**
 * Counts requests. Nothing of a metrics library stands in a request's way: numbers are kept plainly and printed when somebody scrapes.
 */
export class RequestMetrics {
  private readonly requests = new Map<string, Series>()
  private readonly rows = new Map<string, Row>()
  private readonly durations = new Map<string, Histogram>()
  private readonly sizes = new Map<string, Histogram>()
  private readonly longRunning = new Map<string, number>()
  private readonly terminations = new Map<string, number>()
  private readonly watchEvents = new Map<string, number>()
  private readonly inFlight: InFlight

  constructor(inFlight: InFlight) {
    this.inFlight = inFlight
  }

  /** @param seconds how long the request took */
  observe(context: RequestContext, response: ApiResponse, seconds: number): void {
    const found = this.rowOf(context, response)
    if (!found) return
    found.series.total++
    if (context.longRunning) return
    const { place } = found
    found.duration ??= histogramOf(this.durations, place, DURATION_BUCKETS)
    if (found.duration) observe(found.duration, seconds, DURATION_BUCKETS)
    const size = response.bytes?.length ?? response.pieces?.length
    if (size !== undefined) {
      found.size ??= histogramOf(this.sizes, place, SIZE_BUCKETS)
      if (found.size) observe(found.size, size, SIZE_BUCKETS)
    }
    if (response.status === 429 || response.status === 504) this.terminations.set(found.key, (this.terminations.get(found.key) ?? 0) + 1)
  }

  /** Where a request is counted; undefined when there are too many places already. */
  private rowOf(context: RequestContext, response: ApiResponse): Row | undefined {
    const { info } = context
    // Most requests are told apart by a few short words; the labels are made once for each.
    const word =
      context.request.query === '' && info.verb !== 'patch' && info.isResource
        ? `${info.verb} ${info.version} ${info.resource} ${info.subresource} ${scopeOf(info)} ${response.status} ${info.group}`
        : undefined
    const known = word === undefined ? undefined : this.rows.get(word)
    if (known) return known
    const place = placeOf(info, verbOf(context))
    const key = `${place}|${response.status}|${context.request.query === '' ? '' : (context.query.get('dryRun') ?? '')}`
    let series = this.requests.get(key)
    if (!series) {
      if (this.requests.size >= MAX_SERIES) return undefined
      const dryRun = context.query.get('dryRun') ?? ''
      series = { labels: `code="${response.status}",component="apiserver",dry_run="${escapeLabel(dryRun)}",${place}`, total: 0 }
      this.requests.set(key, series)
    }
    const row: Row = { key, place, series, duration: undefined, size: undefined }
    if (word !== undefined && this.rows.size < MAX_SERIES) this.rows.set(word, row)
    return row
  }

  /** A watch or another endless request begins; call the result when it ends. */
  began(context: RequestContext): () => void {
    const place = placeOf(context.info, verbOf(context))
    const open = this.longRunning.get(place)
    if (open === undefined && this.longRunning.size >= MAX_SERIES) return () => {}
    this.longRunning.set(place, (open ?? 0) + 1)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      const left = (this.longRunning.get(place) ?? 1) - 1
      if (left > 0) this.longRunning.set(place, left)
      else this.longRunning.delete(place)
    }
  }

  sentEvents(info: RequestInfo, count: number): void {
    const key = `group="${info.group}",resource="${info.resource}",version="${info.version}"`
    this.watchEvents.set(key, (this.watchEvents.get(key) ?? 0) + count)
  }

  /** The text exposition format. */
  expose(): string {
    const out: string[] = []
    head(
      out,
      'apiserver_request_total',
      'counter',
      '[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
    )
    for (const { labels, total } of this.requests.values()) out.push(`apiserver_request_total{${labels}} ${total}`)
    printHistogram(
      out,
      'apiserver_request_duration_seconds',
      '[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
      this.durations,
      DURATION_BUCKETS,
      'component="apiserver",dry_run="",',
    )
    printHistogram(
      out,
      'apiserver_request_sli_duration_seconds',
      '[ALPHA] Response latency distribution (not counting webhook duration and priority & fairness queue wait times) in seconds for each verb, group, version, resource, subresource, scope and component.',
      this.durations,
      DURATION_BUCKETS,
      'component="apiserver",',
    )
    printHistogram(
      out,
      'apiserver_response_sizes',
      '[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.',
      this.sizes,
      SIZE_BUCKETS,
      'component="apiserver",',
    )
    head(
      out,
      'apiserver_current_inflight_requests',
      'gauge',
      '[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
    )
    out.push(`apiserver_current_inflight_requests{request_kind="mutating"} ${this.inFlight.mutating}`)
    out.push(`apiserver_current_inflight_requests{request_kind="readOnly"} ${this.inFlight.readOnly}`)
    head(
      out,
      'apiserver_longrunning_requests',
      'gauge',
      '[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.',
    )
    for (const [place, count] of this.longRunning) out.push(`apiserver_longrunning_requests{component="apiserver",${place}} ${count}`)
    head(out, 'apiserver_watch_events_total', 'counter', '[ALPHA] Number of events sent in watch clients')
    for (const [labels, count] of this.watchEvents) out.push(`apiserver_watch_events_total{${labels}} ${count}`)
    return `${out.join('\n')}\n`
  }
}

function verbOf(context: RequestContext): string {
  const { info } = context
  switch (info.verb) {
    case 'create':
      return 'POST'
    case 'update':
      return 'PUT'
    case 'patch':
      return context.request.headers['content-type']?.startsWith('application/apply-patch') ? 'APPLY' : 'PATCH'
    case 'delete':
      return 'DELETE'
    case 'deletecollection':
      return 'DELETECOLLECTION'
    default:
      return info.verb.toUpperCase()
  }
}

function placeOf(info: RequestInfo, verb: string): string {
  return `group="${escapeLabel(info.group)}",resource="${escapeLabel(info.resource)}",scope="${scopeOf(info)}",subresource="${escapeLabel(info.subresource)}",verb="${verb}",version="${escapeLabel(info.version)}"`
}

function scopeOf(info: RequestInfo): string {
  return !info.isResource ? '' : info.parts.length > 1 && info.name !== '' ? 'resource' : info.namespace !== '' ? 'namespace' : 'cluster'
}

function escapeLabel(text: string): string {
  return /["\\\n]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : text
}

function histogramOf(map: Map<string, Histogram>, key: string, buckets: readonly number[]): Histogram | undefined {
  let histogram = map.get(key)
  if (!histogram) {
    if (map.size >= MAX_SERIES) return undefined
    histogram = { counts: new Array(buckets.length).fill(0), sum: 0, total: 0 }
    map.set(key, histogram)
  }
  return histogram
}

function observe(histogram: Histogram, value: number, buckets: readonly number[]): void {
  histogram.sum += value
  histogram.total++
  for (let i = 0; i < buckets.length; i++) {
    if (value <= (buckets[i] as number)) {
      histogram.counts[i] = (histogram.counts[i] as number) + 1
      break
    }
  }
}

function head(out: string[], name: string, type: string, help: string): void {
  out.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
}

function printHistogram(out: string[], name: string, help: string, map: ReadonlyMap<string, Histogram>, buckets: readonly number[], more: string): void {
  head(out, name, 'histogram', help)
  for (const [place, h] of map) {
    let seen = 0
    for (let i = 0; i < buckets.length; i++) {
      seen += h.counts[i] as number
      out.push(`${name}_bucket{${more}${place},le="${buckets[i]}"} ${seen}`)
    }
    out.push(`${name}_bucket{${more}${place},le="+Inf"} ${h.total}`, `${name}_sum{${more}${place}} ${h.sum}`, `${name}_count{${more}${place}} ${h.total}`)
  }
}
