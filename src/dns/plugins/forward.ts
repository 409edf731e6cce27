import type { Clock, Random } from '../../base/index.ts'
import type { ForwardConfig, Upstream } from '../corefile/forward-config.ts'
import { type Message, queryFor, Rcode, rcodeName, Type } from '../wire/message.ts'
import { isWithin } from '../wire/name.ts'
import { exchangeTcp, exchangeUdp } from './exchange.ts'
import type { Handler, Outcome, Plugin, Query } from './handler.ts'

export interface ForwardMetrics {
  /** One exchange with an upstream, and how long it took. */
  exchanged(to: string, rcode: string, seconds: number): void
  healthcheckFailed(to: string): void
  /** No upstream is healthy. */
  broken(): void
  rejected(): void
}

export interface ForwardOptions {
  config: ForwardConfig
  /** Those of the configuration, files read. */
  upstreams: readonly Upstream[]
  clock: Clock
  random: Random
  metrics: ForwardMetrics
  /** Ends exchanges and health checks. */
  signal: AbortSignal
}

const READ_TIMEOUT_MS = 2000
const DEADLINE_MS = 5000
const HEALTH_TIMEOUT_MS = 1000
const LEAST_TRIES = 3

interface Peer extends Upstream {
  readonly name: string
  fails: number
  checking: boolean
}

/** Asks other servers, each question at most for 5 s; who did not answer is asked again when a health check says so. */
export function forwardPlugin(o: ForwardOptions): Plugin {
  const forwarder = new Forwarder(o)
  const { config } = o
  return (next: Handler) => (query) =>
    isWithin(query.name, config.from) && !config.except.some((zone) => isWithin(query.name, zone)) ? forwarder.ask(query) : next(query)
}

class Forwarder {
  private readonly o: ForwardOptions
  private readonly peers: readonly Peer[]
  private turn = 0
  private underWay = 0

  constructor(o: ForwardOptions) {
    this.o = o
    this.peers = o.upstreams.map((u) => ({
      ...u,
      name: u.address.includes(':') ? `[${u.address}]:${u.port}` : `${u.address}:${u.port}`,
      fails: 0,
      checking: false,
    }))
  }

  async ask(query: Query): Promise<Outcome> {
    const { config, metrics } = this.o
    if (this.peers.length === 0) return { failure: Rcode.SERVFAIL, reason: 'no upstream' }
    if (config.maxConcurrent > 0 && this.underWay >= config.maxConcurrent) {
      metrics.rejected()
      return { failure: Rcode.REFUSED, reason: `concurrent queries exceeded maximum ${config.maxConcurrent}` }
    }
    this.underWay++
    try {
      return await this.exchange(query)
    } finally {
      this.underWay--
    }
  }

  private async exchange(query: Query): Promise<Outcome> {
    const { clock, random, config, metrics, signal } = this.o
    const start = clock.monotonic()
    const order = this.order()
    const healthy = order.filter((p) => !this.isDown(p))
    if (healthy.length === 0) metrics.broken()
    // When all look down, the look may deceive: one of them is asked.
    const tries = healthy.length > 0 ? healthy : order.slice(0, 1)
    const tcp = config.forceTcp || (query.transport === 'tcp' && !config.preferUdp)
    let reason = 'no healthy upstreams'
    for (let i = 0; i < Math.max(tries.length, LEAST_TRIES) && !signal.aborted; i++) {
      const left = DEADLINE_MS - (clock.monotonic() - start)
      if (left <= 0) break
      const peer = tries[i % tries.length] as Peer
      const asked = clock.monotonic()
      const message = outgoing(query.message, random.int(0x10000))
      const exchange = { clock, signal, timeoutMs: Math.min(READ_TIMEOUT_MS, left) }
      try {
        let reply = await (tcp ? exchangeTcp : exchangeUdp)(message, peer, exchange)
        // A client that came by TCP has no other way to the rest.
        if (reply.truncated && !tcp && query.transport === 'tcp') reply = await exchangeTcp(message, peer, exchange)
        metrics.exchanged(peer.name, rcodeName(reply.rcode), (clock.monotonic() - asked) / 1000)
        peer.fails = 0
        return { ...reply, id: query.message.id, question: query.message.question }
      } catch (e) {
        reason = e instanceof Error ? e.message : String(e)
        if (config.maxFails > 0) this.check(peer)
      }
    }
    return { failure: Rcode.SERVFAIL, reason }
  }

  private isDown(peer: Peer): boolean {
    return this.o.config.maxFails > 0 && peer.fails > this.o.config.maxFails
  }

  private order(): Peer[] {
    const { policy } = this.o.config
    const peers = [...this.peers]
    if (policy === 'sequential' || peers.length < 2) return peers
    if (policy === 'round_robin') {
      const first = this.turn++ % peers.length
      return [...peers.slice(first), ...peers.slice(0, first)]
    }
    for (let i = peers.length - 1; i > 0; i--) {
      const j = this.o.random.int(i + 1)
      ;[peers[i], peers[j]] = [peers[j] as Peer, peers[i] as Peer]
    }
    return peers
  }

  /** Asks a server that failed, until it answers anything at all. */
  private check(peer: Peer): void {
    if (peer.checking) return
    peer.checking = true
    const { clock, random, config, metrics, signal } = this.o
    const loop = async () => {
      while (!signal.aborted) {
        try {
          const probe = queryFor(random.int(0x10000), '.', Type.NS)
          await (config.forceTcp ? exchangeTcp : exchangeUdp)(probe, peer, { clock, signal, timeoutMs: HEALTH_TIMEOUT_MS })
          peer.fails = 0
          return
        } catch {
          if (signal.aborted) return
          peer.fails++
          metrics.healthcheckFailed(peer.name)
        }
        await clock.sleep(config.healthCheckMs, signal)
      }
    }
    loop()
      .catch(() => {})
      .finally(() => {
        peer.checking = false
      })
  }
}

/** The client's question, under an id that only this exchange knows. */
function outgoing(query: Message, id: number): Message {
  return { ...query, id, answer: [], authority: [], additional: [] }
}
