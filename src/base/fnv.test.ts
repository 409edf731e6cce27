import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fnv1a32, fnv1a128, fnv132 } from './fnv.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const hex128 = (text: string) => fnv1a128(bytes(text)).toString(16).padStart(32, '0')

describe('FNV-1a', () => {
  it('is as published', () => {
    expect(fnv1a32(bytes('foobar'))).toBe(0xbf9cf968)
    expect(fnv132(bytes('foobar'))).toBe(0x31f0b262)
    expect(fnv1a32(bytes('bar'), fnv1a32(bytes('foo')))).toBe(0xbf9cf968)
    expect(hex128('')).toBe('6c62272e07bb014262b821756295c58d')
    expect(hex128('a')).toBe('d228cb696f1a8caf78912b704e4a8964')
  })

  it('is what the formula says', () => {
    const prime = (1n << 88n) + 0x13bn
    const formula = (text: string) => {
      let h = 0x6c62272e07bb014262b821756295c58dn
      for (const byte of new TextEncoder().encode(text)) h = BigInt.asUintN(128, (h ^ BigInt(byte)) * prime)
      return h.toString(16).padStart(32, '0')
    }
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => hex128(text) === formula(text)))
  })
})
