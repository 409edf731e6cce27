import { newBadRequest } from '../../apimachinery/errors.ts'

/** Where the next page of a list starts; the text is upstream's, so that either side can read the other's. */
export function encodeContinue(key: string, revision: number): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${key}\0` }), 'utf8').toString('base64url')
}

const ALPHABET = /^[A-Za-z0-9_-]*$/

/**
 * Reads a token; 400 when it is none. `key` is the last key of the page before, below the resource's prefix (`ns/name`); revision
 * -1: go on with the newest state.
 */
export function decodeContinue(token: string): { key: string; revision: number } {
  const bad = (e: string) => newBadRequest(`invalid continue token: continue key is not valid: ${e}`)
  const badAt = token.search(/[^A-Za-z0-9_-]/)
  if (!ALPHABET.test(token)) throw bad(`illegal base64 data at input byte ${badAt}`)
  if (token.length % 4 === 1) throw bad(`illegal base64 data at input byte ${token.length - 1}`)
  let parsed: { v?: unknown; rv?: unknown; start?: unknown }
  const text = Buffer.from(token, 'base64url').toString('utf8')
  try {
    parsed = JSON.parse(text) as typeof parsed
  } catch {
    const first = Buffer.from(token, 'base64url')[0]
    if (first === undefined) throw bad('unexpected end of JSON input')
    const shown = first >= 0x80 && first < 0xa0 ? `\\u${first.toString(16).padStart(4, '0')}` : String.fromCharCode(first)
    throw bad(`invalid character '${shown}' looking for beginning of value`)
  }
  if (parsed === null || typeof parsed !== 'object') throw bad('json: cannot unmarshal into Go value of type storage.continueToken')
  if (parsed.v !== 'meta.k8s.io/v1') throw bad(`server does not recognize this encoded version ${String(parsed.v ?? '')}`)
  const rv = Number(parsed.rv ?? 0)
  if (rv === 0 || !Number.isInteger(rv)) throw bad('incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  const start = typeof parsed.start === 'string' ? parsed.start : ''
  if (start === '') throw bad('encoded start key empty (version meta.k8s.io/v1)')
  if (start.startsWith('/') || start.split('/').some((p) => p === '.' || p === '..')) throw bad(start)
  return { key: start.endsWith('\0') ? start.slice(0, -1) : start, revision: rv }
}
