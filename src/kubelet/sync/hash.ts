import type { AnyContainer } from '../pods/pod.ts'

/** 32-bit FNV-1a in hexadecimal. */
export function fnv32a(text: string): string {
  let h = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) h = Math.imul(h ^ byte, 0x01000193) >>> 0
  return h.toString(16)
}

/** 128-bit FNV-1a in 32 hexadecimal digits. */
export function fnv128a(text: string): string {
  // Bytes, the lowest first. The prime is 2^88 + 0x13b.
  const h = [0x8d, 0xc5, 0x95, 0x62, 0x75, 0x21, 0xb8, 0x62, 0x42, 0x01, 0xbb, 0x07, 0x2e, 0x27, 0x62, 0x6c]
  const next = new Array<number>(16).fill(0)
  for (const byte of new TextEncoder().encode(text)) {
    h[0] = (h[0] as number) ^ byte
    let carry = 0
    for (let i = 0; i < 16; i++) {
      const sum = (h[i] as number) * 0x13b + (i < 11 ? 0 : (h[i - 11] as number)) + carry
      next[i] = sum & 0xff
      carry = sum >>> 8
    }
    for (let i = 0; i < 16; i++) h[i] = next[i] as number
  }
  return h
    .map((b) => b.toString(16).padStart(2, '0'))
    .reverse()
    .join('')
}

/** Changes of these parts of a container's spec make it start anew. */
export const containerHash = (c: AnyContainer): string => fnv32a(JSON.stringify({ name: c.name, image: c.image ?? '' }))
