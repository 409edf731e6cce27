import { setMaxListeners } from 'node:events'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { ApiServer } from '../../../apiserver/server.ts'
import { systemClock, systemRandom } from '../../../base/index.ts'
import { corednsFlags, runCoreDns } from '../../../cluster/control-plane/coredns.ts'
import type { ControlPlaneEnvironment, FileReader } from '../../../cluster/control-plane/environment.ts'
import { etcdFlags, runEtcd } from '../../../cluster/control-plane/etcd.ts'
import { apiServerFlags, runKubeApiServer } from '../../../cluster/control-plane/kube-apiserver.ts'
import { controllerManagerFlags, runKubeControllerManager } from '../../../cluster/control-plane/kube-controller-manager.ts'
import { proxyFlags, runKubeProxy } from '../../../cluster/control-plane/kube-proxy.ts'
import { runKubeScheduler, schedulerFlags } from '../../../cluster/control-plane/kube-scheduler.ts'
import { kubeletFlags, runKubelet } from '../../../cluster/control-plane/kubelet.ts'
import { EndpointTable } from '../../../cluster/endpoint-table.ts'
import { type FlagSpecs, flagsUsage } from '../../../component-base/flags/index.ts'
import { type ComponentContext, createLogger, version } from '../../../component-base/index.ts'
import type { KV } from '../../../storage/kv/kv.ts'
import type { Command } from '../command.ts'

type Run = (
  context: ComponentContext,
  argv: readonly string[],
  environment: ControlPlaneEnvironment,
  files: FileReader & { hostPath(path: string): string },
) => Promise<void>

/** Of those that are no part of Kubernetes itself. */
const OWN_VERSIONS: Readonly<Record<string, string>> = { etcd: 'etcd Version: 3.6.8', coredns: 'CoreDNS-1.14.2' }

/** One component as its own process, with upstream's flags; SIGTERM and SIGINT end it. */
function component(name: string, flags: FlagSpecs, run: Run): Command {
  return {
    usage: `${name} [flags]`,
    summary: `run ${name} as its own process`,
    examples: `k8ts ${name} --help`,
    flags: {},
    passThrough: true,
    async run(parsed, io) {
      const argv = parsed.args
      if (argv.includes('--help') || argv.includes('-h') || argv.includes('-help')) {
        io.out(`Usage:\n  ${name} [flags]\n\nFlags:\n${flagsUsage(flags)}`)
        return 0
      }
      if (argv.includes('--version') || argv.includes('-version')) {
        io.out(`${OWN_VERSIONS[name] ?? `Kubernetes ${version.gitVersion}`}\n`)
        return 0
      }
      const stop = new AbortController()
      setMaxListeners(0, stop.signal)
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort(new Error(signal)))
      const clock = systemClock()
      const level = argv.map((a) => /^--?v=(\d{1,2})$/.exec(a)?.[1]).find((v) => v !== undefined)
      const log = createLogger({ component: name, sink: { write: (line) => io.err(`${line}\n`) }, clock, verbosity: Number(level ?? 0) })
      const environment: ControlPlaneEnvironment = {
        etcds: new EndpointTable<KV>(),
        apiServers: new EndpointTable<ApiServer>(),
        files: { read: (path) => readFile(path, 'utf8') },
        openStore: async (path) => {
          const { openEmbeddedKV } = await import('../../../storage/kv/embedded/embedded-kv.ts')
          return openEmbeddedKV({ path, clock })
        },
        serveStore: async (kv, o) => {
          const { serveEtcd } = await import('../../../storage/kv/server/serve-etcd.ts')
          const tls = o.tls && { cert: o.tls.cert, key: o.tls.key, ...(o.tls.clientCA ? { ca: o.tls.clientCA } : {}) }
          return serveEtcd(kv, { clock, host: o.host, port: o.port, name: o.name, ...(tls ? { tls } : {}) })
        },
        connectStore: async (endpoints, tls) => {
          const { openEtcdKV } = await import('../../../storage/kv/etcd/etcd-kv.ts')
          return openEtcdKV({ endpoints: [...endpoints], clock, ...(tls ? { tls } : {}) })
        },
        inProcess: false,
        listen: true,
        hostname: hostname().toLowerCase(),
      }
      const context = { clock, random: systemRandom(), log, signal: stop.signal, print: (line: string) => io.out(`${line}\n`) }
      await run(context, argv, environment, { ...environment.files, hostPath: (p) => p })
      return 0
    },
  }
}

export const coredns = component('coredns', corednsFlags, runCoreDns)
export const etcd = component('etcd', etcdFlags, runEtcd)
export const kubeApiserver = component('kube-apiserver', apiServerFlags, runKubeApiServer)
export const kubeControllerManager = component('kube-controller-manager', controllerManagerFlags, runKubeControllerManager)
export const kubeScheduler = component('kube-scheduler', schedulerFlags, runKubeScheduler)
export const kubeProxy = component('kube-proxy', proxyFlags, runKubeProxy)
export const kubelet = component('kubelet', kubeletFlags, runKubelet)
