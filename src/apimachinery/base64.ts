const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES = new Uint8Array(128)
for (let i = 0; i < 64; i++) VALUES[ALPHABET.charCodeAt(i)] = i

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  const parts: string[] = []
  // String.fromCharCode takes its arguments on the stack: go by chunks.
  for (let i = 0; i < bytes.length; i += 24_573) parts.push(btoa(String.fromCharCode(...bytes.subarray(i, i + 24_573))))
  return parts.join('')
}

/** Of canonical text only, such as decoded objects hold. */
export function decodeBase64(text: string): Uint8Array {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const out = new Uint8Array((text.length / 4) * 3 - padding)
  for (let i = 0, o = 0; i < text.length; i += 4) {
    const n =
      ((VALUES[text.charCodeAt(i)] as number) << 18) |
      ((VALUES[text.charCodeAt(i + 1)] as number) << 12) |
      ((VALUES[text.charCodeAt(i + 2) & 127] as number) << 6) |
      (VALUES[text.charCodeAt(i + 3) & 127] as number)
    out[o++] = n >> 16
    out[o++] = n >> 8
    out[o++] = n
  }
  return out
}
