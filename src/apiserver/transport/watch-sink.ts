import type { Writable } from 'node:stream'
import type { WatchSink } from '../request/api-request.ts'

/** A reader this far behind is cut off: it starts again with a fresh watch. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024
/** With this much unsent, the watch is asked to wait. */
const HOLD_BYTES = 1024 * 1024

/** Sends the frames of a watch over a connection. Frames of one turn go out together. */
export class StreamSink implements WatchSink {
  private readonly out: Writable
  private ended = false

  constructor(out: Writable) {
    this.out = out
  }

  write(frames: Uint8Array): boolean {
    if (this.ended || this.out.destroyed) return false
    if (frames.length === 0) return true
    if (this.out.writableLength < MAX_PENDING_BYTES) {
      this.out.write(frames)
      return true
    }
    // Nobody reads: what is unsent goes with the connection.
    this.ended = true
    this.out.destroy()
    return false
  }

  drained(): Promise<void> | undefined {
    const { out } = this
    if (this.ended || out.destroyed || out.writableLength < HOLD_BYTES) return undefined
    return new Promise((resolve) => {
      const done = () => {
        out.off('drain', done)
        out.off('close', done)
        resolve()
      }
      out.on('drain', done)
      out.on('close', done)
    })
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    if (!this.out.destroyed) this.out.end()
  }
}
