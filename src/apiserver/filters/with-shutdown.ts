import { plainText } from '../endpoints/plain.ts'
import type { Handler } from '../request/context.ts'

/** Turns new requests away while the server goes down. */
export function withShutdown(next: Handler, isShuttingDown: () => boolean): Handler {
  return (context) => {
    if (!isShuttingDown()) return next(context)
    return Promise.resolve(plainText(429, 'The apiserver is shutting down, please try again later.', { 'retry-after': '5', connection: 'close' }))
  }
}
