import type { Entry, Row } from './row.ts'

/** Where an engine keeps what must outlive the process. Without one, everything stays in memory. */
export interface Backing {
  /** The value of a row that was put away. Throws when the row is no longer kept. */
  load(row: Row): Uint8Array
  /** Resolves when all entries are durable, all or none of them; rejects when none is. One call at a time. */
  commit(entries: readonly Entry[]): Promise<void>
  /** The entries from the compacted revision on that were made before this process opened the store, oldest first. */
  history(): Promise<Entry[]>
  /** Removes what only revisions below `revision` need; in small steps. */
  compact(revision: number): Promise<void>
  saveLease(id: bigint, ttlSeconds: number): Promise<void>
  dropLease(id: bigint): Promise<void>
  size(): Promise<{ totalBytes: number; usedBytes: number }>
  close(): Promise<void>
}
