import { hostname } from 'node:os'
import { systemClock } from '../../base/index.ts'
import { serveControl } from '../../cluster/local/control-socket.ts'
import { type ClusterState, prepareDataDir, readState, writeState } from '../../cluster/local/data-dir.ts'
import { LocalCluster } from '../../cluster/local/local-cluster.ts'
import { mergeKubeconfig } from '../../cluster/local/merge-kubeconfig.ts'
import { checkDisk, checkPort, chooseRuntime, type HeldPort, holdFreePort, PreflightError, registryReachable } from '../../cluster/local/preflight.ts'
import { type ParsedFlags, UsageError } from '../../component-base/flags/index.ts'
import { version } from '../../component-base/index.ts'
import { CommandError, type CommandIO } from './command.ts'
import { controlHandler } from './control.ts'
import { dataDirOf } from './data-dir-flag.ts'
import { k8tsVersion } from './k8ts-version.ts'

/** After this long, what a start needs has run. */
const SETTLED_MS = 2000

/** Starts the cluster in this process and stays; with --ready-fd tells another process of its progress. */
export async function foreground(f: ParsedFlags, io: CommandIO, started: () => Promise<void>): Promise<number> {
  const fd = f.has('ready-fd') ? f.int('ready-fd') : undefined
  const report = fd === undefined ? undefined : await reporter(fd)
  const say = report ?? ((line: string) => io.out(`${line}\n`))
  try {
    await start(f, io, say)
    report?.('READY')
    systemClock().setTimeout(() => void started().catch(() => {}), SETTLED_MS)
  } catch (e) {
    if (!report) throw e
    report(`FAILED ${JSON.stringify(e instanceof Error ? e.message : String(e))}`)
    process.exit(1)
  }
  return new Promise(() => {})
}

async function reporter(fd: number): Promise<(line: string) => void> {
  const { writeSync } = await import('node:fs')
  return (line) => {
    try {
      writeSync(fd, `${line}\n`)
    } catch {
      // Whoever waited has gone.
    }
  }
}

async function start(f: ParsedFlags, io: CommandIO, say: (line: string) => void): Promise<void> {
  const began = performance.now()
  const dir = dataDirOf(f, io)
  const nodes = f.int('nodes')
  if (nodes < 1 || nodes > 10_000) throw new UsageError(`--nodes must be from 1 to 10000, not ${nodes}`)
  const mirrors = f.list('registry-mirror').map((m) => {
    const at = m.indexOf('=')
    if (at < 1) throw new UsageError(`--registry-mirror takes HOST=URL, not ${JSON.stringify(m)}`)
    return { registry: m.slice(0, at), url: m.slice(at + 1) }
  })
  await prepareDataDir(dir).catch((e: NodeJS.ErrnoException) => {
    throw new PreflightError(`cannot use ${dir.root} (${e.code ?? e.message}): give another folder with --data-dir`)
  })
  await checkDisk(dir.root)
  const skipPhases = new Set(f.list('skip-phases'))
  for (const phase of skipPhases)
    if (phase !== 'addon/coredns' && phase !== 'addon/kube-proxy')
      throw new UsageError(`--skip-phases takes addon/coredns and addon/kube-proxy, not ${JSON.stringify(phase)}`)
  let cluster: LocalCluster | undefined
  const stop = (how: { containers: boolean }) => shutDown(how)
  const control = await serveControl(dir.socket, controlHandler({ cluster: () => cluster, dir, stop, startedAt: () => began })).catch(
    (e: NodeJS.ErrnoException) => {
      if (e.code === 'EADDRINUSE')
        throw new CommandError(`a cluster of ${dir.root} is running already: look at it with "k8ts status", stop it with "k8ts down"`)
      throw e
    },
  )
  let stopping: Promise<void> | undefined
  const shutDown = (how: { containers: boolean }): Promise<void> => {
    stopping ??= (async () => {
      say('stopping')
      await cluster?.stop(how)
      await control.close()
      setImmediate(() => process.exit(0))
    })()
    return stopping
  }
  let etcd: HeldPort | undefined
  try {
    const decided = await decideState(f, dir, say, nodes)
    etcd = await holdFreePort('127.0.0.1', decided.etcdPort)
    const state: ClusterState = { ...decided, etcdPort: etcd.port }
    await checkPort(state.bindAddress, state.securePort, 'secure-port')
    await writeState(dir, state)
    const demo =
      state.runtime === 'cri' && !f.string('container-runtime-endpoint') && (f.bool('demo-images') || (mirrors.length === 0 && !(await registryReachable())))
    if (demo && !f.bool('demo-images'))
      say('no image registry can be reached: nginx, busybox and the sandbox image are made from the packages of this machine (--demo-images)')
    cluster = new LocalCluster({
      dir,
      state,
      ...(f.string('container-runtime-endpoint') ? { containerRuntimeEndpoint: f.string('container-runtime-endpoint') } : {}),
      demoImages: demo,
      registryMirrors: mirrors,
      skipPhases,
      etcdListener: etcd.listener,
      logSink: await logFile(dir.log),
      verbosity: f.int('v'),
      onStep: (name, ms) => say(`  ${name.padEnd(24)} ${Math.round(ms).toString().padStart(6)} ms`),
    })
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void shutDown({ containers: signal === 'SIGINT' || f.has('ready-fd') }))
    await cluster.start()
    if (!f.bool('no-merge-kubeconfig')) {
      const merged = await mergeKubeconfig(dir.kubeconfig, io.env)
      say(`context "k8ts" is in ${merged} and current`)
    }
    say(`${version.gitVersion} is up in ${Math.round(performance.now() - began)} ms: node ${state.nodeName} is Ready (kubeconfig: ${dir.kubeconfig})`)
    say(`next:\n  kubectl get nodes -o wide\n  kubectl create deployment nginx --image=nginx --replicas=3\n  k8ts status`)
  } catch (e) {
    await cluster?.stop({ containers: false }).catch(() => {})
    etcd?.listener.close()
    await control.close()
    throw e
  }
}

