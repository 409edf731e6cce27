import { type FlagSpecs, parseFlags } from '../../component-base/flags/index.ts'
import type { ComponentContext } from '../../component-base/index.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'

/** etcd's flags that mean something to one server; `--unsafe-no-fsync` comes first in the help, as tools look for it there. */
export const etcdFlags: FlagSpecs = {
  'unsafe-no-fsync': { kind: 'bool', usage: 'Disables fsync, unsafe, will cause data loss.', default: 'false' },
  name: { kind: 'string', usage: 'Human-readable name for this member.', default: 'default' },
  'data-dir': { kind: 'string', usage: 'Path to the data directory.', default: 'default.etcd' },
  'listen-client-urls': { kind: 'list', usage: 'List of URLs to listen on for client grpc traffic and http.', default: 'http://localhost:2379' },
  'advertise-client-urls': { kind: 'list', usage: "List of this member's client URLs to advertise to the public.", default: 'http://localhost:2379' },
  'listen-peer-urls': { kind: 'list', usage: 'List of URLs to listen on for peer traffic (a single server has no peers; accepted and unused).' },
  'initial-advertise-peer-urls': { kind: 'list', usage: "List of this member's peer URLs (unused)." },
  'initial-cluster': { kind: 'string', usage: 'Initial cluster configuration (a single server).' },
  'listen-metrics-urls': { kind: 'list', usage: 'List of additional URLs for health and metrics.' },
  'cert-file': { kind: 'string', usage: 'Path to the client server TLS cert file.' },
  'key-file': { kind: 'string', usage: 'Path to the client server TLS key file.' },
  'trusted-ca-file': { kind: 'string', usage: 'Path to the client server TLS trusted CA cert file.' },
  'client-cert-auth': { kind: 'bool', usage: 'Enable client cert authentication.' },
  'snapshot-count': { kind: 'int', usage: 'Number of committed transactions to trigger a snapshot (unused).', default: '10000' },
  'auto-compaction-mode': { kind: 'string', usage: "Interpret 'auto-compaction-retention' one of: periodic|revision.", default: 'periodic' },
  'auto-compaction-retention': { kind: 'string', usage: 'Auto compaction retention length.', default: '0' },
  'watch-progress-notify-interval': { kind: 'duration', usage: 'Duration of periodical watch progress notification.', default: '10m' },
  help: { kind: 'bool', short: 'h', usage: 'Print the help text' },
  version: { kind: 'bool', usage: 'Print the version and exit.' },
}

/** Opens the store and serves it until the signal aborts: to this process by the endpoint table, and over gRPC. */
export async function runEtcd(
  context: ComponentContext,
  argv: readonly string[],
  environment: Pick<ControlPlaneEnvironment, 'etcds' | 'openStore' | 'serveStore' | 'listen'>,
  files: FileReader & { hostPath(path: string): string },
): Promise<void> {
  const flags = parseFlags(etcdFlags, argv, { singleDash: true })
  const dir = files.hostPath(flags.string('data-dir'))
  const kv = await environment.openStore(dir)
  context.log.info('opened the store', { dir, revision: kv.revision })
  const undo: (() => void | Promise<void>)[] = []
  try {
    for (const url of new Set([...flags.list('listen-client-urls'), ...flags.list('advertise-client-urls')])) undo.push(environment.etcds.register(url, kv))
    if (environment.listen && environment.serveStore) {
      for (const url of flags.list('listen-client-urls')) {
        const { hostname, port, protocol } = new URL(url)
        const tls =
          protocol === 'https:'
            ? {
                cert: await files.read(flags.string('cert-file')),
                key: await files.read(flags.string('key-file')),
                ...(flags.bool('client-cert-auth') ? { clientCA: await files.read(flags.string('trusted-ca-file')) } : {}),
              }
            : undefined
        const server = await environment.serveStore(kv, { host: hostname, port: Number(port), name: flags.string('name'), ...(tls ? { tls } : {}) })
        undo.push(() => server.close())
        context.log.info('serving client traffic', { url })
      }
    }
    await aborted(context.signal)
  } finally {
    for (const fn of undo.reverse()) await fn()
    await kv.close()
  }
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
