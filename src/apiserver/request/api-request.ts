import type { Duplex, Readable } from 'node:stream'
import type { Credentials } from '../authentication/authenticator.ts'

/**
 * One request, whatever carried it. Adapters (transport/) build it; everything behind them knows no socket.
 * Header names are in lower case.
 */
export interface ApiRequest {
  readonly method: string
  /** Percent-encoded path without query. */
  readonly path: string
  /** Query without the question mark, percent-encoded. */
  readonly query: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly credentials: Credentials
  readonly remoteAddress: string
  /** A decoded object handed over by an in-process caller: taken over, frozen when stored. */
  readonly object?: unknown
  /** Answers are wanted as decoded objects, not as bytes. */
  readonly inProcess: boolean
  /** The whole body; rejects with a 413 StatusError above `limit` bytes. */
  readBody(limit: number): Promise<Uint8Array>
  /** The body as it comes, for proxies. */
  bodyStream?(): Readable
  /** Runs `fn` when the caller went away before the answer was complete. */
  onClose(fn: () => void): void
  /** For WebSocket and SPDY: the raw connection with what was read beyond the request's head. */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Uint8Array }
}

/** A watch that is to be sent: `start` is called once, after the head of the answer was written. */
export interface WatchBody {
  start(sink: WatchSink): WatchHandle
}

export interface WatchHandle {
  stop(): void
}

/** Where the events of a watch go. */
export interface WatchSink {
  /** Encoded frames, in order. False: the reader is hopelessly behind, the watch should end. @param events how many they are; 1 if left out */
  write(frames: Uint8Array, events?: number): boolean
  /** While more waits to be sent than is good: resolves when it is gone, or the reader is. */
  drained?(): Promise<void> | undefined
  /** Decoded events, for in-process readers. */
  events?(events: { type: string; object: unknown }[]): void
  end(): void
}

/** A body in pieces. */
export interface Pieces {
  /** The sum of their lengths. */
  readonly length: number
  /** Called once. */
  make(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** An answer. Exactly one of the bodies is set; none means an empty body. */
export interface ApiResponse {
  status: number
  headers: Record<string, string | string[]>
  bytes?: Uint8Array
  /** A long body, made while it is sent. */
  pieces?: Pieces
  /** In-process: the decoded, frozen object. */
  object?: unknown
  watch?: WatchBody
  stream?: Readable
  /** The handler took over the connection and answers itself. */
  hijacked?: boolean
}
