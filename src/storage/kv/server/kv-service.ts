import type { Message } from '../etcdpb/codec.ts'
import { keyText, kvMessage, opOf, rangeOf, resultMessage, txnOf } from '../etcdpb/convert.ts'
import type { KeyValue, KV, TxnOp } from '../kv.ts'
import { invalid } from './grpc-status.ts'

export type HeaderOf = (revision?: number) => Message

const MAX_TXN_OPS = 128
const KEY_MISSING = 'etcdserver: key is not provided'

function checkKey(m: Message): void {
  if ((m['key'] as Uint8Array).length === 0) throw invalid(KEY_MISSING)
}

function checkOps(ops: Message[], depth = 0): void {
  if (ops.length > MAX_TXN_OPS || depth > 16) throw invalid('etcdserver: too many operations in txn request')
  for (const op of ops) {
    for (const name of ['request_range', 'request_put', 'request_delete_range']) {
      const inner = op[name] as Message | undefined
      if (inner) checkKey(inner)
      if (name === 'request_put' && inner && (inner['ignore_value'] || inner['ignore_lease']))
        throw invalid('etcdserver: ignore_value and ignore_lease are not supported in txn request')
    }
    const txn = op['request_txn'] as Message | undefined
    if (txn) for (const branch of ['success', 'failure']) checkOps(txn[branch] as Message[], depth + 1)
  }
}

const SORT_KEYS: ((kv: KeyValue) => string | number | Uint8Array)[] = [
  (kv) => kv.key,
  (kv) => kv.version,
  (kv) => kv.createRevision,
  (kv) => kv.modRevision,
  (kv) => kv.value,
]

function order(a: string | number | Uint8Array, b: string | number | Uint8Array): number {
  if (typeof a === 'object') return Buffer.compare(a, b as Uint8Array)
  return a < b ? -1 : a > b ? 1 : 0
}

/** etcd's KV service over any store. */
export function kvService(kv: KV, header: HeaderOf) {
  const range = async (m: Message): Promise<Message> => {
    checkKey(m)
    const request = rangeOf(m)
    const filters = ['min_mod_revision', 'max_mod_revision', 'min_create_revision', 'max_create_revision'].some((f) => m[f] !== 0)
    const sorted = m['sort_order'] !== 0
    if (!filters && !sorted) {
      const r = await kv.range(request)
      return { header: header(r.revision), kvs: r.kvs.map(kvMessage), more: r.more, count: r.count }
    }
    const r = await kv.range({ ...request, limit: 0, keysOnly: false })
    let { kvs } = r
    const [minMod, maxMod, minCreate, maxCreate] = ['min_mod_revision', 'max_mod_revision', 'min_create_revision', 'max_create_revision'].map(
      (f) => m[f] as number,
    ) as [number, number, number, number]
    kvs = kvs.filter(
      (k) =>
        (minMod === 0 || k.modRevision >= minMod) &&
        (maxMod === 0 || k.modRevision <= maxMod) &&
        (minCreate === 0 || k.createRevision >= minCreate) &&
        (maxCreate === 0 || k.createRevision <= maxCreate),
    )
    if (sorted) {
      const by = SORT_KEYS[m['sort_target'] as number] ?? SORT_KEYS[0]!
      const sign = m['sort_order'] === 2 ? -1 : 1
      kvs = [...kvs].sort((a, b) => sign * order(by(a), by(b)))
    }
    const limit = request.limit ?? 0
    const more = limit > 0 && kvs.length > limit
    if (more) kvs = kvs.slice(0, limit)
    if (request.keysOnly) kvs = kvs.map((k) => ({ ...k, value: new Uint8Array(0) }))
    return { header: header(r.revision), kvs: kvs.map(kvMessage), more, count: r.count }
  }

  const put = async (m: Message): Promise<Message> => {
    checkKey(m)
    const key = keyText(m['key'])
    if (m['ignore_value'] && (m['value'] as Uint8Array).length > 0) throw invalid('etcdserver: value is provided')
    if (m['ignore_lease'] && m['lease'] !== 0n) throw invalid('etcdserver: lease is provided')
    for (;;) {
      let value = m['value'] as Uint8Array
      let lease = m['lease'] as bigint
      let seen: KeyValue | undefined
      if (m['ignore_value'] || m['ignore_lease']) {
        seen = await kv.get(key)
        if (!seen) throw invalid('etcdserver: key not found')
        if (m['ignore_value']) value = seen.value
        if (m['ignore_lease']) lease = seen.lease
      }
      const op: TxnOp = { op: 'put', key, value, lease, prevKv: m['prev_kv'] as boolean }
      const result = await kv.txn({ compare: seen ? [{ key, target: 'mod', op: '=', value: seen.modRevision }] : [], success: [op] })
      if (!result.succeeded) continue
      return (resultMessage(result.results[0]!, header(result.revision)) as { response_put: Message }).response_put
    }
  }

  return {
    Range: range,
    Put: put,
    DeleteRange: async (m: Message): Promise<Message> => {
      checkKey(m)
      const result = await kv.txn({ success: [opOf({ request_delete_range: m })] })
      return (resultMessage(result.results[0]!, header(result.revision)) as { response_delete_range: Message }).response_delete_range
    },
    Txn: async (m: Message): Promise<Message> => {
      if ((m['compare'] as Message[]).length > MAX_TXN_OPS) throw invalid('etcdserver: too many operations in txn request')
      for (const c of m['compare'] as Message[]) checkKey(c)
      for (const branch of ['success', 'failure']) checkOps(m[branch] as Message[])
      const result = await kv.txn(txnOf(m))
      const h = header(result.revision)
      return { header: h, succeeded: result.succeeded, responses: result.results.map((r) => resultMessage(r, h)) }
    },
    Compact: async (m: Message): Promise<Message> => {
      await kv.compact(m['revision'] as number)
      return { header: header() }
    },
  }
}
