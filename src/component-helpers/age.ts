import { humanDuration } from '../apimachinery/duration.ts'

/** Age of a timestamp; none is `<unknown>`. */
export function ageOf(timestamp: string | undefined | null, now: number): string {
  return timestamp ? humanDuration(now - Date.parse(timestamp)) : '<unknown>'
}
