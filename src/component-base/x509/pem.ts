export interface PemBlock {
  readonly type: string
  readonly bytes: Uint8Array
  /** RFC 1421 headers stood in the block. */
  readonly headers: boolean
}

export function encodePem(type: string, bytes: Uint8Array): string {
  const lines = Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN ${type}-----\n${lines}\n-----END ${type}-----\n`
}

/** The blocks of a PEM text in order; text between blocks, and blocks that do not end or decode, are passed over. */
export function decodePem(input: string): PemBlock[] {
  const blocks: PemBlock[] = []
  let at = 0
  for (;;) {
    const begin = input.indexOf('-----BEGIN ', at)
    if (begin < 0) return blocks
    const lineEnd = input.indexOf('-----', begin + 11)
    if (lineEnd < 0) return blocks
    const type = input.slice(begin + 11, lineEnd)
    const end = input.indexOf(`-----END ${type}-----`, lineEnd)
    if (type.includes('\n') || end < 0 || (begin > 0 && input[begin - 1] !== '\n')) {
      at = begin + 11
      continue
    }
    at = end + 14 + type.length
    let body = input.slice(lineEnd + 5, end)
    const headerEnd = body.includes(':') ? body.search(/\n\r?\n/) : -1
    if (headerEnd >= 0) body = body.slice(headerEnd)
    const base64 = body.replace(/\s+/g, '')
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) continue
    blocks.push({ type, bytes: new Uint8Array(Buffer.from(base64, 'base64')), headers: headerEnd >= 0 })
  }
}
