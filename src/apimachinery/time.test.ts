import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalMicroTime, canonicalTime, formatMicroTime, formatTime, timeMs } from './time.ts'

describe('canonicalTime', () => {
  it.each([
    ['2020-01-02T03:04:05Z', '2020-01-02T03:04:05Z'],
    ['2020-01-02T03:04:05.999Z', '2020-01-02T03:04:05Z'],
    ['2020-01-02T03:04:05+09:00', '2020-01-01T18:04:05Z'],
    ['2020-01-02T3:04:05Z', '2020-01-02T03:04:05Z'],
    ['0001-01-01T00:00:00Z', null],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
  ])('%s is %s', (text, want) => {
    expect(canonicalTime(text)).toBe(want)
  })

  it.each([
    ['x', 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
    ['2020-13-01T00:00:00Z', 'parsing time "2020-13-01T00:00:00Z": month out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ['2020-01-01', 'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'],
    ['2020-01-01T00:00:00Zx', 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'],
  ])('refuses %s', (text, message) => {
    expect(() => canonicalTime(text)).toThrow(message)
  })

  it('micro times have six digits', () => {
    expect(canonicalMicroTime('2020-01-02T03:04:05.123456Z')).toBe('2020-01-02T03:04:05.123456Z')
    expect(() => canonicalMicroTime('2020-01-02T03:04:05Z')).toThrow('cannot parse "Z" as ".000000"')
  })

  it('formats what it parses', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
        expect(timeMs(formatMicroTime(ms))).toBe(ms)
        expect(canonicalTime(formatTime(ms))).toBe(formatTime(ms))
      }),
    )
  })
})
