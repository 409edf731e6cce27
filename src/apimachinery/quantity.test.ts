import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalQuantity, Quantity } from './quantity.ts'

describe('canonicalQuantity', () => {
  it.each([
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1000m', '1'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1.0005', '1000500u'],
    ['0.0015k', '1500m'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1e3'],
    ['1e-3', '1e-3'],
    ['1E', '1E'],
    ['123456789', '123456789'],
    ['129M', '129M'],
    ['0.1', '100m'],
    ['0m', '0'],
    ['-0', '0'],
    ['+5', '5'],
    ['0.0001Ki', '102400u'],
    ['1.5Gi', '1536Mi'],
    ['512Ki', '512Ki'],
    ['0.0000000001', '1n'],
    ['.5', '500m'],
    ['10000e-1', '1e3'],
    ['9223372036854775807', '9223372036854775807'],
    ['100Ei', '9223372036854775807'],
    ['-1.5', '-1500m'],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical)
  })

  it('refuses with the texts of the original', () => {
    expect(() => canonicalQuantity('')).toThrow(/quantities must match the regular expression/)
    expect(() => canonicalQuantity('abc')).toThrow(/quantities must match the regular expression/)
    expect(() => canonicalQuantity('1mm')).toThrow("unable to parse quantity's suffix")
    expect(() => canonicalQuantity('1K')).toThrow("unable to parse quantity's suffix")
    expect(() => canonicalQuantity('1e99999999')).toThrow()
  })

  it('is idempotent and keeps the amount', () => {
    const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e2', 'E3', 'e-4')
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 999999 }), suffix, (whole, fraction, s) => {
        const q = Quantity.parse(`${whole}.${fraction}${s}`)
        const text = q.toString()
        expect(Quantity.parse(text).nano).toBe(q.nano)
        expect(canonicalQuantity(text)).toBe(text)
      }),
    )
  })
})

describe('Quantity', () => {
  it('rounds away from zero on the way to integers', () => {
    expect(Quantity.parse('1001m').value()).toBe(2)
    expect(Quantity.parse('-1001m').value()).toBe(-2)
    expect(Quantity.parse('1.0005').roundUp(-3).toString()).toBe('1001m')
    expect(Quantity.parse('1.5').milliValue()).toBe(1500)
  })

  it('adds in the format of the first that is not zero', () => {
    expect(Quantity.zero.add(Quantity.parse('512Mi')).add(Quantity.parse('512M')).toString()).toBe('1024288Ki')
    expect(Quantity.parse('512Mi').add(Quantity.parse('512Mi')).toString()).toBe('1Gi')
    expect(Quantity.parse('1').sub(Quantity.parse('1m')).toString()).toBe('999m')
    expect(Quantity.parse('1').cmp(Quantity.parse('1000m'))).toBe(0)
  })
})
