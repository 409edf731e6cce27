/** k8ts as a library: a Kubernetes v1.36 cluster inside a process. */
export type * from './api/index.ts'
export { resources } from './api/index.ts'
export { VirtualClock } from './base/index.ts'
export type { Client, ResourceClient, Watch, WatchEvent } from './client/client.ts'
