import { flagsUsage, parseFlags, suggest } from '../../component-base/flags/index.ts'
import type { Command, CommandIO } from './command.ts'
import { loadCluster } from './load-cluster.ts'

/** Every command with what loads it: a command costs nothing until it is used. */
const commands: Record<string, () => Promise<{ default: Command }>> = {
  up: () => import('./commands/up.ts'),
  down: () => import('./commands/down.ts'),
  status: () => import('./commands/status.ts'),
  reset: () => import('./commands/reset.ts'),
  kubeconfig: () => import('./commands/kubeconfig.ts'),
  version: () => import('./commands/version.ts'),
  ssh: () => import('./commands/ssh.ts'),
  node: () => import('./commands/node.ts'),
  kubectl: () => import('./commands/kubectl.ts'),
  doctor: () => import('./commands/doctor.ts'),
  completion: () => import('./commands/completion.ts'),
  etcd: () => loadCluster().then((m) => ({ default: m.etcd })),
  'kube-apiserver': () => loadCluster().then((m) => ({ default: m.kubeApiserver })),
  'kube-controller-manager': () => loadCluster().then((m) => ({ default: m.kubeControllerManager })),
  'kube-scheduler': () => loadCluster().then((m) => ({ default: m.kubeScheduler })),
  coredns: () => loadCluster().then((m) => ({ default: m.coredns })),
  'kube-proxy': () => loadCluster().then((m) => ({ default: m.kubeProxy })),
  kubelet: () => loadCluster().then((m) => ({ default: m.kubelet })),
}

/** Runs one command line; returns the exit code. */
export async function run(argv: readonly string[], io: CommandIO = processIO()): Promise<number> {
  const [name = '', ...rest] = argv
  if (name === '' || name === 'help' || name === '--help' || name === '-h') {
    if (name === '' || rest.length === 0) return name === '' ? overview(io) : help(io)
  }
  if (name === '--version') return run(['version'], io)
  if (name === '__complete') {
    const { complete } = await import('./complete.ts')
    for (const { word, about } of await complete(rest, commands, io)) io.out(`${word}${about ? `\t${about}` : ''}\n`)
    return 0
  }
  const wanted = name === 'help' ? (rest[0] as string) : name
  const load = Object.hasOwn(commands, wanted) ? commands[wanted] : undefined
  if (!load) {
    io.err(`unknown command ${JSON.stringify(wanted)} for "k8ts"${suggest(wanted, Object.keys(commands))}\nRun 'k8ts --help' for usage.\n`)
    return 1
  }
  const { default: command } = await load()
  try {
    const flags = parseFlags({ ...command.flags, help: { kind: 'bool', short: 'h', usage: 'help for this command' } }, name === 'help' ? ['--help'] : rest, {
      keepUnknown: command.passThrough === true,
      stopAtArgument: command.passThrough === true,
    })
    if (flags.bool('help')) {
      io.out(commandHelp(command))
      return 0
    }
    return await command.run(flags, io)
  } catch (e) {
    // By name: the cluster's code has classes of its own.
    const { name: kind, message } = e as Error
    if (kind === 'UsageError') {
      io.err(`Error: ${message}\nRun 'k8ts ${wanted} --help' for usage.\n`)
      return 1
    }
    if (kind === 'CommandError' || kind === 'PreflightError') {
      io.err(`${message}\n`)
      return 1
    }
    io.err(`${e instanceof Error ? (io.env.K8TS_DEBUG ? e.stack : e.message) : String(e)}\n`)
    return 1
  }
}

async function overview(io: CommandIO): Promise<number> {
  const { describeState } = await import('./state-overview.ts')
  io.out(await describeState(io))
  return 0
}

async function help(io: CommandIO): Promise<number> {
  const rows = await Promise.all(Object.entries(commands).map(async ([name, load]) => [name, (await load()).default.summary] as const))
  const width = Math.max(...rows.map(([n]) => n.length))
  io.out(`k8ts runs a Kubernetes v1.36 cluster on this machine.

Usage:
  k8ts [command]

Commands:
${rows.map(([n, s]) => `  ${n.padEnd(width)}  ${s}`).join('\n')}

Examples:
  k8ts up                      start the cluster and keep it in the foreground
  k8ts up --detach             start it in the background
  k8ts kubectl get nodes       upstream's kubectl with this cluster's kubeconfig

Use "k8ts [command] --help" for more about a command.
`)
  return 0
}

function commandHelp(c: Command): string {
  const flags = flagsUsage(c.flags)
  return `${c.summary}\n\nUsage:\n  k8ts ${c.usage}\n\nExamples:\n${c.examples
    .split('\n')
    .map((l) => `  ${l}`)
    .join('\n')}\n${flags ? `\nFlags:\n${flags}` : ''}`
}

function processIO(): CommandIO {
  let open = false
  return {
    out: (text) => {
      // Whoever read has seen enough: `k8ts up --detach | head -1`.
      if (!open)
        process.stdout.on('error', (e: NodeJS.ErrnoException) => {
          if (e.code !== 'EPIPE') throw e
        })
      open = true
      process.stdout.write(text)
    },
    err: (text) => void process.stderr.write(text),
    env: process.env,
    // A cluster in the background never opens these streams.
    get colors() {
      return process.stdout.isTTY === true && !process.env.NO_COLOR
    },
  }
}
