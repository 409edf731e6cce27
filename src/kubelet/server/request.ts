/** A request to the kubelet's API, from its own port or from within the process. */
export interface KubeletRequest {
  method: string
  /** Path and query. */
  path: string
  /** Names in lower case. */
  headers: Record<string, string | undefined>
  body?: Uint8Array
  signal: AbortSignal
}

export interface KubeletResponse {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array | AsyncIterable<Uint8Array>
}

/** Answered as plain text with that code. */
export class HttpError extends Error {
  readonly status: number
  readonly headers: Record<string, string>
  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.name = 'HttpError'
    this.status = status
    this.headers = headers
  }
}

export const text = (status: number, body: string): KubeletResponse => ({ status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body })
export const json = (body: unknown): KubeletResponse => ({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
