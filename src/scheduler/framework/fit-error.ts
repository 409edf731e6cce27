import type { Diagnosis } from './plugin.ts'

/** `3 Insufficient cpu, 1 node(s) were unschedulable`: reasons with their counts, sorted as texts. */
export function reasonCounts(reasons: Iterable<string>): string {
  const counts = new Map<string, number>()
  for (const r of reasons) counts.set(r, (counts.get(r) ?? 0) + 1)
  return [...counts]
    .map(([reason, n]) => `${n} ${reason}`)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    .join(', ')
}

/** The text of FailedScheduling and of the PodScheduled condition. */
export function fitErrorText(allNodes: number, diagnosis: Diagnosis, nodeNames: Iterable<string>, postFilter: string): string {
  if (allNodes === 0) return 'no nodes available to schedule pods'
  let part: string
  if (diagnosis.preFilterStatus) part = diagnosis.preFilterStatus.reasons.join(', ')
  else {
    const reasons: string[] = []
    for (const name of nodeNames) {
      const status = diagnosis.nodeStatuses.get(name) ?? diagnosis.absentStatus
      if (status) reasons.push(...status.reasons)
    }
    part = reasonCounts(reasons)
  }
  const head = `0/${allNodes} nodes are available:`
  return `${head}${part ? ` ${part}.` : ''}${postFilter ? ` ${postFilter}` : ''}`
}
