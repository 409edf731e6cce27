import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fnv32a, fnv128a } from './hash.ts'

describe('FNV-1a', () => {
  it('is as published', () => {
    expect(fnv32a('foobar')).toBe('bf9cf968')
    expect(fnv128a('')).toBe('6c62272e07bb014262b821756295c58d')
    expect(fnv128a('a')).toBe('d228cb696f1a8caf78912b704e4a8964')
  })

  it('is what the formula says', () => {
    const prime = (1n << 88n) + 0x13bn
    const formula = (text: string) => {
      let h = 0x6c62272e07bb014262b821756295c58dn
      for (const byte of new TextEncoder().encode(text)) h = BigInt.asUintN(128, (h ^ BigInt(byte)) * prime)
      return h.toString(16).padStart(32, '0')
    }
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => fnv128a(text) === formula(text)))
  })
})
