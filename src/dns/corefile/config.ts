import { parseBlocks, type ServerBlock } from './blocks.ts'
import { DirectiveReader } from './directive-reader.ts'
import { type ForwardConfig, readForward } from './forward-config.ts'
import { type KubernetesConfig, readKubernetes } from './kubernetes-config.ts'
import { CorefileError } from './tokens.ts'

export interface CacheConfig {
  /** Canonical; names outside are not kept. */
  readonly zones: readonly string[]
  readonly success: CacheLimits
  readonly denial: CacheLimits
  readonly servfailTtl: number
  /** Zones whose answers of that kind are not kept. */
  readonly withoutSuccess: readonly string[]
  readonly withoutDenial: readonly string[]
  readonly keepTtl: boolean
}

export interface CacheLimits {
  readonly capacity: number
  readonly maxTtl: number
  readonly minTtl: number
}

export interface HostsConfig {
  readonly file: string
  readonly zones: readonly string[]
  readonly inline: readonly string[]
  readonly ttl: number
  readonly reverse: boolean
  readonly reloadMs: number
  readonly fallthrough: readonly string[]
}

export interface LogConfig {
  readonly zones: readonly string[]
  readonly classes: ReadonlySet<'all' | 'success' | 'denial' | 'error'>
}

/** One server: the zones of a block on one port, and what its block says. */
export interface ServerConfig {
  readonly zones: readonly string[]
  readonly port: number
  /** Addresses to listen on; empty: the default. */
  readonly bind: readonly string[]
  readonly errors: boolean
  readonly log: readonly LogConfig[]
  /** Addresses in `host:port` form, host may be empty. */
  readonly health?: { readonly address: string; readonly lameduckMs: number }
  readonly ready?: { readonly address: string }
  readonly prometheus?: { readonly address: string }
  readonly reload?: { readonly everyMs: number; readonly jitterMs: number }
  readonly loadbalance: boolean
  readonly loop: boolean
  readonly cache?: CacheConfig
  readonly hosts?: HostsConfig
  readonly kubernetes?: KubernetesConfig
  readonly forwards: readonly ForwardConfig[]
}

export interface CorefileOptions {
  /** Named in errors. */
  file: string
  /** Of blocks that name none. @default 53 */
  port?: number
  env?: Readonly<Record<string, string | undefined>>
}

/** What a Corefile says. @throws CorefileError for what is wrong or not understood, with file and line */
export function parseCorefile(text: string, options: CorefileOptions): ServerConfig[] {
  const blocks = parseBlocks(text, options.file, options.env)
  if (blocks.length === 0) throw new CorefileError(`${options.file} - Error during parsing: no server block`)
  const servers = blocks.flatMap((b) => serversOf(b, options))
  const taken = new Map<string, number>()
  for (const s of servers) {
    for (const zone of s.zones) {
      for (const host of s.bind.length > 0 ? s.bind : ['']) {
        const key = `${zone} ${host}:${s.port}`
        if (taken.has(key)) throw new CorefileError(`cannot serve dns://${zone}:${s.port} - it is already defined`)
        taken.set(key, 1)
      }
    }
  }
  return servers
}

function serversOf(block: ServerBlock, options: CorefileOptions): ServerConfig[] {
  const fail = (message: string): never => {
    throw new CorefileError(`${options.file}:${block.line} - Error during parsing: ${message}`)
  }
  const ports = new Map<number, string[]>()
  for (const key of block.keys) {
    const scheme = /^([a-z]+):\/\//i.exec(key)?.[1]
    if (scheme !== undefined && scheme !== 'dns') fail(`transport ${scheme}:// is not supported`)
    const rest = key.slice(scheme === undefined ? 0 : scheme.length + 3)
    const m = /^([\s\S]*?)(?::(\d{1,5}))?$/.exec(rest) as RegExpExecArray
    const port = m[2] === undefined ? (options.port ?? 53) : Number(m[2])
    if (port > 65_535) fail(`invalid port in ${JSON.stringify(key)}`)
    ports.set(port, [...(ports.get(port) ?? []), m[1] || '.'])
  }
  return [...ports].map(([port, names]) => {
    const reader = (d: (typeof block.directives)[number], zones: readonly string[]) => new DirectiveReader(d, options.file, zones)
    const zones = DirectiveReader.zones(names, options.file, block.line)
    const config: { -readonly [K in keyof ServerConfig]: ServerConfig[K] } & { forwards: ForwardConfig[]; log: LogConfig[]; bind: string[] } = {
      zones,
      port,
      bind: [],
      errors: false,
      log: [],
      loadbalance: false,
      loop: false,
      forwards: [],
    }
    const seen = new Set<string>()
    for (const d of block.directives) {
      const r = reader(d, zones)
      if (seen.has(d.name) && !['forward', 'log', 'bind'].includes(d.name)) r.fail('this plugin can only be used once per Server Block')
      seen.add(d.name)
      switch (d.name) {
        case 'bind':
          if (d.args.length === 0) r.wrongArguments()
          config.bind.push(...d.args)
          r.noBody()
          break
        case 'errors':
          r.arguments(0, 0)
          r.noBody()
          config.errors = true
          break
        case 'log':
          config.log.push(readLog(r))
          break
        case 'health': {
          const [address = ':8080'] = r.arguments(0, 1)
          let lameduckMs = 0
          r.properties({ lameduck: (p) => void (lameduckMs = p.duration(p.arguments(1, 1)[0] as string)) })
          config.health = { address: r.address(address), lameduckMs }
          break
        }
        case 'ready':
          config.ready = { address: r.address(r.arguments(0, 1)[0] ?? ':8181') }
          r.noBody()
          break
        case 'prometheus':
          config.prometheus = { address: r.address(r.arguments(0, 1)[0] ?? 'localhost:9153') }
          r.noBody()
          break
        case 'reload': {
          const [every = '30s', jitter] = r.arguments(0, 2)
          const everyMs = Math.max(2000, r.duration(every))
          config.reload = { everyMs, jitterMs: Math.max(1000, jitter === undefined ? everyMs / 2 : Math.min(r.duration(jitter), everyMs / 2)) }
          r.noBody()
          break
        }
        case 'loadbalance': {
          const [policy = 'round_robin'] = r.arguments(0, 1)
          if (policy !== 'round_robin') r.fail(`unknown policy: ${policy}`)
          r.noBody()
          config.loadbalance = true
          break
        }
        case 'loop':
          r.arguments(0, 0)
          r.noBody()
          config.loop = true
          break
        case 'cache':
          config.cache = readCache(r)
          break
        case 'hosts':
          config.hosts = readHosts(r)
          break
        case 'kubernetes':
          config.kubernetes = readKubernetes(r)
          break
        case 'forward':
          config.forwards.push(readForward(r))
          break
        default:
          r.fail(`Unknown directive '${d.name}'`)
      }
    }
    return config
  })
}

