import { durationMs } from '../../../apimachinery/duration.ts'

/** How long a simulated process takes, in ms: a duration such as `1h15m30s` or a bare number of seconds; undefined when it is neither. */
export function spanMs(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const ms = durationMs(text)
  return ms === undefined || ms < 0 ? undefined : ms
}
