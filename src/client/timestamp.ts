/** `2026-01-02T03:04:05Z`: how metav1.Time is written. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** `2026-01-02T03:04:05.123456Z`: how metav1.MicroTime is written. */
export function formatMicroTime(ms: number): string {
  const whole = Math.floor(ms)
  const micros = Math.min(999, Math.floor((ms - whole) * 1000))
  return `${new Date(whole).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`
}

/** Milliseconds since the epoch, with the microseconds as a fraction; NaN for what is no time, undefined for nothing. */
export function parseTime(text: string): number
export function parseTime(text: string | undefined): number | undefined
export function parseTime(text: string | undefined): number | undefined {
  if (text === undefined || text === null) return undefined
  const ms = Date.parse(text)
  const fraction = /\.\d{3}(\d{1,6})/.exec(text)
  return fraction ? ms + Number(`0.${fraction[1]}`) : ms
}
