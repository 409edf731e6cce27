import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationMs, formatDuration, humanDuration, parseDuration, parseDurationMs, shortHumanDuration } from './duration.ts'

describe('durations', () => {
  it.each([
    ['1h30m', '1h30m0s'],
    ['1.5s', '1.5s'],
    ['90s', '1m30s'],
    ['100ms', '100ms'],
    ['1us', '1µs'],
    ['-1.5h', '-1h30m0s'],
    ['0', '0s'],
    ['.5s', '500ms'],
  ])('%s prints as %s', (text, want) => {
    expect(formatDuration(parseDuration(text))).toBe(want)
  })

  it.each([
    ['x', 'time: invalid duration "x"'],
    ['', 'time: invalid duration ""'],
    ['5', 'time: missing unit in duration "5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
  ])('refuses %s', (text, message) => {
    expect(() => parseDuration(text)).toThrow(message)
  })

  it('reads back what it prints', () => {
    fc.assert(fc.property(fc.bigInt({ min: -(1n << 62n), max: 1n << 62n }), (n) => parseDuration(formatDuration(n)) === n))
    expect(parseDurationMs('1m0.5s')).toBe(60500)
    expect([durationMs('-1m'), durationMs('1.5μs'), durationMs('1.2.3s'), durationMs('.'), durationMs('1'), durationMs('0')]).toEqual([
      -60_000,
      0.0015,
      undefined,
      undefined,
      undefined,
      0,
    ])
  })

  it('prints ages', () => {
    const s = 1000
    const cases: [number, string, string][] = [
      [0, '0s', '0s'],
      [119 * s, '119s', '1m'],
      [120 * s, '2m', '2m'],
      [200 * s, '3m20s', '3m'],
      [3600 * s, '60m', '1h'],
      [7 * 3600 * s + 60 * s, '7h1m', '7h'],
      [9 * 3600 * s, '9h', '9h'],
      [50 * 3600 * s, '2d2h', '2d'],
      [400 * 86400 * s, '400d', '1y'],
      [3 * 365 * 86400 * s, '3y', '3y'],
    ]
    for (const [ms, long, short] of cases) {
      expect(humanDuration(ms)).toBe(long)
      expect(shortHumanDuration(ms)).toBe(short)
    }
  })
})
