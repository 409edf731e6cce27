import type { Clock } from '../../base/index.ts'

/**
 * Back-off of restarts, measured from when the container ended: the first failure of a key only makes its entry, later ones
 * double it. An entry is forgotten when more than twice the maximum passed between its last change and the next failure.
 */
export class CrashBackoff {
  private readonly entries = new Map<string, { delayMs: number; changed: number }>()
  private readonly clock: Pick<Clock, 'now'>
  private readonly initialMs: number
  private readonly maxMs: number

  constructor(clock: Pick<Clock, 'now'>, initialMs: number, maxMs: number) {
    this.clock = clock
    this.initialMs = Math.min(initialMs, maxMs)
    this.maxMs = maxMs
  }

  /** Whether a failure at `eventMs` still keeps the key waiting. */
  waitingSince(key: string, eventMs: number): boolean {
    const entry = this.entries.get(key)
    if (!entry || this.expired(entry, eventMs)) return false
    return this.clock.now() - eventMs < entry.delayMs
  }

  next(key: string, eventMs: number): void {
    const entry = this.entries.get(key)
    const delayMs = !entry || this.expired(entry, eventMs) ? this.initialMs : Math.min(entry.delayMs * 2, this.maxMs)
    this.entries.set(key, { delayMs, changed: this.clock.now() })
  }

  get(key: string): number {
    return this.entries.get(key)?.delayMs ?? 0
  }

  /** Whether the key must wait at this moment, counted from its last change. */
  waiting(key: string): boolean {
    const entry = this.entries.get(key)
    return entry !== undefined && this.clock.now() - entry.changed < entry.delayMs
  }

  /** When the wait of a failure at `eventMs` ends. */
  endsAt(key: string, eventMs?: number): number {
    const entry = this.entries.get(key)
    return entry ? (eventMs ?? entry.changed) + entry.delayMs : this.clock.now()
  }

  private expired(entry: { changed: number }, eventMs: number): boolean {
    return eventMs - entry.changed > 2 * this.maxMs
  }

  forget(prefix: string): void {
    for (const key of this.entries.keys()) if (key.startsWith(prefix)) this.entries.delete(key)
  }

  gc(): void {
    const now = this.clock.now()
    for (const [key, e] of this.entries) if (now - e.changed > 2 * this.maxMs) this.entries.delete(key)
  }
}
