import type { SortedMap } from '../../sorted-map.ts'
import type { KeyValue, RevisionMeta } from '../kv.ts'

export const NO_LEASE = 0n

/** One version of one key. Its value may have been put away; then the engine's backing has it. */
export class Row {
  readonly key: string
  value: Uint8Array | undefined
  readonly createRevision: number
  readonly modRevision: number
  readonly version: number
  readonly lease: bigint
  /** Which write of its revision made it. */
  readonly sub: number

  constructor(kv: Omit<KeyValue, 'value'> & { value: Uint8Array | undefined }, sub: number) {
    this.key = kv.key
    this.value = kv.value
    this.createRevision = kv.createRevision
    this.modRevision = kv.modRevision
    this.version = kv.version
    this.lease = kv.lease
    this.sub = sub
  }
}

export type Rows = SortedMap<Row>

/** One write of a revision. A delete's row is a tombstone: version 0, no value. */
export interface Write {
  readonly type: 'put' | 'delete'
  readonly row: Row
  readonly prev: Row | undefined
  readonly meta: RevisionMeta | undefined
}

/** One revision: what it wrote, and all rows after it. */
export interface Entry {
  readonly revision: number
  readonly writes: readonly Write[]
  readonly rows: Rows
}

const NOTHING = new Uint8Array(0)

export function tombstone(key: string, revision: number, sub: number): Row {
  return new Row({ key, value: NOTHING, createRevision: 0, modRevision: revision, version: 0, lease: NO_LEASE }, sub)
}
