const REMEMBERED = 64

/**
 * Where components of one process find each other: by URL, as over the network. What is not registered is refused, so a stopped
 * component looks like one that nobody listens for.
 */
export class EndpointTable<T> {
  private readonly entries = new Map<string, T>()
  /** URLs as they were asked for, which happens on every request. */
  private readonly keys = new Map<string, string>()
  private readonly waiting = new Set<() => void>()

  /** @returns takes the entry back; does nothing once another one stands in its place */
  register(url: string, value: T): () => void {
    const key = normalize(url)
    this.entries.set(key, value)
    for (const wake of [...this.waiting]) wake()
    return () => {
      if (this.entries.get(key) === value) this.entries.delete(key)
    }
  }

  /** Resolves with the first of these that is there; rejects with the signal's reason. */
  async waitFor(urls: readonly string[], signal: AbortSignal): Promise<T> {
    for (;;) {
      signal.throwIfAborted()
      for (const url of urls) {
        const found = this.lookup(url)
        if (found !== undefined) return found
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener('abort', wake)
          this.waiting.delete(wake)
          resolve()
        }
        this.waiting.add(wake)
        signal.addEventListener('abort', wake)
      })
    }
  }

  lookup(url: string): T | undefined {
    let key = this.keys.get(url)
    if (key === undefined) {
      key = normalize(url)
      if (this.keys.size >= REMEMBERED) this.keys.clear()
      this.keys.set(url, key)
    }
    return this.entries.get(key)
  }
}

function normalize(url: string): string {
  const u = new URL(url)
  return `${u.protocol}//${u.hostname === 'localhost' ? '127.0.0.1' : u.hostname}:${u.port}`
}
