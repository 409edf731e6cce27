/** Times as the API prints them, from milliseconds since the epoch. */

/** `2026-01-01T00:00:00Z`: metav1.Time. */
export function rfc3339(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`
}

/** `2026-01-01T00:00:00.123456Z`: metav1.MicroTime. */
export function rfc3339Micro(ms: number): string {
  const whole = Math.floor(ms / 1000)
  const micros = Math.floor((ms - whole * 1000) * 1000)
  return `${new Date(whole * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`
}

/** `2026-01-01T00:00:00.123456000Z`: log lines, nine fixed digits. */
export function rfc3339Nano(ms: number): string {
  return `${rfc3339Micro(ms).slice(0, -1)}000Z`
}

/** Milliseconds since the epoch; undefined when the text is no time. */
export function parseTime(text: string | undefined | null): number | undefined {
  if (!text) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** A duration as Go prints it, truncated to milliseconds: `1.203s`, `850ms`, `2m40s`, `1h0m0s`, `0s`. */
export function goDuration(ms: number): string {
  const n = Math.trunc(ms)
  if (n === 0) return '0s'
  if (Math.abs(n) < 1000) return `${n}ms`
  const sign = n < 0 ? '-' : ''
  const abs = Math.abs(n)
  const hours = Math.floor(abs / 3_600_000)
  const minutes = Math.floor((abs % 3_600_000) / 60_000)
  const seconds = (abs % 60_000) / 1000
  const secondsText = `${Number(seconds.toFixed(3))}s`
  if (hours > 0) return `${sign}${hours}h${minutes}m${secondsText}`
  if (minutes > 0) return `${sign}${minutes}m${secondsText}`
  return `${sign}${secondsText}`
}

/** `300ms`, `1h15m30s`, or a bare number of seconds, as milliseconds; undefined when it is neither. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
  let total = 0
  let at = 0
  for (const match of text.matchAll(/(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h)/g)) {
    if (match.index !== at) return undefined
    total += Number(match[1]) * (units[match[2] as string] as number)
    at += match[0].length
  }
  return at === text.length && at > 0 ? total : undefined
}
