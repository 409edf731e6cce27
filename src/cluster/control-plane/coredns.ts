import { inClusterConfig, parseKubeconfig } from '../../client/kubeconfig/kubeconfig.ts'
import { createClient } from '../../client/rest/client.ts'
import { createHttpsTransport } from '../../client/rest/https-transport.ts'
import { type FlagSpecs, parseFlags, UsageError } from '../../component-base/flags/index.ts'
import { type ComponentContext, userAgent } from '../../component-base/index.ts'
import type { UnitContext } from '../../kubelet/index.ts'
import { followingTransport, serviceAccountUser } from './component-client.ts'
import type { ControlPlaneEnvironment, FileReader } from './environment.ts'

export const corednsFlags: FlagSpecs = {
  conf: { kind: 'string', usage: 'Corefile to load', default: 'Corefile' },
  'dns.port': { kind: 'int', usage: 'Default port', default: '53' },
  p: { kind: 'int', usage: 'Default port', default: '53' },
  version: { kind: 'bool', usage: 'Show version' },
  help: { kind: 'bool', short: 'h', usage: 'help for this command' },
}

/** What a Corefile in a Pod of this process may read beside the Pod's volumes. */
const HOST_FILES = new Set(['/etc/resolv.conf', '/etc/hosts'])

/**
 * Serves cluster DNS until the signal aborts. Inside the process it is its Pod's service account, reads the Pod's volumes and listens on the
 * Pod's own addresses alone; as a process of its own it listens on loopback unless the Corefile binds it elsewhere.
 */
export async function runCoreDns(
  context: ComponentContext & Partial<Pick<UnitContext, 'ips' | 'mounts' | 'print' | 'env' | 'started'>>,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader & { hostPath(path: string): string },
): Promise<void> {
  const flags = parseFlags(corednsFlags, argv, { singleDash: true })
  const port = flags.int(flags.has('p') ? 'p' : 'dns.port')
  const { inProcess, apiServers, inClusterServer } = environment
  const { clock, random, log, signal } = context
  const mounts = [...(context.mounts?.keys() ?? [])]
  const readFile = async (path: string): Promise<string> => {
    if (inProcess && !HOST_FILES.has(path) && (path.includes('..') || !mounts.some((m) => path === m || path.startsWith(`${m}/`))))
      throw new Error(`open ${path}: no such file or directory`)
    return files.read(path)
  }
  const connect = async (kubeconfig: { path: string; context: string | undefined } | undefined) => {
    const agent = userAgent('coredns')
    const made = (transport: ReturnType<typeof createHttpsTransport>) => ({
      client: createClient(transport, { userAgent: agent }),
      close: () => transport.close(),
    })
    if (inProcess) {
      // A kubeconfig names files and programs of the host.
      if (kubeconfig) throw new Error('kubeconfig is not supported in this Pod: it always serves its own cluster')
      if (inClusterServer === undefined) throw new UsageError('there is no API server in this process')
      return made(followingTransport(() => apiServers.lookup(inClusterServer), serviceAccountUser('coredns'), inClusterServer))
    }
    if (!kubeconfig) return made(createHttpsTransport(inClusterConfig(process.env, clock).transport))
    const config = parseKubeconfig(await readFile(kubeconfig.path), { clock, ...(kubeconfig.context ? { context: kubeconfig.context } : {}) })
    return made(createHttpsTransport(config.transport))
  }
  const ips = context.ips ?? []
  if (inProcess && ips.length === 0) throw new Error('the Pod has no address to listen on')
  const { DnsServer } = await import('../../dns/server/dns-server.ts')
  const server = new DnsServer({
    clock,
    random,
    log,
    print: context.print ?? ((line) => log.info(line)),
    corefile: flags.string('conf'),
    port,
    hosts: inProcess ? ips : ['127.0.0.1'],
    onlyHosts: inProcess,
    // A component has two seconds to end, and another server that clients could turn to there is not.
    lameduck: !inProcess,
    env: context.env ?? process.env,
    readFile,
    connect,
  })
  await server.run(signal, context.started)
}