function readLog(r: DirectiveReader): LogConfig {
  const names = r.arguments(0, Number.POSITIVE_INFINITY)
  const format = names.find((n) => n.includes('{'))
  if (format !== undefined && format !== '{common}') r.fail(`log format ${JSON.stringify(format)} is not supported`)
  const classes = new Set<'all' | 'success' | 'denial' | 'error'>()
  r.properties({
    class: (p) => {
      for (const c of p.arguments(1, 4)) {
        if (c !== 'all' && c !== 'success' && c !== 'denial' && c !== 'error') p.fail(`unknown class: ${c}`)
        else classes.add(c)
      }
    },
  })
  const zones = names.filter((n) => !n.includes('{'))
  return { zones: zones.length > 0 ? r.zonesOf(zones) : r.serverZones, classes: classes.size > 0 ? classes : new Set(['all'] as const) }
}

function readCache(r: DirectiveReader): CacheConfig {
  const args = [...r.arguments(0, Number.POSITIVE_INFINITY)]
  const ttl = args[0] !== undefined && /^\d+$/.test(args[0]) ? r.count(args.shift() as string) : undefined
  if (ttl === 0) r.fail('cache TTL can not be zero or negative: 0')
  let success: CacheLimits = { capacity: 9984, maxTtl: ttl ?? 3600, minTtl: 5 }
  let denial: CacheLimits = { capacity: 9984, maxTtl: ttl ?? 1800, minTtl: 5 }
  let servfailTtl = 5
  let keepTtl = false
  let withoutSuccess: readonly string[] = []
  let withoutDenial: readonly string[] = []
  const limits = (p: DirectiveReader, own: CacheLimits): CacheLimits => {
    const [capacity, maxTtl, minTtl] = p.arguments(1, 3).map((a) => p.count(a))
    return { capacity: Math.min(capacity as number, 1_000_000), maxTtl: maxTtl ?? own.maxTtl, minTtl: minTtl ?? own.minTtl }
  }
  r.properties({
    success: (p) => void (success = limits(p, success)),
    denial: (p) => void (denial = limits(p, denial)),
    servfail: (p) => {
      servfailTtl = p.duration(p.arguments(1, 1)[0] as string) / 1000
      if (servfailTtl > 300) p.fail('caching SERVFAIL responses over 5 minutes is not permitted')
    },
    keepttl: (p) => void (keepTtl = p.none()),
    disable: (p) => {
      const [kind, ...zones] = p.arguments(1, Number.POSITIVE_INFINITY)
      const list = zones.length > 0 ? p.zonesOf(zones) : r.serverZones
      if (kind === 'success') withoutSuccess = list
      else if (kind === 'denial') withoutDenial = list
      else p.fail(`cache type for disable must be "success" or "denial"`)
    },
  })
  return { zones: args.length > 0 ? r.zonesOf(args) : r.serverZones, success, denial, servfailTtl, withoutSuccess, withoutDenial, keepTtl }
}

function readHosts(r: DirectiveReader): HostsConfig {
  const [file = '/etc/hosts', ...zones] = r.arguments(0, Number.POSITIVE_INFINITY)
  const inline: string[] = []
  let ttl = 3600
  let reverse = true
  let reloadMs = 5000
  let fallthrough: readonly string[] = []
  r.properties(
    {
      fallthrough: (p) => void (fallthrough = p.zonesOrAll()),
      no_reverse: (p) => void (reverse = !p.none()),
      ttl: (p) => {
        ttl = p.count(p.arguments(1, 1)[0] as string)
        if (ttl <= 0 || ttl > 65_535) p.fail('ttl provided is invalid')
      },
      reload: (p) => void (reloadMs = p.duration(p.arguments(1, 1)[0] as string)),
    },
    (d) => void inline.push([d.name, ...d.args].join(' ')),
  )
  return { file, zones: zones.length > 0 ? r.zonesOf(zones) : r.serverZones, inline, ttl, reverse, reloadMs, fallthrough }
}
