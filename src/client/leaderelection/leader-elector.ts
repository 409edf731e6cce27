import type { Lease, LeaseSpec } from '../../api/coordination/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../apimachinery/errors.ts'
import { formatMicroTime } from '../../apimachinery/time.ts'
import { type Clock, deepCopy, type Random } from '../../base/index.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Client, ResourceClient } from '../client.ts'

export interface LeaderElectionOptions {
  client: Client
  clock: Clock
  random: Random
  log: Logger
  namespace: string
  name: string
  /** Unique among candidates: `{hostname}_{uuid}`. */
  identity: string
  /** @default 15 s */
  leaseDurationMs?: number
  /** @default 10 s */
  renewDeadlineMs?: number
  /** @default 2 s */
  retryPeriodMs?: number
  /** Gives the lease up when the signal aborts, so that the next need not wait. @default true */
  releaseOnCancel?: boolean
  /** Told when the lease is won and when it is lost or released. */
  onEvent?: (message: string, lease: Lease) => void
}

const JITTER = 1.2

/**
 * Holds a Lease as long as it can. `run` waits for the lease, calls `lead` with a signal that aborts when the lease is lost or
 * `signal` aborts, and resolves when `lead` has ended. Judged by this machine's clock from when a renewal was seen, never by the
 * lease's own times, so clocks need not agree.
 */
export class LeaderElector {
  private readonly options: Required<Omit<LeaderElectionOptions, 'onEvent'>> & Pick<LeaderElectionOptions, 'onEvent'>
  private readonly leases: ResourceClient<Lease>
  private observed: Lease | undefined
  private observedRecord = ''
  private observedAt = 0

  constructor(options: LeaderElectionOptions) {
    this.options = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000, releaseOnCancel: true, ...options }
    this.leases = options.client.resource(resources.coordinationv1.leases).namespace(options.namespace)
  }

  isLeader(): boolean {
    return this.observed?.spec.holderIdentity === this.options.identity
  }

  /** The identity that holds the lease as last seen. */
  leader(): string {
    return this.observed?.spec.holderIdentity ?? ''
  }

  /** @returns 'lost' when the lease was lost while `signal` still held, else 'stopped' */
  async run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<'lost' | 'stopped'> {
    if (!(await this.acquire(signal))) return 'stopped'
    const leading = new AbortController()
    const work = lead(leading.signal)
    let workError: unknown
    const ended = work.then(
      () => leading.abort(new Error('leader ended')),
      (error) => {
        workError = error ?? new Error('leader failed')
        leading.abort(workError)
      },
    )
    const onAbort = () => leading.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    await this.renew(leading.signal)
    signal.removeEventListener('abort', onAbort)
    const lost = !leading.signal.aborted
    leading.abort(new Error('leader election lost'))
    await ended
    const held = this.observed
    if (!lost && this.options.releaseOnCancel) await this.release()
    if (held) this.options.onEvent?.(`${this.options.identity} stopped leading`, held)
    if (workError !== undefined) throw workError
    return lost ? 'lost' : 'stopped'
  }

  private async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random, retryPeriodMs, log } = this.options
    log.info('attempting to acquire leader lease', { lease: `${this.options.namespace}/${this.options.name}` })
    while (!signal.aborted) {
      if (await this.tryAcquireOrRenew(signal)) {
        log.info('successfully acquired lease', { lease: `${this.options.namespace}/${this.options.name}` })
        if (this.observed) this.options.onEvent?.(`${this.options.identity} became leader`, this.observed)
        return true
      }
      await clock.sleep(retryPeriodMs * (1 + random.float() * JITTER), signal).catch(() => {})
    }
    return false
  }

  /** Renews until the signal aborts or no renewal succeeded within the deadline. */
  private async renew(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs, renewDeadlineMs, log } = this.options
    let renewedAt = clock.monotonic()
    while (!signal.aborted) {
      await clock.sleep(retryPeriodMs, signal).catch(() => {})
      if (signal.aborted) return
      // One attempt may not outlive the deadline: a server that hangs is a server that is gone.
      const attempt = new AbortController()
      const onAbort = () => attempt.abort(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      const left = renewDeadlineMs - (clock.monotonic() - renewedAt)
      const timer = clock.deadline(() => attempt.abort(new Error('timed out waiting for the condition')), Math.max(0, left))
      const renewed = await this.tryAcquireOrRenew(attempt.signal)
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
      if (renewed) renewedAt = clock.monotonic()
      else if (!signal.aborted && clock.monotonic() - renewedAt >= renewDeadlineMs) {
        log.error('failed to renew lease', { lease: `${this.options.namespace}/${this.options.name}` })
        return
      }
    }
  }

  private async tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const { clock, identity, leaseDurationMs, name, namespace, log } = this.options
    const now = formatMicroTime(clock.now())
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.floor(leaseDurationMs / 1000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    }
    try {
      let current: Lease
      const known = this.observed
      if (known && known.spec.holderIdentity === identity) {
        // The fast path: we hold it; the version guards against somebody else's write.
        try {
          this.observe(
            await this.leases.update(withSpec(known, { ...spec, acquireTime: known.spec.acquireTime, leaseTransitions: known.spec.leaseTransitions }), {
              signal,
            }),
          )
          return true
        } catch (error) {
          if (!isConflict(error) && !isNotFound(error)) throw error
        }
      }
      try {
        current = await this.leases.get(name, { signal })
      } catch (error) {
        if (!isNotFound(error)) throw error
        this.observe(await this.leases.create({ metadata: { name, namespace }, spec } as Lease, { signal }))
        return true
      }
      this.observe(current)
      const holder = current.spec.holderIdentity ?? ''
      const duration = (current.spec.leaseDurationSeconds ?? 0) * 1000
      if (holder !== '' && holder !== identity && this.observedAt + duration > clock.monotonic()) {
        log.v(4).info('lock is held and has not yet expired', { lockHolder: holder })
        return false
      }
      const transitions = current.spec.leaseTransitions ?? 0
      if (holder === identity) Object.assign(spec, { acquireTime: current.spec.acquireTime, leaseTransitions: transitions })
      else spec.leaseTransitions = transitions + 1
      this.observe(await this.leases.update(withSpec(current, spec), { signal }))
      return true
    } catch (error) {
      if (!signal.aborted && !isAlreadyExists(error))
        log.warn('error retrieving or updating the leader lease', { lease: `${namespace}/${name}`, err: String((error as Error)?.message ?? error) })
      return false
    }
  }

  private observe(lease: Lease): void {
    const record = JSON.stringify([lease.spec.holderIdentity, lease.spec.renewTime, lease.spec.acquireTime, lease.spec.leaseTransitions])
    if (record !== this.observedRecord) {
      this.observedRecord = record
      this.observedAt = this.options.clock.monotonic()
    }
    this.observed = lease
  }

  private async release(): Promise<void> {
    const held = this.observed
    if (!held || held.spec.holderIdentity !== this.options.identity) return
    const now = formatMicroTime(this.options.clock.now())
    try {
      this.observe(
        await this.leases.update(
          withSpec(held, { holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now, leaseTransitions: held.spec.leaseTransitions }),
        ),
      )
    } catch (error) {
      this.options.log.v(2).info('failed to release lock', { err: String((error as Error)?.message ?? error) })
    }
  }
}

function withSpec(lease: Lease, spec: LeaseSpec): Lease {
  return { ...deepCopy(lease), spec }
}
