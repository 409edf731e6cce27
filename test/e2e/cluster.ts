import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { slowness } from '../walkthrough/runner.ts'

export interface ClusterOptions {
  runtime: 'real' | 'simulated'
  nodeName: string
  /** Of the command's dist/cli.js. */
  cli: string
  kubectl: string
  helm?: string
}

/** A cluster in a folder of its own, driven by the `k8ts` command as its reader does. */
export class TestCluster {
  readonly options: ClusterOptions
  readonly folder: string
  readonly dataDir: string
  /** What a page's commands find in their environment. */
  readonly env: Record<string, string>
  private port: number | undefined
  private etcdPort: number | undefined

  constructor(options: ClusterOptions) {
    this.options = options
    // Short: the sockets below it must fit into 108 bytes.
    this.folder = mkdtempSync(join(tmpdir(), 'k8e-'))
    this.dataDir = join(this.folder, 'd')
    const bin = join(this.folder, 'bin')
    mkdirSync(bin)
    script(join(bin, 'k8ts'), `exec ${process.execPath} ${options.cli} "$@"`)
    script(join(bin, 'kubectl'), `exec ${options.kubectl} "$@"`)
    if (options.helm) script(join(bin, 'helm'), `exec ${options.helm} "$@"`)
    this.env = {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: this.folder,
      K8TS_DATA_DIR: this.dataDir,
      KUBECONFIG: join(this.dataDir, 'kubeconfig'),
    }
  }

  async up(): Promise<void> {
    this.port ??= await freePort()
    this.etcdPort ??= await freePort()
    const runtime = this.options.runtime === 'real' ? ['--runtime', 'cri', '--demo-images'] : ['--runtime', 'simulated']
    const { code, output } = await this.run('k8ts', [
      'up',
      '--detach',
      '--no-merge-kubeconfig',
      '--secure-port',
      String(this.port),
      '--etcd-port',
      String(this.etcdPort),
      '--node-name',
      this.options.nodeName,
      ...runtime,
    ])
    if (code !== 0) throw new Error(`k8ts up ended with ${code}:\n${output}\n${this.log()}`)
  }

  /** Waits until Pods can be made and placed: the default account is there, and nothing keeps Pods off the node. */
  async settled(): Promise<void> {
    const end = performance.now() + 30_000 * slowness()
    for (;;) {
      const account = await this.run('kubectl', ['get', 'serviceaccount', 'default', '-o', 'name'])
      const taints = await this.run('kubectl', ['get', 'node', this.options.nodeName, '-o', 'jsonpath={.spec.taints}'])
      if (account.code === 0 && taints.code === 0 && taints.output === '') return
      if (performance.now() > end) throw new Error(`no Pod can be placed: ${account.output} ${taints.output}`)
      await new Promise((r) => setTimeout(r, 100))
    }
  }

  async down(): Promise<void> {
    const { code, output } = await this.run('k8ts', ['down'])
    if (code !== 0) throw new Error(`k8ts down ended with ${code}:\n${output}\n${this.log()}`)
  }

  get server(): string {
    return `https://127.0.0.1:${this.port}`
  }

  /** The ports a page's reader has, and those of this cluster. */
  portWords(): Record<string, string> {
    const state = JSON.parse(readFileSync(join(this.dataDir, 'state.json'), 'utf8')) as { securePort: number; etcdPort: number }
    return { '127.0.0.1:6443': `127.0.0.1:${state.securePort}`, '127.0.0.1:2379': `127.0.0.1:${state.etcdPort}` }
  }

  /** Process ids of the cluster and, with real containers, of its containerd. */
  async pids(): Promise<{ k8ts: number; containerd?: number }> {
    const { output } = await this.run('k8ts', ['status', '-o', 'json'])
    const s = JSON.parse(output) as { pid: number; containerdPid?: number }
    return { k8ts: s.pid, ...(s.containerdPid ? { containerd: s.containerdPid } : {}) }
  }

  /** The end of the cluster's own log. */
  log(lines = 40): string {
    try {
      return readFileSync(join(this.dataDir, 'k8ts.log'), 'utf8')
        .split('\n')
        .slice(-lines)
        .map((l) => l.slice(0, 300))
        .join('\n')
    } catch {
      return '(no log)'
    }
  }

  run(command: string, args: readonly string[], input?: string): Promise<{ code: number; output: string }> {
    return new Promise((resolve, reject) => {
      const child = spawn(join(this.folder, 'bin', command), args, { env: { ...process.env, ...this.env }, cwd: this.folder, stdio: ['pipe', 'pipe', 'pipe'] })
      let output = ''
      const take = (b: Buffer) => {
        output += b.toString()
      }
      child.stdout.on('data', take)
      child.stderr.on('data', take)
      child.stdin.on('error', () => {})
      child.stdin.end(input ?? '')
      child.once('error', reject)
      child.once('close', (code) => resolve({ code: code ?? 128, output }))
    })
  }

  async kubectl(...args: string[]): Promise<string> {
    const { code, output } = await this.run('kubectl', args)
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${output}`)
    return output
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function script(path: string, line: string): void {
  writeFileSync(path, `#!/bin/sh\n${line}\n`)
  chmodSync(path, 0o755)
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
