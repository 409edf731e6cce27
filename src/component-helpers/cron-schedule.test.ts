import { describe, expect, it } from 'vitest'
import { parseCron } from './cron-schedule.ts'

const at = (text: string) => Date.parse(text)
const next = (spec: string, from: string, zone?: string) => {
  const n = parseCron(spec, zone).next(at(from))
  return n === undefined ? undefined : new Date(n).toISOString()
}

describe('cron schedules', () => {
  it.each([
    ['* * * * *', '2026-01-01T00:00:30Z', undefined, '2026-01-01T00:01:00.000Z'],
    ['*/15 * * * *', '2026-01-01T00:16:00Z', undefined, '2026-01-01T00:30:00.000Z'],
    ['*/99 * * * *', '2026-01-01T00:16:00Z', undefined, '2026-01-01T01:00:00.000Z'],
    ['0 3 * * *', '2026-01-01T03:00:00Z', undefined, '2026-01-02T03:00:00.000Z'],
    ['30 4 1,15 * 5', '2026-01-01T05:00:00Z', undefined, '2026-01-02T04:30:00.000Z'],
    ['0 0 31 * *', '2026-01-31T00:00:00Z', undefined, '2026-03-31T00:00:00.000Z'],
    ['0 0 29 feb ?', '2026-01-01T00:00:00Z', undefined, '2028-02-29T00:00:00.000Z'],
    ['0 0 31 2 *', '2026-01-01T00:00:00Z', undefined, undefined],
    ['@hourly', '2026-01-01T00:16:00Z', undefined, '2026-01-01T01:00:00.000Z'],
    ['@every 1h30m', '2026-01-01T00:16:00.5Z', undefined, '2026-01-01T01:46:00.000Z'],
    ['0 12 * * *', '2026-07-01T00:00:00Z', 'Asia/Tokyo', '2026-07-01T03:00:00.000Z'],
    // Clocks go forward: 02:30 does not exist on that day.
    ['30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin', '2026-03-30T00:30:00.000Z'],
    // Clocks go back: 02:30 comes twice.
    ['30 2 * * *', '2026-10-24T12:00:00Z', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['30 2 * * *', '2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25T01:30:00.000Z'],
  ])('%s after %s in %s', (spec, from, zone, want) => {
    expect(next(spec, from, zone)).toBe(want)
  })

  it.each([
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['@every 5', 'failed to parse duration @every 5: time: missing unit in duration "5"'],
    ['@reboot', 'unrecognized descriptor: @reboot'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['* * 6L * *', 'failed to parse int from 6L: strconv.Atoi: parsing "6L": invalid syntax'],
  ])('%s is refused', (spec, message) => {
    expect(() => parseCron(spec)).toThrow(message)
  })
})
