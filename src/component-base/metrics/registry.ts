import type { Counter, Gauge, Histogram } from 'prom-client'

export interface MetricSpec {
  name: string
  help: string
  labels?: readonly string[]
  buckets?: readonly number[]
  /** @default ALPHA */
  stability?: 'ALPHA' | 'BETA' | 'STABLE'
}

/** The metrics of one component; asking twice for a name gives the same metric. */
export interface MetricsRegistry {
  counter(spec: MetricSpec): Counter<string>
  gauge(spec: MetricSpec): Gauge<string>
  histogram(spec: MetricSpec): Histogram<string>
  /** The text exposition format. */
  expose(): Promise<string>
  readonly contentType: string
}

/** Loads the metrics library on first need and makes an empty registry of its own. */
export async function createMetricsRegistry(): Promise<MetricsRegistry> {
  const client = (await import('prom-client')).default
  const registry = new client.Registry()
  const known = new Map<string, unknown>()
  const make = <M>(
    spec: MetricSpec,
    create: (config: { name: string; help: string; labelNames: string[]; registers: InstanceType<typeof client.Registry>[] }) => M,
  ): M => {
    let metric = known.get(spec.name) as M | undefined
    if (!metric) {
      metric = create({ name: spec.name, help: `[${spec.stability ?? 'ALPHA'}] ${spec.help}`, labelNames: [...(spec.labels ?? [])], registers: [registry] })
      known.set(spec.name, metric)
    }
    return metric
  }
  return {
    counter: (spec) => make(spec, (c) => new client.Counter(c)),
    gauge: (spec) => make(spec, (c) => new client.Gauge(c)),
    histogram: (spec) => make(spec, (c) => new client.Histogram({ ...c, ...(spec.buckets ? { buckets: [...spec.buckets] } : {}) })),
    expose: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
