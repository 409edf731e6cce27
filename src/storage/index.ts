/**
 * Where a cluster's state lives. At the bottom is `kv/`: etcd's model (revisions, transactions, watches, leases, compaction) as one
 * interface with three engines - `memory`, `embedded` (an LMDB file) and `etcd` (a real one over gRPC) - and a server that speaks etcd's
 * own API for any of them. Above it objects: `ObjectStorage`, straight over the store or through the watch cache of `cacher/`, where
 * every object is held once as bytes and parsed once for all who read it.
 */
export { Cacher, type CacherOptions, createCacher } from './cacher/cacher.ts'
export {
  KeyExistsError,
  type ObjectStorage,
  type StorageEvent,
  type StorageList,
  type StorageListOptions,
  type StorageWatch,
  type StorageWatchOptions,
  type StoredObject,
  type WriteMeta,
} from './interface.ts'
export { type EmbeddedOptions, openEmbeddedKV } from './kv/embedded/embedded-kv.ts'
export { type EtcdOptions, openEtcdKV } from './kv/etcd/etcd-kv.ts'
export { ForwardingKV, forwardingKV } from './kv/forwarding-kv.ts'
export type { KV } from './kv/kv.ts'
export { createMemoryKV, MemoryKV } from './kv/memory/memory-kv.ts'
export { type EtcdServer, type ServeEtcdOptions, serveEtcd } from './kv/server/serve-etcd.ts'
export { createObjectStorage, KVObjectStorage, type ObjectStorageOptions } from './object-storage.ts'