/** What this start runs with; etcd's port is where to look for a free one from. */
async function decideState(f: ParsedFlags, dir: ReturnType<typeof dataDirOf>, say: (line: string) => void, nodes: number): Promise<ClusterState> {
  const before = await readState(dir)
  const asked = f.string('runtime')
  if (!['auto', 'cri', 'simulated'].includes(asked)) throw new UsageError(`--runtime takes auto, cri or simulated, not ${JSON.stringify(asked)}`)
  let runtime: ClusterState['runtime']
  if (f.string('container-runtime-endpoint')) runtime = 'cri'
  else if (asked === 'simulated') runtime = 'simulated'
  else {
    const choice = await chooseRuntime()
    if (asked === 'cri' && choice.runtime !== 'cri') throw new PreflightError(`real containers cannot run here: ${choice.why}`)
    runtime = before && asked === 'auto' ? before.runtime : choice.runtime
    if (choice.runtime !== 'cri' && runtime === 'cri') throw new PreflightError(`this cluster has real containers, which cannot run now: ${choice.why}`)
    say(runtime === 'cri' ? `real containers (${choice.why})` : `simulated Pods: ${choice.why}`)
  }
  const nodeName = f.string('node-name') || before?.nodeName || hostname().toLowerCase()
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(nodeName))
    throw new UsageError(`--node-name must be a DNS name in lower case, not ${JSON.stringify(nodeName)}`)
  if (before && before.nodeName !== nodeName)
    throw new CommandError(`the cluster of ${dir.root} has the node ${before.nodeName}: its name cannot change (k8ts reset --yes starts anew)`)
  const simulatedNodes = before?.simulatedNodes ?? []
  for (let i = 2; i <= nodes; i++) {
    const name = `${nodeName}-m${String(i).padStart(2, '0')}`
    if (!simulatedNodes.includes(name)) simulatedNodes.push(name)
  }
  return {
    formatVersion: 1,
    k8tsVersion,
    nodeName,
    runtime,
    securePort: f.has('secure-port') ? f.int('secure-port') : (before?.securePort ?? 6443),
    etcdPort: f.has('etcd-port') ? f.int('etcd-port') : (before?.etcdPort ?? 2379),
    bindAddress: f.has('bind-address') ? f.string('bind-address') : (before?.bindAddress ?? '127.0.0.1'),
    simulatedNodes,
  }
}

async function logFile(path: string): Promise<{ write(line: string): void }> {
  const { createWriteStream } = await import('node:fs')
  const stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
  return { write: (line) => void stream.write(`${line}\n`) }
}
