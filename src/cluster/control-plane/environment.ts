import type { corev1 } from '../../api/index.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import type { NodeConnection } from '../../registry/core/pod/connect.ts'
import type { KV } from '../../storage/kv/kv.ts'
import type { EndpointTable } from '../endpoint-table.ts'

/** What the components of one process share; a component that runs alone has empty tables and finds everybody over sockets. */
export interface ControlPlaneEnvironment {
  /** etcd servers of this process, by client URL. */
  readonly etcds: EndpointTable<KV>
  /** API servers of this process, by URL. */
  readonly apiServers: EndpointTable<ApiServer>
  readonly files: FileReader
  /** Opens the store in a data folder. */
  openStore(dir: string): Promise<KV>
  /** Serves a store over etcd's gRPC API. */
  serveStore?(kv: KV, options: ServeStoreOptions): Promise<{ close(): Promise<void> }>
  /** Connects to a real etcd. */
  connectStore?(endpoints: readonly string[], tls: { ca: string; cert: string; key: string } | undefined): Promise<KV>
  /** Components are looked for in this process by the tables, also when they come later; false: over sockets. */
  readonly inProcess: boolean
  /** False: no component opens a port; everything stays in the process. */
  readonly listen: boolean
  readonly hostname: string
  /** Further addresses the API server listens on, beside its bind address. */
  readonly extraApiAddresses?: readonly string[]
  /** URL of the API server for Pods of this process. */
  readonly inClusterServer?: string
  /** How Pods' logs, exec, attach and port-forward are reached. */
  connectNode?(node: corev1.Node): Promise<NodeConnection>
}

/** Reads the files that flags name: from disk, or from memory in an embedded cluster. */
export interface FileReader {
  /** @throws Error that names the file when it is not there */
  read(path: string): Promise<string>
}

/** A component's files, seen through the mounts of its container. */
export function mountedFiles(files: FileReader, mounts: ReadonlyMap<string, string>): FileReader & { hostPath(path: string): string } {
  const hostPath = (path: string): string => {
    let best = ''
    for (const inside of mounts.keys()) if ((path === inside || path.startsWith(`${inside}/`)) && inside.length > best.length) best = inside
    return best === '' ? path : (mounts.get(best) as string) + path.slice(best.length)
  }
  return { hostPath, read: (path) => files.read(hostPath(path)) }
}

export interface ServeStoreOptions {
  readonly host: string
  readonly port: number
  /** Of the member. */
  readonly name: string
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCA?: string }
}
