import type { AnyContainer } from '../pods/pod.ts'

/** 32-bit FNV-1a in hexadecimal. */
export function fnv32a(text: string): string {
  let h = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) h = Math.imul(h ^ byte, 0x01000193) >>> 0
  return h.toString(16)
}

/** 128-bit FNV-1a in 32 hexadecimal digits. */
export function fnv128a(text: string): string {
  const prime = 0x0000000001000000000000000000013bn
  const mask = (1n << 128n) - 1n
  let h = 0x6c62272e07bb014262b821756295c58dn
  for (const byte of new TextEncoder().encode(text)) h = ((h ^ BigInt(byte)) * prime) & mask
  return h.toString(16).padStart(32, '0')
}

/** Changes of these parts of a container's spec make it start anew. */
export const containerHash = (c: AnyContainer): string => fnv32a(JSON.stringify({ name: c.name, image: c.image ?? '' }))
