/** Thrown to the producer when a bounded queue is full. */
export class QueueFullError extends Error {
  constructor(limit: number) {
    super(`queue holds its limit of ${limit} items`)
    this.name = 'QueueFullError'
  }
}

/** A bounded FIFO between one or more producers and one async consumer. */
export class AsyncQueue<T> implements AsyncIterable<T> {
  private items: T[] = []
  private head = 0
  private waiting: ((r: IteratorResult<T>) => void) | undefined
  private closed = false
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  get size(): number {
    return this.items.length - this.head
  }

  /** Adds an item; throws QueueFullError at the limit, and does nothing after `close`. */
  push(item: T): void {
    if (this.closed) return
    if (this.waiting) {
      const resolve = this.waiting
      this.waiting = undefined
      resolve({ value: item, done: false })
      return
    }
    if (this.size >= this.limit) throw new QueueFullError(this.limit)
    this.items.push(item)
  }

  /** Ends the queue: the consumer gets what is left, then the end. */
  close(): void {
    this.closed = true
    const resolve = this.waiting
    this.waiting = undefined
    resolve?.({ value: undefined, done: true })
  }

  next(): Promise<IteratorResult<T>> {
    if (this.head < this.items.length) {
      const value = this.items[this.head] as T
      this.items[this.head++] = undefined as T
      if (this.head > 1024 && this.head * 2 > this.items.length) {
        this.items = this.items.slice(this.head)
        this.head = 0
      }
      return Promise.resolve({ value, done: false })
    }
    if (this.closed) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve) => {
      this.waiting = resolve
    })
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return {
      next: () => this.next(),
      return: () => {
        this.close()
        return Promise.resolve({ value: undefined, done: true })
      },
    }
  }
}
