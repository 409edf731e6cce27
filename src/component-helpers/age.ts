const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/**
 * A duration as tables print ages: the two largest units while they say something, truncated (`90s`, `5m30s`, `3h`, `2d4h`, `3y20d`).
 * @param ms may be negative: up to two seconds of skew print `0s`, more is `<invalid>`
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string) => (small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`)
  const minutes = Math.floor(ms / MINUTE)
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(ms / HOUR)
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  if (hours < 192) return pair(Math.floor(hours / 24), 'd', hours % 24, 'h')
  const days = Math.floor(ms / DAY)
  if (days < 730) return `${days}d`
  const years = Math.floor(ms / YEAR)
  if (days < 2920) return pair(years, 'y', days % 365, 'd')
  return `${years}y`
}

/** A duration in its largest unit alone. */
export function shortHumanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 60) return `${seconds}s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h`
  if (ms < YEAR) return `${Math.floor(ms / DAY)}d`
  return `${Math.floor(ms / YEAR)}y`
}

/** Age of a timestamp; none is `<unknown>`. */
export function ageOf(timestamp: string | undefined | null, now: number): string {
  return timestamp ? humanDuration(now - Date.parse(timestamp)) : '<unknown>'
}
