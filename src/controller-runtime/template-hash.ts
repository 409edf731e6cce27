import { fnv1a32 } from '../base/fnv.ts'
import { NAME_ALPHABET } from '../base/random.ts'

/** Writes text in the alphabet of generated names, each character by its code. */
export function safeEncode(text: string): string {
  let out = ''
  for (let i = 0; i < text.length; i++) out += NAME_ALPHABET[text.charCodeAt(i) % NAME_ALPHABET.length]
  return out
}

/** JSON with sorted keys and without null, so that equal values give equal text. */
export function stableJson(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`
  if (typeof value === 'object') {
    const parts: string[] = []
    for (const key of Object.keys(value).sort()) {
      const child = (value as Record<string, unknown>)[key]
      if (child !== null && child !== undefined) parts.push(`${JSON.stringify(key)}:${stableJson(child)}`)
    }
    return `{${parts.join(',')}}`
  }
  return JSON.stringify(value)
}

/** The hash in names of ReplicaSets and DaemonSet revisions: at most ten characters. */
export function podTemplateHash(template: unknown, collisionCount: number | undefined): string {
  let hash = fnv1a32(new TextEncoder().encode(stableJson(template)))
  if (collisionCount !== undefined) {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setUint32(0, collisionCount, true)
    hash = fnv1a32(bytes, hash)
  }
  return safeEncode(String(hash))
}
