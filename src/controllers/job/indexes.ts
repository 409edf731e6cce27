import type { Pod } from '../../api/core/v1/types.generated.ts'

export const INDEX_KEY = 'batch.kubernetes.io/job-completion-index'

/** A Pod's completion index; undefined without one. */
export function indexOf(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[INDEX_KEY]
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined
}

/** Reads `0,2-4,7`; indexes from `limit` on are left out. */
export function parseIndexes(text: string | undefined, limit: number): Set<number> {
  const out = new Set<number>()
  for (const part of (text ?? '').split(',')) {
    const match = /^([0-9]{1,9})(?:-([0-9]{1,9}))?$/.exec(part)
    if (!match) continue
    const last = Math.min(Number(match[2] ?? match[1]), limit - 1)
    for (let i = Number(match[1]); i <= last; i++) out.add(i)
  }
  return out
}

/** Three or more in a row are written `a-b`. */
export function formatIndexes(indexes: Iterable<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b)
  const parts: string[] = []
  for (let i = 0; i < sorted.length; ) {
    let j = i
    while (j + 1 < sorted.length && sorted[j + 1] === (sorted[j] as number) + 1) j++
    if (j - i >= 2) parts.push(`${sorted[i]}-${sorted[j]}`)
    else for (let k = i; k <= j; k++) parts.push(String(sorted[k]))
    i = j + 1
  }
  return parts.join(',')
}
