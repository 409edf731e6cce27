import type { Clock } from '../../base/clock.ts'
import type { SortedMap } from '../sorted-map.ts'
import type { StoredJson } from '../stored-json.ts'

const LIMIT = 32
/** As long as the store keeps its history. */
const KEEP_MS = 300_000

/** The states that paginated lists began with, so that their later pages see the same. A state shares nearly all with the present one. */
export class Snapshots {
  private readonly clock: Clock
  private readonly kept = new Map<number, { rows: SortedMap<StoredJson>; until: number }>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  keep(revision: number, rows: SortedMap<StoredJson>): void {
    if (this.kept.has(revision)) return
    const now = this.clock.monotonic()
    for (const [old, { until }] of this.kept) if (until < now || this.kept.size >= LIMIT) this.kept.delete(old)
    this.kept.set(revision, { rows, until: now + KEEP_MS })
  }

  get(revision: number): SortedMap<StoredJson> | undefined {
    const found = this.kept.get(revision)
    return found && found.until >= this.clock.monotonic() ? found.rows : undefined
  }

  clear(): void {
    this.kept.clear()
  }
}
