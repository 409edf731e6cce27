import { Readable } from 'node:stream'
import { AsyncQueue } from '../../base/async-queue.ts'
import { deepFreeze } from '../../base/deep-freeze.ts'
import { ConnectionError, type WatchEvent } from '../../client/client.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../client/transport.ts'
import type { UserInfo } from '../authentication/authenticator.ts'
import type { ApiRequest, ApiResponse, WatchBody, WatchHandle } from '../request/api-request.ts'
import { splitTarget } from './headers.ts'

type Serve = (request: ApiRequest) => Promise<ApiResponse>

const EMPTY = new Uint8Array(0)

/**
 * Requests without a socket: objects pass as they are, frozen on the way out; what is handed in changes owner. Closing revokes it:
 * running requests reject, watches end, later requests find nobody.
 */
export class InProcessTransport implements Transport {
  private readonly serve: Serve
  private readonly user: UserInfo
  private readonly isOpen: () => boolean
  private closed = false
  private readonly closers = new Set<() => void>()

  /** @param isOpen false once the server is gone: its callers see a refused connection */
  constructor(serve: Serve, user: UserInfo, isOpen: () => boolean) {
    this.serve = serve
    this.user = user
    this.isOpen = isOpen
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    this.check()
    request.signal?.throwIfAborted()
    const { path, query } = splitTarget(request.path)
    const closeListeners = new Set<() => void>()
    const body = request.body
    const api: ApiRequest = {
      method: request.method,
      path,
      query,
      headers: request.headers,
      credentials: { headers: request.headers, inProcessUser: this.user },
      remoteAddress: '127.0.0.1',
      inProcess: true,
      ...(body && 'object' in body ? { object: body.object } : {}),
      readBody: async () => (body && 'bytes' in body ? body.bytes : EMPTY),
      bodyStream: () => Readable.from(body && 'bytes' in body ? [body.bytes] : []),
      onClose: (fn) => {
        closeListeners.add(fn)
      },
    }
    return new Promise<TransportResponse>((resolve, reject) => {
      const stop = (reason: unknown) => {
        cleanUp()
        for (const fn of closeListeners) fn()
        reject(reason)
      }
      const onRevoke = () => stop(refused())
      const onAbort = () => stop(request.signal?.reason)
      const cleanUp = () => {
        this.closers.delete(onRevoke)
        request.signal?.removeEventListener('abort', onAbort)
      }
      this.closers.add(onRevoke)
      request.signal?.addEventListener('abort', onAbort, { once: true })
      this.serve(api).then(
        (response) => {
          cleanUp()
          if (this.closed || !this.isOpen()) reject(refused())
          else resolve(this.respond(response, request.signal))
        },
        (error) => {
          cleanUp()
          reject(error)
        },
      )
    })
  }

  close(): void {
    this.closed = true
    for (const closer of [...this.closers]) closer()
    this.closers.clear()
  }

  private check(): void {
    if (this.closed || !this.isOpen()) throw refused()
  }

  private respond(response: ApiResponse, signal: AbortSignal | undefined): TransportResponse {
    const headers: Record<string, string> = {}
    for (const name in response.headers) {
      const value = response.headers[name]
      if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
    }
    const object = response.object === undefined ? undefined : deepFreezeOnce(response.object)
    const bytes = () => response.bytes ?? (object === undefined ? EMPTY : Buffer.from(JSON.stringify(object)))
    const answer: TransportResponse = {
      status: response.status,
      headers,
      object: async () => object ?? parsed(response),
      text: async () => (response.stream ? readText(response.stream) : Buffer.from(bytes()).toString('utf8')),
      stream: () => (response.stream ? (response.stream as AsyncIterable<Uint8Array>) : once(bytes())),
    }
    if (response.watch) answer.events = new InProcessEvents(response.watch, signal, this.closers)
    return answer
  }
}

function refused(): ConnectionError {
  return new ConnectionError('connect ECONNREFUSED (in-process)', 'ECONNREFUSED')
}

function deepFreezeOnce(value: unknown): unknown {
  return Object.isFrozen(value) ? value : deepFreeze(value)
}

function parsed(response: ApiResponse): unknown {
  if (!response.bytes || !String(response.headers['content-type'] ?? '').startsWith('application/json')) return undefined
  return deepFreeze(JSON.parse(Buffer.from(response.bytes).toString('utf8')))
}

async function readText(stream: Readable): Promise<string> {
  const parts: Buffer[] = []
  for await (const chunk of stream) parts.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(parts).toString('utf8')
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

/** Events a reader may be behind before its watch ends. */
const MAX_PENDING = 100_000

/** The events of a watch as they come; nothing is encoded. */
class InProcessEvents implements AsyncIterable<WatchEvent> {
  private queue = new AsyncQueue<WatchEvent>(MAX_PENDING)
  private ended = false
  private readonly handle: WatchHandle
  private readonly closers: Set<() => void>
  private readonly onStop: () => void
  private readonly signal: AbortSignal | undefined

  constructor(watch: WatchBody, signal: AbortSignal | undefined, closers: Set<() => void>) {
    this.closers = closers
    this.signal = signal
    this.onStop = () => this.stop()
    closers.add(this.onStop)
    signal?.addEventListener('abort', this.onStop, { once: true })
    this.handle = watch.start({
      write: () => true,
      events: (events) => {
        for (const event of events) this.push({ type: event.type as WatchEvent['type'], object: deepFreezeOnce(event.object) as never })
      },
      end: () => this.finish(),
    })
    if (signal?.aborted) this.stop()
  }

  private push(event: WatchEvent): void {
    if (this.ended) return
    if (this.queue.size >= MAX_PENDING) this.handle.stop()
    else this.queue.push(event)
  }

  private finish(): void {
    if (this.ended) return
    this.ended = true
    this.closers.delete(this.onStop)
    this.signal?.removeEventListener('abort', this.onStop)
    this.queue.close()
  }

  stop(): void {
    // What waits to be read is let go.
    const { queue } = this
    this.queue = new AsyncQueue(0)
    this.queue.close()
    this.handle?.stop()
    this.finish()
    queue.close()
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent> {
    return {
      next: () => this.queue.next(),
      return: () => {
        this.stop()
        return Promise.resolve({ value: undefined, done: true })
      },
    }
  }
}
