import type { WatchEvent } from './client.ts'

/**
 * What carries a request to an API server. Two implementations: HTTPS (client/rest) and in-process (given by the server
 * room). The client on top of it is the same, so a component cannot tell which one it has.
 */
export interface Transport {
  /** Rejects with ConnectionError when the server cannot be reached; any HTTP status resolves. */
  send(request: TransportRequest): Promise<TransportResponse>
  /** Ends all that is open; later sends reject with ConnectionError. */
  close(): void
}

export interface TransportRequest {
  method: string
  /** Path and query, percent-encoded. */
  path: string
  /** Names in lower case. */
  headers: Record<string, string>
  /** A decoded object (in-process: taken over as it is and frozen; HTTPS: encoded as JSON), or bytes. */
  body?: { object: unknown } | { bytes: Uint8Array }
  /** Ask for a watch stream. */
  watch?: boolean
  signal?: AbortSignal
}

export interface TransportResponse {
  status: number
  headers: Record<string, string>
  /** A decoded, frozen object; undefined when the body is no object. */
  object(): Promise<unknown>
  text(): Promise<string>
  stream(): AsyncIterable<Uint8Array>
  /** Events of a watch request that was answered 200. */
  events?: AsyncIterable<WatchEvent> & { stop(): void }
}
