import { formatDurationMs } from '../apimachinery/duration.ts'
import { formatMicroTime } from '../apimachinery/time.ts'

/** `2026-01-01T00:00:00.123456000Z` of milliseconds since the epoch: log lines, nine fixed digits. */
export const rfc3339Nano = (ms: number): string => `${formatMicroTime(ms).slice(0, -1)}000Z`

/** A duration as Go prints it, truncated to milliseconds: `1.203s`, `850ms`, `2m40s`, `1h0m0s`, `0s`. */
export const goDuration = (ms: number): string => formatDurationMs(Math.trunc(ms))
