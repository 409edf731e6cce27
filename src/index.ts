/**
 * k8ts as a library: a Kubernetes v1.36 cluster inside a process. `Cluster.start()` gives one with controllers, scheduler and simulated
 * nodes; its `client` speaks to it without sockets, and with a `VirtualClock` its time passes when it is told to.
 */
export type * from './api/index.ts'
export { resources } from './api/index.ts'
export * from './apimachinery/errors.ts'
export { type Clock, type Random, seededRandom, systemClock, systemRandom, VirtualClock } from './base/index.ts'
export type {
  Client,
  GetOptions,
  ListOptions,
  PatchOptions,
  PatchType,
  ResourceClient,
  Watch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client/client.ts'
export { ConnectionError } from './client/client.ts'
export { Cluster, type ClusterOptions } from './cluster/cluster.ts'
