import { type Clock, Heap, type Timer } from '../../base/index.ts'
import { defaultLimiter, type RateLimiter } from './rate-limiter.ts'

interface Waiting {
  item: string
  readyAt: number
}

/**
 * The controllers' queue. Promises: an item is worked on by one worker at a time; added while in the queue it is there once;
 * added while worked on it comes again afterwards; items come in the order of adding. Its size is bounded by the number of
 * different keys.
 */
export class WorkQueue {
  readonly name: string
  private readonly clock: Clock
  private readonly limiter: RateLimiter
  private queue: string[] = []
  private head = 0
  private readonly dirty = new Set<string>()
  private readonly processing = new Set<string>()
  private takers: ((item: string | undefined) => void)[] = []
  private readonly waiting = new Map<string, Waiting>()
  private readonly heap = new Heap<Waiting>((a, b) => a.readyAt < b.readyAt)
  private timer: Timer | undefined
  private timerAt = 0
  private down = false
  private drained: (() => void)[] = []

  constructor(options: { clock: Clock; limiter?: RateLimiter; name?: string }) {
    this.clock = options.clock
    this.limiter = options.limiter ?? defaultLimiter(options.clock)
    this.name = options.name ?? ''
  }

  /** Items ready to be taken. */
  get length(): number {
    return this.queue.length - this.head
  }

  get shuttingDown(): boolean {
    return this.down
  }

  /** Nothing is queued, worked on or (with `delayed`) waiting for its time. */
  idle(delayed = false): boolean {
    return this.length === 0 && this.processing.size === 0 && (!delayed || this.waiting.size === 0)
  }

  add(item: string): void {
    if (this.down || this.dirty.has(item)) return
    this.dirty.add(item)
    if (!this.processing.has(item)) this.ready(item)
  }

  /** Adds after `ms`; of several times for one item the earliest holds. */
  addAfter(item: string, ms: number): void {
    if (this.down) return
    if (!(ms > 0)) {
      this.add(item)
      return
    }
    const readyAt = this.clock.monotonic() + ms
    const known = this.waiting.get(item)
    if (known && known.readyAt <= readyAt) return
    const entry = { item, readyAt }
    this.waiting.set(item, entry)
    this.heap.push(entry)
    this.arm()
  }

  addRateLimited(item: string): void {
    if (!this.down) this.addAfter(item, this.limiter.when(item))
  }

  forget(item: string): void {
    this.limiter.forget(item)
  }

  requeues(item: string): number {
    return this.limiter.requeues(item)
  }

  /** The next item; undefined after the shutdown, once the queue is empty. Call `done` when it was worked on. */
  get(): Promise<string | undefined> {
    const item = this.take()
    if (item !== undefined) return Promise.resolve(item)
    if (this.down) return Promise.resolve(undefined)
    return new Promise((resolve) => this.takers.push(resolve))
  }

  done(item: string): void {
    this.processing.delete(item)
    if (this.dirty.has(item) && !this.down) this.ready(item)
    if (this.down && this.processing.size === 0) this.finish()
  }

  /** No further item is taken; waiting takers get undefined, timers are gone. */
  shutDown(): void {
    if (this.down) return
    this.down = true
    this.timer?.cancel()
    this.waiting.clear()
    this.queue = []
    this.head = 0
    this.dirty.clear()
    const takers = this.takers
    this.takers = []
    for (const take of takers) take(undefined)
    if (this.processing.size === 0) this.finish()
  }

  /** Shuts down and resolves when what is being worked on is done. */
  shutDownWithDrain(): Promise<void> {
    this.shutDown()
    if (this.processing.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.drained.push(resolve))
  }

  private finish(): void {
    const drained = this.drained
    this.drained = []
    for (const done of drained) done()
  }

  private ready(item: string): void {
    const taker = this.takers.shift()
    if (taker) {
      this.start(item)
      taker(item)
      return
    }
    this.queue.push(item)
  }

  private take(): string | undefined {
    if (this.head >= this.queue.length) return undefined
    const item = this.queue[this.head++] as string
    if (this.head > 1024 && this.head * 2 > this.queue.length) {
      this.queue = this.queue.slice(this.head)
      this.head = 0
    }
    this.start(item)
    return item
  }

  private start(item: string): void {
    this.dirty.delete(item)
    this.processing.add(item)
  }

  private arm(): void {
    for (;;) {
      const next = this.heap.peek()
      if (!next) return
      if (this.waiting.get(next.item) !== next) {
        this.heap.pop()
        continue
      }
      if (this.timer && this.timerAt <= next.readyAt) return
      this.timer?.cancel()
      this.timerAt = next.readyAt
      this.timer = this.clock.setTimeout(() => this.fire(), Math.max(0, next.readyAt - this.clock.monotonic()))
      return
    }
  }

  private fire(): void {
    this.timer = undefined
    const now = this.clock.monotonic() + 1e-6
    for (;;) {
      const next = this.heap.peek()
      if (!next || (next.readyAt > now && this.waiting.get(next.item) === next)) break
      this.heap.pop()
      if (this.waiting.get(next.item) !== next) continue
      this.waiting.delete(next.item)
      this.add(next.item)
    }
    this.arm()
  }
}
