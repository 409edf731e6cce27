import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/index.ts'

/** How long the other side has to close, too. */
const LINGER_MS = 5_000

/**
 * Joins two connections byte for byte until both ways are over. An end is passed on after everything before it; a connection that breaks
 * takes the other one with it. Resolves when both are closed.
 */
export function joinDuplexes(a: Duplex, b: Duplex, clock: Clock): Promise<void> {
  const one = (from: Duplex, to: Duplex): Promise<void> =>
    new Promise((resolve) => {
      let ended = from.readableEnded
      from.on('end', () => {
        ended = true
      })
      from.on('error', () => to.destroy())
      const closed = () => {
        // `pipe` passed an orderly end on; what is still on its way out gets out.
        if (ended) closeGently(to, clock)
        else to.destroy()
        resolve()
      }
      if (from.destroyed) closed()
      else from.once('close', closed)
      from.pipe(to)
    })
  return Promise.all([one(a, b), one(b, a)]).then(() => undefined)
}

/** Sends what is written, then closes; reads on meanwhile, so that the last words are not lost to a reset. */
export function closeGently(socket: Duplex, clock: Clock): void {
  if (socket.destroyed) return
  socket.end()
  socket.resume()
  const timer = clock.setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('end', () => {
    if (socket.writableFinished) socket.destroy()
    else socket.once('finish', () => socket.destroy())
  })
  socket.once('close', () => timer.cancel())
}
