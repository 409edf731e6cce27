/**
 * Where components of one process find each other: by URL, as over the network. What is not registered is refused, so a stopped
 * component looks like one that nobody listens for.
 */
export class EndpointTable<T> {
  private readonly entries = new Map<string, T>()

  /** @returns takes the entry back; does nothing once another one stands in its place */
  register(url: string, value: T): () => void {
    const key = normalize(url)
    this.entries.set(key, value)
    return () => {
      if (this.entries.get(key) === value) this.entries.delete(key)
    }
  }

  lookup(url: string): T | undefined {
    return this.entries.get(normalize(url))
  }
}

function normalize(url: string): string {
  const u = new URL(url)
  return `${u.protocol}//${u.hostname === 'localhost' ? '127.0.0.1' : u.hostname}:${u.port}`
}
