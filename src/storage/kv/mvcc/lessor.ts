import type { Clock, Timer } from '../../../base/clock.ts'
import { LeaseExistsError, LeaseNotFoundError } from '../kv.ts'
import { NO_LEASE, type Write } from './row.ts'

interface Lease {
  readonly id: bigint
  readonly grantedSeconds: number
  /** On the clock's monotonic scale, ms. */
  expiresAt: number
  readonly keys: Set<string>
  /** Its keys are being deleted; it takes no new ones. */
  ending: boolean
}

const RETRY_MS = 500
/** etcd's own limit: 9,000,000,000 s. */
const MAX_TTL_SECONDS = 9_000_000_000

/** Which leases exist, when each ends and which keys hang on it. Deleting the keys is the engine's part. */
export class Lessor {
  private readonly clock: Clock
  private readonly leases = new Map<bigint, Lease>()
  private readonly onExpired: (id: bigint) => Promise<void>
  private timer: Timer | undefined
  private armedFor = Number.POSITIVE_INFINITY
  private nextId = 0x1000_0000_0000_0001n
  private closed = false

  constructor(clock: Clock, onExpired: (id: bigint) => Promise<void>) {
    this.clock = clock
    this.onExpired = onExpired
  }

  /** Picks a free id when none is given. */
  grant(ttlSeconds: number, id?: bigint): { id: bigint; ttlSeconds: number } {
    if (!(ttlSeconds <= MAX_TTL_SECONDS)) throw new Error('etcdserver: too large lease TTL')
    let chosen = id ?? NO_LEASE
    if (chosen === NO_LEASE) {
      while (this.leases.has(this.nextId)) this.nextId++
      chosen = this.nextId++
    }
    if (this.leases.has(chosen)) throw new LeaseExistsError()
    const ttl = Math.max(1, Math.ceil(ttlSeconds))
    const expiresAt = this.clock.monotonic() + ttl * 1000
    this.leases.set(chosen, { id: chosen, grantedSeconds: ttl, expiresAt, keys: new Set(), ending: false })
    this.arm(expiresAt)
    return { id: chosen, ttlSeconds: ttl }
  }

  /** Throws LeaseNotFoundError when keys cannot be attached to it. */
  check(id: bigint): void {
    const lease = this.leases.get(id)
    if (!lease || lease.ending) throw new LeaseNotFoundError()
  }

  /** Marks the lease as ending. */
  beginEnd(id: bigint): void {
    const lease = this.leases.get(id)
    if (!lease) throw new LeaseNotFoundError()
    lease.ending = true
  }

  keysOf(id: bigint): string[] {
    return [...(this.leases.get(id)?.keys ?? [])].sort()
  }

  forget(id: bigint): void {
    this.leases.delete(id)
  }

  keepAlive(id: bigint): { id: bigint; ttlSeconds: number } {
    const lease = this.leases.get(id)
    if (!lease || lease.ending) throw new LeaseNotFoundError()
    lease.expiresAt = this.clock.monotonic() + lease.grantedSeconds * 1000
    return { id, ttlSeconds: lease.grantedSeconds }
  }

  timeToLive(id: bigint): { id: bigint; ttlSeconds: number; grantedSeconds: number; keys: string[] } {
    const lease = this.leases.get(id)
    if (!lease || lease.ending) throw new LeaseNotFoundError()
    const ttlSeconds = Math.max(0, Math.ceil((lease.expiresAt - this.clock.monotonic()) / 1000))
    return { id, ttlSeconds, grantedSeconds: lease.grantedSeconds, keys: this.keysOf(id) }
  }

  ids(): bigint[] {
    return [...this.leases.keys()]
  }

  /** Follows a write that became visible. */
  apply(write: Write): void {
    const before = write.prev?.lease ?? NO_LEASE
    const after = write.row.lease
    if (before === after) return
    if (before !== NO_LEASE) this.leases.get(before)?.keys.delete(write.row.key)
    if (after !== NO_LEASE) this.leases.get(after)?.keys.add(write.row.key)
  }

  /** Makes a key hang on its lease when a store is opened. */
  attach(id: bigint, key: string): void {
    this.leases.get(id)?.keys.add(key)
  }

  /** The same leases with the time they have left, for a fork. */
  copyTo(other: Lessor): void {
    other.nextId = this.nextId
    const shift = other.clock.monotonic() - this.clock.monotonic()
    for (const lease of this.leases.values()) {
      other.leases.set(lease.id, { ...lease, expiresAt: lease.expiresAt + shift, keys: new Set(lease.keys), ending: false })
      other.arm(lease.expiresAt + shift)
    }
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
  }

  private arm(at: number): void {
    if (this.closed || at >= this.armedFor) return
    this.timer?.cancel()
    this.armedFor = at
    this.timer = this.clock.deadline(() => this.fire(), Math.max(0, at - this.clock.monotonic()))
  }

  private fire(): void {
    this.armedFor = Number.POSITIVE_INFINITY
    if (this.closed) return
    const now = this.clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    for (const lease of this.leases.values()) {
      if (lease.expiresAt <= now) {
        lease.expiresAt = now + RETRY_MS
        void this.clock.track(this.onExpired(lease.id).catch(() => undefined))
      }
      next = Math.min(next, lease.expiresAt)
    }
    if (next !== Number.POSITIVE_INFINITY) this.arm(next)
  }
}
