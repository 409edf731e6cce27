import { baselineChecks } from './baseline.ts'
import type { LevelVersion } from './level.ts'
import type { Check, PodView, Violation } from './pod.ts'
import { restrictedChecks } from './restricted.ts'

/** What of a Pod a level does not allow: baseline's checks first, each level's by id. */
export function violations(pod: PodView, { level, minor }: LevelVersion): Violation[] {
  if (level === 'privileged') return []
  const inForce = (check: Check) => minor >= check.since
  const restricted = level === 'restricted' ? restrictedChecks.filter(inForce) : []
  const overridden = new Set(restricted.map((c) => c.overrides))
  const baseline = baselineChecks.filter((c) => inForce(c) && !overridden.has(c.id))
  return [...baseline, ...restricted].flatMap((check) => check.run(pod, minor) ?? [])
}

export const violationsText = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')
export const reasonsText = (found: readonly Violation[]): string => found.map(({ reason }) => reason).join(', ')
