import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const MIN_BYTES = 128 * 1024

const gzipAsync = promisify(gzip)

/** Big answers are compressed when the client lists gzip as a bare token. */
export function wantsGzip(accept: string | undefined, length: number): boolean {
  if (length <= MIN_BYTES || !accept) return false
  return accept.split(',').some((token) => token.trim() === 'gzip')
}

export function compress(body: Uint8Array): Promise<Uint8Array> {
  return gzipAsync(body, { level: 1 })
}
