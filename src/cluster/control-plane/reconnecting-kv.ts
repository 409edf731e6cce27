import { type KV, StoreUnavailableError } from '../../storage/kv/kv.ts'

/**
 * A store that may stop and come back, as etcd behind a connection does: every call goes to whoever is there now, and is refused
 * while nobody is. Watches end with the store they were opened on.
 */
export function reconnectingKV(lookup: () => KV | undefined): KV {
  const current = (): KV => {
    const kv = lookup()
    if (!kv) throw new StoreUnavailableError('connection refused')
    return kv
  }
  const call = async <T>(fn: (kv: KV) => Promise<T>): Promise<T> => fn(current())
  return {
    get revision() {
      return current().revision
    },
    get compactedRevision() {
      return current().compactedRevision
    },
    range: (request) => call((kv) => kv.range(request)),
    get: (key) => call((kv) => kv.get(key)),
    txn: (request) => call((kv) => kv.txn(request)),
    watch(request) {
      const kv = lookup()
      if (kv) return kv.watch(request)
      queueMicrotask(() => request.onClose?.({ error: new StoreUnavailableError('connection refused') }))
      return { cancel() {}, progress: () => Promise.reject(new StoreUnavailableError('connection refused')) }
    },
    leaseGrant: (ttl, id) => call((kv) => kv.leaseGrant(ttl, id)),
    leaseRevoke: (id) => call((kv) => kv.leaseRevoke(id)),
    leaseKeepAlive: (id) => call((kv) => kv.leaseKeepAlive(id)),
    leaseTimeToLive: (id) => call((kv) => kv.leaseTimeToLive(id)),
    leases: () => call((kv) => kv.leases()),
    compact: (revision) => call((kv) => kv.compact(revision)),
    size: () => call((kv) => kv.size()),
    // The store belongs to its etcd.
    close: async () => {},
  }
}
