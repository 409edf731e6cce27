/** Fowler-Noll-Vo hashes, as published; they tell texts apart and protect nothing. */

const OFFSET_32 = 0x811c9dc5
const PRIME_32 = 0x01000193
const OFFSET_128 = 0x6c62272e07bb014262b821756295c58dn
const PRIME_128 = 0x0000000001000000000000000000013bn
const MASK_128 = (1n << 128n) - 1n

/** FNV-1a of 32 bits. @param start the hash of what came before */
export function fnv1a32(bytes: Iterable<number>, start = OFFSET_32): number {
  let hash = start
  for (const byte of bytes) hash = Math.imul(hash ^ byte, PRIME_32) >>> 0
  return hash
}

/** FNV-1 of 32 bits. */
export function fnv132(bytes: Iterable<number>): number {
  let hash = OFFSET_32
  for (const byte of bytes) hash = (Math.imul(hash, PRIME_32) ^ byte) >>> 0
  return hash
}

/** FNV-1a of 128 bits. */
export function fnv1a128(bytes: Iterable<number>): bigint {
  let hash = OFFSET_128
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * PRIME_128) & MASK_128
  return hash
}
