import { formatDurationMs } from '../apimachinery/duration.ts'

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
export const goDuration = (ms: number): string => formatDurationMs(Math.trunc(ms))
