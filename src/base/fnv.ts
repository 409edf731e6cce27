/** Fowler-Noll-Vo hashes, as published; they tell texts apart and protect nothing. */

const OFFSET_32 = 0x811c9dc5
const PRIME_32 = 0x01000193
const OFFSET_128 = [0x8d, 0xc5, 0x95, 0x62, 0x75, 0x21, 0xb8, 0x62, 0x42, 0x01, 0xbb, 0x07, 0x2e, 0x27, 0x62, 0x6c]
/** The prime is 2^88 + 0x13b. */
const PRIME_128_SHIFT = 11
const PRIME_128_LOW = 0x13b

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
  // In bytes, the lowest first: big integers would be made anew for each of the text's.
  const hash = [...OFFSET_128]
  const next = new Array<number>(16).fill(0)
  for (const byte of bytes) {
    hash[0] = (hash[0] as number) ^ byte
    let carry = 0
    for (let i = 0; i < 16; i++) {
      const sum = (hash[i] as number) * PRIME_128_LOW + (i < PRIME_128_SHIFT ? 0 : (hash[i - PRIME_128_SHIFT] as number)) + carry
      next[i] = sum & 0xff
      carry = sum >>> 8
    }
    for (let i = 0; i < 16; i++) hash[i] = next[i] as number
  }
  return hash.reduceRight((sum, b) => (sum << 8n) | BigInt(b), 0n)
}
