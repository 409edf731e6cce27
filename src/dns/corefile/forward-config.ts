import { isIP } from 'node:net'
import type { DirectiveReader } from './directive-reader.ts'

/** Another server that may know. */
export interface Upstream {
  readonly address: string
  readonly port: number
}

export interface ForwardConfig {
  /** Canonical; only names within are asked of the others. */
  readonly from: string
  /** Addresses, and files in resolv.conf's form, in order. */
  readonly to: readonly (Upstream | { readonly file: string })[]
  readonly except: readonly string[]
  readonly policy: 'random' | 'round_robin' | 'sequential'
  readonly forceTcp: boolean
  readonly preferUdp: boolean
  /** Failures after which an upstream is taken as down; 0: never. */
  readonly maxFails: number
  /** Questions under way at most; 0: no limit but the server's own. */
  readonly maxConcurrent: number
  readonly healthCheckMs: number
}

export const MAX_UPSTREAMS = 15

export function readForward(r: DirectiveReader): ForwardConfig {
  const [from, ...to] = r.arguments(2, 1 + MAX_UPSTREAMS)
  const c: { -readonly [K in keyof ForwardConfig]: ForwardConfig[K] } = {
    from: r.zonesOf([from as string])[0] as string,
    to: to.map((t) => upstream(r, t)),
    except: [],
    policy: 'random',
    forceTcp: false,
    preferUdp: false,
    maxFails: 2,
    maxConcurrent: 0,
    healthCheckMs: 500,
  }
  r.properties({
    except: (p) => void (c.except = [...c.except, ...p.zonesOf(p.arguments(1, Number.POSITIVE_INFINITY))]),
    force_tcp: (p) => void (c.forceTcp = p.none()),
    prefer_udp: (p) => void (c.preferUdp = p.none()),
    max_fails: (p) => void (c.maxFails = p.count(p.arguments(1, 1)[0] as string)),
    max_concurrent: (p) => void (c.maxConcurrent = p.count(p.arguments(1, 1)[0] as string)),
    // Each question has a socket of its own: there is nothing that could expire.
    expire: (p) => void p.duration(p.arguments(1, 1)[0] as string),
    health_check: (p) => void (c.healthCheckMs = Math.max(100, p.duration(p.arguments(1, 1)[0] as string))),
    policy: (p) => {
      const [policy] = p.arguments(1, 1)
      if (policy === 'random' || policy === 'round_robin' || policy === 'sequential') c.policy = policy
      else p.fail(`unknown policy '${policy}'`)
    },
  })
  return c
}

function upstream(r: DirectiveReader, text: string): ForwardConfig['to'][number] {
  const scheme = /^([a-z]+):\/\//.exec(text)?.[1]
  if (scheme !== undefined && scheme !== 'dns') r.fail(`upstreams over ${scheme}:// are not supported`)
  const rest = text.slice(scheme === undefined ? 0 : scheme.length + 3)
  if (isIP(rest)) return { address: rest, port: 53 }
  const m = /^(?:\[([0-9a-f:.]+)\]|([\d.]+))(?::(\d{1,5}))?$/i.exec(rest)
  const address = m?.[1] ?? m?.[2]
  if (address !== undefined && isIP(address)) {
    const port = Number(m?.[3] ?? 53)
    if (port === 0 || port > 65_535) r.fail(`invalid port in ${JSON.stringify(text)}`)
    return { address, port }
  }
  if (rest.startsWith('/') || rest.startsWith('.')) return { file: rest }
  return r.fail(`not an IP address or file: ${JSON.stringify(text)}`)
}

/** The servers that a file in resolv.conf's form names. */
export function resolvConfUpstreams(text: string): Upstream[] {
  const out: Upstream[] = []
  for (const line of text.split('\n')) {
    const address = /^\s*nameserver\s+([^\s#;]+)/.exec(line)?.[1]
    if (address !== undefined && isIP(address) && out.length < MAX_UPSTREAMS) out.push({ address, port: 53 })
  }
  return out
}
