/** Chance as a dependency: a seeded source gives the same cluster twice. */
export interface Random {
  /** A number in [0, 1). */
  float(): number
  /** An integer in [0, below). */
  int(below: number): number
  bytes(length: number): Uint8Array
  /** A random (version 4) UUID. */
  uuid(): string
}

/** The alphabet of generated names: no vowels, nothing that reads like another character. */
export const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

export function randomString(random: Random, length: number, alphabet: string = NAME_ALPHABET): string {
  let s = ''
  for (let i = 0; i < length; i++) s += alphabet[random.int(alphabet.length)]
  return s
}

/** Two hexadecimal digits of each byte. */
const HEX: readonly string[] = Array.from({ length: 256 }, (_, x) => (x + 0x100).toString(16).slice(1))

/** The 16 bytes at `at` as a version 4 UUID. */
function formatUuid(b: Uint8Array, at: number): string {
  const h = (i: number) => HEX[b[at + i] as number] as string
  const version = HEX[((b[at + 6] as number) & 0x0f) | 0x40] as string
  const variant = HEX[((b[at + 8] as number) & 0x3f) | 0x80] as string
  return `${h(0)}${h(1)}${h(2)}${h(3)}-${h(4)}${h(5)}-${version}${h(7)}-${variant}${h(9)}-${h(10)}${h(11)}${h(12)}${h(13)}${h(14)}${h(15)}`
}

/** The platform's cryptographic source. */
export function systemRandom(): Random {
  // One large draw serves many small ones: a call into the platform per number is slow.
  let pool = new Uint8Array(0)
  let at = 0
  const ensure = (n: number) => {
    if (at + n <= pool.length) return
    pool = crypto.getRandomValues(new Uint8Array(8192))
    at = 0
  }
  const take = (n: number): Uint8Array => {
    if (n > 4096) return crypto.getRandomValues(new Uint8Array(n))
    ensure(n)
    const out = pool.slice(at, at + n)
    pool.fill(0, at, at + n)
    at += n
    return out
  }
  const uint32 = () => {
    const b = take(4)
    return (((b[0] as number) << 24) | ((b[1] as number) << 16) | ((b[2] as number) << 8) | (b[3] as number)) >>> 0
  }
  const source: Random = {
    float: () => uint32() / 2 ** 32,
    int: (below) => Math.floor((uint32() / 2 ** 32) * below),
    bytes: (length) => take(length),
    // What became a UUID is told to everybody: no need to wipe it.
    uuid: () => {
      ensure(16)
      at += 16
      return formatUuid(pool, at - 16)
    },
  }
  return source
}

/** A repeatable source (xoshiro128**, seeded by splitmix32). Not for keys or tokens. */
export function seededRandom(seed: number): Random {
  let s = seed >>> 0
  const mix = () => {
    s = (s + 0x9e3779b9) >>> 0
    let z = s
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
    return (z ^ (z >>> 16)) >>> 0
  }
  let a = mix()
  let b = mix()
  let c = mix()
  let d = mix()
  const rotl = (x: number, k: number) => ((x << k) | (x >>> (32 - k))) >>> 0
  const next = () => {
    const result = Math.imul(rotl(Math.imul(b, 5) >>> 0, 7), 9) >>> 0
    const t = (b << 9) >>> 0
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = rotl(d >>> 0, 11)
    return result
  }
  const source: Random = {
    float: () => next() / 2 ** 32,
    int: (below) => Math.floor((next() / 2 ** 32) * below),
    bytes: (length) => Uint8Array.from({ length }, () => next() & 0xff),
    uuid: () => formatUuid(source.bytes(16), 0),
  }
  return source
}
