import { MvccKV, type MvccOptions, type MvccState } from '../mvcc/mvcc-kv.ts'

/** The engine of tests and simulations: everything in this process, durable never, forked for nothing. */
export class MemoryKV extends MvccKV {
  private readonly memoryOptions: MvccOptions

  constructor(options: MvccOptions, state?: MvccState) {
    super(options, undefined, state)
    this.memoryOptions = options
  }

  /** A store of its own that starts with this one's state, history and leases; what either writes, the other does not see. */
  fork(options: Partial<MvccOptions> = {}): MemoryKV {
    const fork = new MemoryKV({ ...this.memoryOptions, ...options }, this.snapshot())
    this.copyLeasesTo(fork)
    return fork
  }
}

export function createMemoryKV(options: MvccOptions): MemoryKV {
  return new MemoryKV(options)
}
