import type { Clock } from '../../../base/index.ts'
import { rfc3339Nano } from '../../time.ts'

const MAX_LINES = 5000
const MAX_BYTES = 1 << 20

/** The log of one container in CRI form, bounded: the oldest lines go first. */
export class LogBuffer {
  private lines: string[] = []
  private first = 0
  private bytes = 0
  private ended = false
  private readonly waiters = new Set<() => void>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  write(stream: 'stdout' | 'stderr', text: string): void {
    if (this.ended) return
    const time = rfc3339Nano(this.clock.now())
    for (const line of text.split('\n')) {
      const entry = `${time} ${stream} F ${line}`
      this.lines.push(entry)
      this.bytes += entry.length
    }
    while (this.lines.length > MAX_LINES || this.bytes > MAX_BYTES) {
      this.bytes -= this.lines.shift()?.length ?? 0
      this.first++
    }
    this.wake()
  }

  end(): void {
    this.ended = true
    this.wake()
  }

  /** The lines so far; with `follow` also those to come, until the end or the abort. */
  async *read(follow: boolean, signal?: AbortSignal): AsyncGenerator<string> {
    let at = this.first
    for (;;) {
      if (at < this.first) at = this.first
      while (at - this.first < this.lines.length) yield this.lines[at++ - this.first] as string
      if (!follow || this.ended || signal?.aborted) return
      await new Promise<void>((resolve) => {
        const done = () => {
          signal?.removeEventListener('abort', done)
          this.waiters.delete(done)
          resolve()
        }
        this.waiters.add(done)
        signal?.addEventListener('abort', done)
      })
    }
  }

  private wake(): void {
    for (const done of [...this.waiters]) done()
  }
}
