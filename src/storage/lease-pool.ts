import { BoundedMap } from '../base/bounded-map.ts'
import type { Clock } from '../base/clock.ts'
import type { KV } from './kv/kv.ts'

/** One lease serves the writes of a minute with the same time to live, at most a thousand of them: leases are dearer than keys. */
const REUSE_SECONDS = 60
const MAX_KEYS = 1000
const MAX_TTLS = 64

interface Shared {
  readonly lease: Promise<bigint>
  /** Last moment (monotonic ms) at which a new key may join. */
  readonly until: number
  keys: number
}

export class LeasePool {
  private readonly kv: KV
  private readonly clock: Clock
  private readonly shared = new BoundedMap<number, Shared>(MAX_TTLS)

  constructor(kv: KV, clock: Clock) {
    this.kv = kv
    this.clock = clock
  }

  /** A lease that lasts at least `ttlSeconds` from now, and not much longer (5 %, a minute at most). */
  async get(ttlSeconds: number): Promise<bigint> {
    const now = this.clock.monotonic()
    let shared = this.shared.get(ttlSeconds)
    if (!shared || shared.until < now || shared.keys >= MAX_KEYS) {
      const extra = Math.max(1, Math.floor(Math.min(REUSE_SECONDS, ttlSeconds * 0.05)))
      shared = { lease: this.kv.leaseGrant(ttlSeconds + extra).then((l) => l.id), until: now + extra * 1000, keys: 0 }
      this.shared.set(ttlSeconds, shared)
    }
    shared.keys++
    try {
      return await shared.lease
    } catch (e) {
      this.shared.delete(ttlSeconds)
      throw e
    }
  }

  /** To be called when a lease turned out not to exist. */
  forget(ttlSeconds: number): void {
    this.shared.delete(ttlSeconds)
  }
}
