import { spawn } from 'node:child_process'
import { mkdir, open } from 'node:fs/promises'
import type { FlagSpecs, ParsedFlags } from '../../../component-base/flags/index.ts'
import type { Command, CommandIO } from '../command.ts'
import { dataDirFlag, dataDirOf } from '../data-dir-flag.ts'
import { loadCluster, saveCompiledCode } from '../load-cluster.ts'

const flags: FlagSpecs = {
  ...dataDirFlag,
  detach: { kind: 'bool', short: 'd', usage: 'return when the node is Ready and leave the cluster in the background' },
  runtime: { kind: 'string', usage: 'auto, cri (real containers) or simulated', default: 'auto', values: ['auto', 'cri', 'simulated'] },
  'container-runtime-endpoint': { kind: 'string', usage: 'a CRI endpoint that runs already, instead of a private containerd', value: 'unix://…' },
  nodes: { kind: 'int', usage: 'number of nodes; those after the first are simulated', default: '1' },
  'bind-address': { kind: 'string', usage: 'address the API server listens on', default: '127.0.0.1' },
  'etcd-port': { kind: 'int', usage: 'port of etcd (default the first free one from 2379 on)', hidden: true },
  'secure-port': { kind: 'int', usage: 'port of the API server', default: '6443' },
  'node-name': { kind: 'string', usage: 'name of the first node (default the lower-case host name)' },
  'registry-mirror': { kind: 'array', usage: 'pull images of a registry from another place', value: 'HOST=URL' },
  'demo-images': { kind: 'bool', usage: "make nginx, busybox and the sandbox image from this machine's packages" },
  'skip-phases': { kind: 'list', usage: 'leave out parts of a cluster as kubeadm makes it: addon/coredns, addon/kube-proxy' },
  'no-merge-kubeconfig': { kind: 'bool', usage: 'leave ~/.kube/config alone' },
  v: { kind: 'int', short: 'v', usage: 'log verbosity', default: '0' },
  'ready-fd': { kind: 'int', usage: 'file descriptor progress is written to', hidden: true },
}

const command: Command = {
  usage: 'up [flags]',
  summary: 'start the cluster',
  examples: `k8ts up                       in the foreground, Ctrl-C stops it
k8ts up --detach              in the background
k8ts up --nodes 3             with two simulated nodes more
k8ts up --runtime simulated   without containers`,
  flags,
  run: async (f, io) => (f.bool('detach') ? detach(f, io) : (await loadCluster()).foreground(f, io, saveCompiledCode)),
}
export default command

/** Starts this same command in the background and shows its progress until the node is Ready. */
async function detach(f: ParsedFlags, io: CommandIO): Promise<number> {
  const dir = dataDirOf(f, io)
  await mkdir(dir.root, { recursive: true, mode: 0o700 })
  const log = await open(dir.log, 'a', 0o600)
  const argv = process.argv.slice(2).filter((a) => a !== '--detach' && a !== '-d' && !a.startsWith('--detach='))
  const entry = process.argv[1] as string
  const child = spawn(process.execPath, [...process.execArgv, entry, ...argv, '--ready-fd=3'], { detached: true, stdio: ['ignore', log.fd, log.fd, 'pipe'] })
  await log.close()
  const progress = child.stdio[3] as unknown as NodeJS.ReadableStream
  let text = ''
  let done: string | undefined
  const take = (chunk: string) => {
    text += chunk
    for (;;) {
      const end = text.indexOf('\n')
      if (end < 0) break
      const line = text.slice(0, end)
      text = text.slice(end + 1)
      if (line === 'READY') done = ''
      else if (line.startsWith('FAILED ')) done = JSON.parse(line.slice(7)) as string
      else io.out(`${line}\n`)
    }
  }
  progress.setEncoding('utf8')
  await new Promise<void>((resolve) => {
    progress.on('data', (chunk: string) => {
      take(chunk)
      if (done !== undefined) resolve()
    })
    progress.on('end', resolve)
    child.once('exit', () => resolve())
  })
  child.unref()
  ;(progress as unknown as { destroy(): void }).destroy()
  if (done === '') return 0
  io.err(`${done ?? `the cluster ended while it started: see ${dir.log}`}\n`)
  return 1
}
