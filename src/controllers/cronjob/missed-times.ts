import type { CronJob } from '../../api/batch/v1/types.generated.ts'
import { timeMs } from '../../apimachinery/time.ts'
import type { CronSchedule } from '../../component-helpers/cron-schedule.ts'

const MANY = 100

export interface Due {
  /** The latest time that has come and was not run; undefined when none has. */
  at?: number
  /** More than a hundred have come since the last run. */
  tooMany?: boolean
  /** The schedule makes no sense. */
  invalid?: string
}

const lastOf = (cron: CronJob): number => timeMs(cron.status.lastScheduleTime) ?? timeMs(cron.metadata.creationTimestamp) ?? 0

/** Of all times since the last run only the latest is run. */
export function mostRecent(cron: CronJob, now: number, schedule: CronSchedule, useDeadline = true): Due {
  let earliest = lastOf(cron)
  const deadline = cron.spec.startingDeadlineSeconds
  if (useDeadline && deadline !== undefined) earliest = Math.max(earliest, now - deadline * 1000)
  const first = schedule.next(earliest)
  if (first === undefined || now < first) return {}
  const second = schedule.next(first)
  if (second === undefined || now < second) return { at: first }
  const between = Math.round((second - first) / 1000)
  if (between < 1) return { invalid: 'time difference between two schedules is less than 1 second' }
  const missed = Math.floor(Math.floor((now - first) / 1000) / between) + 1
  let at = first
  // Start near the end: a schedule of minutes that slept for a year has half a million times.
  const from = missed > 2 * MANY ? Math.max(first, now - 2 * between * 1000) : first
  for (let t: number | undefined = from === first ? first : schedule.next(from); t !== undefined && t <= now; t = schedule.next(t)) at = t
  return { at, tooMany: missed > MANY }
}

/** The next time to look. */
export function nextRun(cron: CronJob, now: number, schedule: CronSchedule): number | undefined {
  const due = mostRecent(cron, now, schedule, false)
  return schedule.next(due.at ?? Math.max(lastOf(cron), 0))
}
