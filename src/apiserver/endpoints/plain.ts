import type { ApiResponse } from '../request/api-request.ts'

/** An answer that is no API object. */
export function plainText(status: number, text: string, headers: Record<string, string> = {}): ApiResponse {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff', ...headers },
    bytes: Buffer.from(text, 'utf8'),
  }
}

export function notFoundPlain(): ApiResponse {
  return plainText(404, '404 page not found\n')
}

/** Indented JSON, as /version and / print it. */
export function rawJSON(status: number, value: unknown): ApiResponse {
  return { status, headers: { 'content-type': 'application/json' }, bytes: Buffer.from(JSON.stringify(value, null, 2), 'utf8'), object: value }
}
