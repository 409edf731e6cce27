import type { Compare, KeyValue, KVEvent, OpResult, RangeRequest, TxnOp, TxnRequest } from '../kv.ts'
import type { Message } from './codec.ts'

/** Between etcd's messages and the store's own forms. Keys are bytes there and strings of as many characters here. */
export const keyText = (bytes: unknown): string => Buffer.from(bytes as Uint8Array).toString('latin1')
export const keyBytes = (key: string): Buffer => Buffer.from(key, 'latin1')

const TARGETS = ['version', 'create', 'mod', 'value', 'lease'] as const
const OPERATORS = ['=', '>', '<', '!='] as const
const TARGET_FIELD = { version: 'version', create: 'create_revision', mod: 'mod_revision', value: 'value', lease: 'lease' } as const

export function kvMessage(kv: KeyValue): Message {
  return {
    key: keyBytes(kv.key),
    create_revision: kv.createRevision,
    mod_revision: kv.modRevision,
    version: kv.version,
    value: kv.value,
    lease: kv.lease,
  }
}

export function kvOf(m: Message): KeyValue {
  return {
    key: keyText(m['key']),
    value: m['value'] as Uint8Array,
    createRevision: m['create_revision'] as number,
    modRevision: m['mod_revision'] as number,
    version: m['version'] as number,
    lease: m['lease'] as bigint,
  }
}

export function eventMessage(event: KVEvent): Message {
  return { type: event.type === 'delete' ? 1 : 0, kv: kvMessage(event.kv), ...(event.prev ? { prev_kv: kvMessage(event.prev) } : {}) }
}

export function eventOf(m: Message): KVEvent {
  const prev = m['prev_kv'] as Message | undefined
  return { type: m['type'] === 1 ? 'delete' : 'put', kv: kvOf(m['kv'] as Message), ...(prev ? { prev: kvOf(prev) } : {}) }
}

const endOf = (m: Message): { end?: string } => ((m['range_end'] as Uint8Array).length > 0 ? { end: keyText(m['range_end']) } : {})
const endBytes = (end: string | undefined): { range_end?: Buffer } => (end === undefined || end === '' ? {} : { range_end: keyBytes(end) })

export function rangeOf(m: Message): RangeRequest {
  return {
    key: keyText(m['key']),
    ...endOf(m),
    revision: m['revision'] as number,
    limit: m['limit'] as number,
    keysOnly: m['keys_only'] as boolean,
    countOnly: m['count_only'] as boolean,
  }
}

export function rangeMessage(r: RangeRequest): Message {
  return {
    key: keyBytes(r.key),
    ...endBytes(r.end),
    limit: r.limit ?? 0,
    revision: r.revision ?? 0,
    keys_only: r.keysOnly ?? false,
    count_only: r.countOnly ?? false,
  }
}

export function compareOf(m: Message): Compare {
  const target = TARGETS[m['target'] as number]
  const op = OPERATORS[m['result'] as number]
  if (!target || !op) throw new Error('etcdserver: unknown comparison')
  return { key: keyText(m['key']), ...endOf(m), target, op, value: m[TARGET_FIELD[target]] } as Compare
}

export function compareMessage(c: Compare): Message {
  return { key: keyBytes(c.key), ...endBytes(c.end), target: TARGETS.indexOf(c.target), result: OPERATORS.indexOf(c.op), [TARGET_FIELD[c.target]]: c.value }
}

export function opOf(m: Message): TxnOp {
  const range = m['request_range'] as Message | undefined
  if (range) return { op: 'range', request: rangeOf(range) }
  const put = m['request_put'] as Message | undefined
  if (put) return { op: 'put', key: keyText(put['key']), value: put['value'] as Uint8Array, lease: put['lease'] as bigint, prevKv: put['prev_kv'] as boolean }
  const del = m['request_delete_range'] as Message | undefined
  if (del) return { op: 'delete', key: keyText(del['key']), ...endOf(del), prevKv: del['prev_kv'] as boolean }
  return { op: 'txn', request: txnOf((m['request_txn'] as Message | undefined) ?? { compare: [], success: [], failure: [] }) }
}

export function opMessage(op: TxnOp): Message {
  switch (op.op) {
    case 'range':
      return { request_range: rangeMessage(op.request) }
    case 'put':
      return { request_put: { key: keyBytes(op.key), value: op.value, lease: op.lease ?? 0n, prev_kv: op.prevKv ?? false } }
    case 'delete':
      return { request_delete_range: { key: keyBytes(op.key), ...endBytes(op.end), prev_kv: op.prevKv ?? false } }
    case 'txn':
      return { request_txn: txnMessage(op.request) }
  }
}

export function txnOf(m: Message): TxnRequest {
  return {
    compare: (m['compare'] as Message[]).map(compareOf),
    success: (m['success'] as Message[]).map(opOf),
    failure: (m['failure'] as Message[]).map(opOf),
  }
}

export function txnMessage(t: TxnRequest): Message {
  return { compare: (t.compare ?? []).map(compareMessage), success: t.success.map(opMessage), failure: (t.failure ?? []).map(opMessage) }
}

export function resultMessage(result: OpResult, header: Message): Message {
  switch (result.op) {
    case 'range':
      return { response_range: { header, kvs: result.result.kvs.map(kvMessage), more: result.result.more, count: result.result.count } }
    case 'put':
      return { response_put: { header, ...(result.prev ? { prev_kv: kvMessage(result.prev) } : {}) } }
    case 'delete':
      return { response_delete_range: { header, deleted: result.deleted, prev_kvs: (result.prevs ?? []).map(kvMessage) } }
    case 'txn':
      return { response_txn: { header, succeeded: result.result.succeeded, responses: result.result.results.map((r) => resultMessage(r, header)) } }
  }
}

export function resultOf(m: Message, revision: number, prevKv: boolean): OpResult {
  const range = m['response_range'] as Message | undefined
  if (range)
    return { op: 'range', result: { kvs: (range['kvs'] as Message[]).map(kvOf), count: range['count'] as number, more: range['more'] as boolean, revision } }
  const del = m['response_delete_range'] as Message | undefined
  if (del) return { op: 'delete', deleted: del['deleted'] as number, ...(prevKv ? { prevs: (del['prev_kvs'] as Message[]).map(kvOf) } : {}) }
  const txn = m['response_txn'] as Message | undefined
  if (txn)
    return {
      op: 'txn',
      result: { succeeded: txn['succeeded'] as boolean, revision, results: (txn['responses'] as Message[]).map((r) => resultOf(r, revision, prevKv)) },
    }
  const prev = (m['response_put'] as Message | undefined)?.['prev_kv'] as Message | undefined
  return { op: 'put', ...(prev ? { prev: kvOf(prev) } : {}) }
}
