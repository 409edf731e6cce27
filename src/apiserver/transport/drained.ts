import type { Writable } from 'node:stream'

/** Resolves when what waits to be sent is gone, or the reader is. */
export function drained(out: Writable): Promise<void> {
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
