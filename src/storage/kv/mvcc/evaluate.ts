import {
  type Compare,
  type KeyValue,
  type OpResult,
  type RangeRequest,
  type RangeResult,
  RequestTooLargeError,
  type TxnOp,
  type TxnRequest,
  type TxnResult,
} from '../kv.ts'
import { NO_LEASE, Row, type Rows, tombstone, type Write } from './row.ts'

/** A transaction wrote one key twice. */
export class DuplicateKeyError extends Error {
  constructor() {
    super('etcdserver: duplicate key given in txn request')
    this.name = 'DuplicateKeyError'
  }
}

/** What evaluation needs to know from the engine. */
export interface EvaluateContext {
  /** The revision that the writes will get. */
  readonly nextRevision: number
  keyValue(row: Row): KeyValue
  /** Throws LeaseNotFoundError. */
  checkLease(id: bigint): void
  /** Range at an older revision; the rows of that revision. Throws when it is not kept. */
  rowsAt(revision: number): Rows
}

/** The half-open interval of a range: a single key ends just after itself. */
export function rangeEnd(key: string, end: string | undefined): string {
  return end === undefined || end === '' ? `${key}\0` : end
}

export function inRange(key: string, start: string, end: string): boolean {
  return key >= start && (end === '\0' || key < end)
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

function holds(order: number, op: Compare['op']): boolean {
  return op === '=' ? order === 0 : op === '!=' ? order !== 0 : op === '<' ? order < 0 : order > 0
}

function compareRow(row: Row | undefined, compare: Compare, context: EvaluateContext): boolean {
  switch (compare.target) {
    case 'value':
      // As in etcd: a missing key fits no comparison of values.
      return row !== undefined && holds(compareBytes(context.keyValue(row).value, compare.value), compare.op)
    case 'lease': {
      const lease = row?.lease ?? NO_LEASE
      return holds(lease < compare.value ? -1 : lease > compare.value ? 1 : 0, compare.op)
    }
    default: {
      const have = !row ? 0 : compare.target === 'mod' ? row.modRevision : compare.target === 'create' ? row.createRevision : row.version
      return holds(have - compare.value, compare.op)
    }
  }
}

/** Refuses transactions that write one key twice, in any way they could turn out. Returns what the operations write. */
function checkDuplicates(ops: readonly TxnOp[]): { puts: Set<string>; deletes: [string, string][] } {
  const puts = new Set<string>()
  const deletes: [string, string][] = []
  const nested: TxnRequest[] = []
  for (const op of ops) {
    if (op.op === 'put') {
      if (puts.has(op.key)) throw new DuplicateKeyError()
      puts.add(op.key)
    } else if (op.op === 'delete') deletes.push([op.key, rangeEnd(op.key, op.end)])
    else if (op.op === 'txn') nested.push(op.request)
  }
  for (const request of nested) {
    const branches = [checkDuplicates(request.success), checkDuplicates(request.failure ?? [])]
    for (const branch of branches) for (const key of branch.puts) if (puts.has(key)) throw new DuplicateKeyError()
    for (const branch of branches) {
      for (const key of branch.puts) puts.add(key)
      for (const interval of branch.deletes) deletes.push(interval)
    }
  }
  if (puts.size > 0) for (const [start, end] of deletes) for (const key of puts) if (inRange(key, start, end)) throw new DuplicateKeyError()
  return { puts, deletes }
}

export function rangeRows(rows: Rows, request: RangeRequest, revision: number, keyValue: (row: Row) => KeyValue): RangeResult {
  const end = rangeEnd(request.key, request.end)
  const count = rows.count(request.key, end)
  if (request.countOnly) return { kvs: [], count, more: false, revision }
  const found = rows.slice(request.key, end, request.limit ?? 0)
  return { kvs: found.map(request.keysOnly ? withoutValue : keyValue), count, more: found.length < count, revision }
}

const NOTHING = new Uint8Array(0)

export function withoutValue(row: Row): KeyValue {
  return {
    key: row.key,
    value: NOTHING,
    createRevision: row.createRevision,
    modRevision: row.modRevision,
    version: row.version,
    lease: row.lease,
  }
}

const MAX_REQUEST_BYTES = 1.5 * 1024 * 1024

/** Throws RequestTooLargeError for what etcd would not take. */
function checkSize(request: TxnRequest): number {
  let size = 0
  for (const ops of [request.success, request.failure ?? []]) {
    for (const op of ops) {
      if (op.op === 'put') size += op.key.length + op.value.length
      else if (op.op === 'txn') size += checkSize(op.request)
    }
  }
  if (size > MAX_REQUEST_BYTES) throw new RequestTooLargeError()
  return size
}

export interface Evaluated {
  rows: Rows
  writes: Write[]
  result: TxnResult
}

/** Runs a transaction over `rows` without effect on anything but its return value. */
export function evaluate(request: TxnRequest, rows: Rows, context: EvaluateContext): Evaluated {
  checkSize(request)
  if (request.success.length > 1 || request.success[0]?.op === 'txn') checkDuplicates(request.success)
  if (request.failure && (request.failure.length > 1 || request.failure[0]?.op === 'txn')) checkDuplicates(request.failure)
  const writes: Write[] = []
  const { nextRevision } = context
  let now = rows

  // Comparisons, nested ones too, see the state before the transaction, as in etcd.
  const run = (r: TxnRequest): TxnResult => {
    const succeeded = (r.compare ?? []).every((c) => {
      if (c.end === undefined || c.end === '') return compareRow(rows.get(c.key), c, context)
      const found = rows.slice(c.key, c.end)
      return found.length === 0 ? c.target !== 'value' && compareRow(undefined, c, context) : found.every((row) => compareRow(row, c, context))
    })
    const results = (succeeded ? r.success : (r.failure ?? [])).map(apply)
    return { succeeded, revision: writes.length > 0 ? nextRevision : nextRevision - 1, results }
  }

  const apply = (op: TxnOp): OpResult => {
    switch (op.op) {
      case 'put': {
        const lease = op.lease ?? NO_LEASE
        if (lease !== NO_LEASE) context.checkLease(lease)
        const prev = now.get(op.key)
        const row = new Row(
          {
            key: op.key,
            value: op.value,
            createRevision: prev?.createRevision ?? nextRevision,
            modRevision: nextRevision,
            version: (prev?.version ?? 0) + 1,
            lease,
          },
          writes.length,
        )
        now = now.set(row)
        writes.push({ type: 'put', row, prev, meta: op.meta })
        return op.prevKv && prev ? { op: 'put', prev: context.keyValue(prev) } : { op: 'put' }
      }
      case 'delete': {
        const single = op.end === undefined || op.end === '' ? now.get(op.key) : undefined
        const gone = op.end === undefined || op.end === '' ? (single ? [single] : []) : now.slice(op.key, op.end)
        for (const prev of gone) {
          now = now.delete(prev.key)
          writes.push({ type: 'delete', row: tombstone(prev.key, nextRevision, writes.length), prev, meta: op.meta })
        }
        return { op: 'delete', deleted: gone.length, ...(op.prevKv ? { prevs: gone.map((row) => context.keyValue(row)) } : {}) }
      }
      case 'range': {
        const old = op.request.revision ? context.rowsAt(op.request.revision) : now
        return { op: 'range', result: rangeRows(old, op.request, writes.length > 0 ? nextRevision : nextRevision - 1, (row) => context.keyValue(row)) }
      }
      case 'txn':
        return { op: 'txn', result: run(op.request) }
    }
  }

  const result = run(request)
  return { rows: now, writes, result }
}
