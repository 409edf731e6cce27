import type { KV } from '../../../storage/kv/kv.ts'

export const PORT_ALLOCATED = 'provided port is already allocated'
export const RANGE_FULL = 'range is full'

const KEY = '/registry/ranges/servicenodeports'

/** Which ports of a range are taken. */
export class PortBits {
  readonly first: number
  readonly size: number
  private readonly taken: Uint8Array

  constructor(first: number, last: number, taken?: Uint8Array) {
    this.first = first
    this.size = last - first + 1
    this.taken = taken ?? new Uint8Array((this.size + 7) >> 3)
  }

  contains(port: number): boolean {
    return port >= this.first && port < this.first + this.size
  }

  has(port: number): boolean {
    const i = port - this.first
    return ((this.taken[i >> 3] as number) & (1 << (i & 7))) !== 0
  }

  /** @throws PortError */
  take(port: number): void {
    if (!this.contains(port))
      throw new PortError(`provided port is not in the valid range. The range of valid ports is ${this.first}-${this.first + this.size - 1}`)
    if (this.has(port)) throw new PortError(PORT_ALLOCATED)
    const i = port - this.first
    this.taken[i >> 3] = (this.taken[i >> 3] as number) | (1 << (i & 7))
  }

  give(port: number): void {
    if (!this.contains(port)) return
    const i = port - this.first
    this.taken[i >> 3] = (this.taken[i >> 3] as number) & ~(1 << (i & 7))
  }

  /**
   * Takes a free one. The low end of the range is left for those who choose their ports, while the rest lasts.
   * @throws PortError when there is none
   */
  takeNext(random: (below: number) => number): number {
    const offset = this.size < 16 ? 0 : Math.min(Math.max(16, this.size >> 5), 128)
    for (const [from, to] of [
      [offset, this.size],
      [0, offset],
    ] as const) {
      const count = to - from
      if (count <= 0) continue
      const start = random(count)
      for (let i = 0; i < count; i++) {
        const port = this.first + from + ((start + i) % count)
        if (this.has(port)) continue
        this.take(port)
        return port
      }
    }
    throw new PortError(RANGE_FULL)
  }

  ports(): number[] {
    const out: number[] = []
    for (let port = this.first; port < this.first + this.size; port++) if (this.has(port)) out.push(port)
    return out
  }

  /** The bits as one number, most significant byte first, as upstream keeps them. */
  encode(): string {
    let end = this.taken.length
    while (end > 0 && this.taken[end - 1] === 0) end--
    return Buffer.from(this.taken.subarray(0, end)).reverse().toString('base64')
  }

  static decode(first: number, last: number, text: string): PortBits {
    const bytes = Buffer.from(text, 'base64').reverse()
    const taken = new Uint8Array((last - first + 8) >> 3)
    taken.set(bytes.subarray(0, taken.length))
    return new PortBits(first, last, taken)
  }
}

export class PortError extends Error {}

/**
 * The node ports of a cluster, kept in the store beside the objects, so that several servers share them and a restart
 * forgets none. Every change is one compare-and-swap.
 */
export class PortPool {
  private readonly kv: KV
  private readonly first: number
  private readonly last: number
  private readonly inUse: () => Promise<number[]>
  private queue: Promise<unknown> = Promise.resolve()

  /** @param inUse the ports of stored objects: what a store without a record begins with */
  constructor(kv: KV, first: number, last: number, inUse: () => Promise<number[]>) {
    this.kv = kv
    this.first = first
    this.last = last
    this.inUse = inUse
  }

  /**
   * Runs `change` on the current state and stores the result; again with a fresh state when somebody else was faster.
   * With `dryRun` nothing is stored.
   */
  change<T>(change: (bits: PortBits) => T, dryRun = false): Promise<T> {
    const result = this.queue.then(() => this.changeNow(change, dryRun))
    this.queue = result.catch(() => {})
    return result
  }

  private async changeNow<T>(change: (bits: PortBits) => T, dryRun: boolean): Promise<T> {
    for (;;) {
      const { bits, revision } = await this.read()
      const before = bits.encode()
      const result = change(bits)
      const after = bits.encode()
      if (dryRun || (revision !== 0 && after === before)) return result
      const value = Buffer.from(
        JSON.stringify({ kind: 'RangeAllocation', apiVersion: 'v1', metadata: { creationTimestamp: null }, range: `${this.first}-${this.last}`, data: after }),
      )
      const { succeeded } = await this.kv.txn({
        compare: [{ key: KEY, target: 'mod', op: '=', value: revision }],
        success: [{ op: 'put', key: KEY, value }],
      })
      if (succeeded) return result
    }
  }

  private async read(): Promise<{ bits: PortBits; revision: number }> {
    const found = await this.kv.get(KEY)
    const stored = found && (JSON.parse(Buffer.from(found.value).toString()) as { range?: string; data?: string })
    if (found && stored?.range === `${this.first}-${this.last}`)
      return { bits: PortBits.decode(this.first, this.last, stored.data ?? ''), revision: found.modRevision }
    const bits = new PortBits(this.first, this.last)
    for (const port of await this.inUse()) if (bits.contains(port) && !bits.has(port)) bits.take(port)
    return { bits, revision: found?.modRevision ?? 0 }
  }
}
