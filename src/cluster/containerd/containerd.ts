import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock } from '../../base/index.ts'
import type { Logger } from '../../component-base/index.ts'
import { SANDBOX_IMAGE } from '../images/demo-images.ts'
import { replaceFile } from '../local/data-dir.ts'
import { cniConfig, containerdConfig, hostsToml } from './config.ts'

const run = promisify(execFile)

export interface ContainerdOptions {
  /** Own folder of the instance; short. */
  dir: string
  clock: Clock
  log: Logger
  podCIDR: string
  bridge: string
  /** Address of the streaming server. @default '127.0.0.1' */
  streamAddress?: string
  /** @default '/usr/lib/cni' */
  cniBinDir?: string
}

export interface RegistryMirror {
  registry: string
  urls: readonly string[]
  /** Never ask the registry itself. */
  only: boolean
}

const READY_TIMEOUT_MS = 20_000
const RESTART_DELAY_MS = 250
const MAX_RESTART_DELAY_MS = 30_000

/** A containerd of this cluster's own, kept running as a child process: started again when it dies. */
export class Containerd {
  readonly endpoint: string
  private readonly options: ContainerdOptions
  private child: ChildProcess | undefined
  private stopping = false
  private exited: Promise<void> = Promise.resolve()
  private restarts = 0
  /** Restarts in a row that did not come to answer. */
  private failures = 0

  constructor(options: ContainerdOptions) {
    this.options = options
    this.endpoint = `unix://${options.dir}/c.sock`
    if (Buffer.byteLength(options.dir) > 80)
      throw new Error(`the folder ${options.dir} is too long for containerd's sockets: give a shorter --data-dir (at most 70 characters)`)
  }

  get pid(): number | undefined {
    return this.child?.pid
  }

  /** Major version of the containerd on PATH; undefined when there is none. */
  static async version(): Promise<{ major: number; text: string } | undefined> {
    try {
      const { stdout } = await run('containerd', ['--version'])
      const text = /v?(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1] ?? ''
      return { major: Number(text.split('.')[0]), text }
    } catch {
      return undefined
    }
  }

  async setMirrors(mirrors: readonly RegistryMirror[]): Promise<void> {
    for (const m of mirrors) {
      const dir = join(this.options.dir, 'certs', m.registry)
      await mkdir(dir, { recursive: true })
      await replaceFile(join(dir, 'hosts.toml'), hostsToml(m.registry, m.urls, m.only))
    }
  }

  /** Writes the Pod network; a change takes effect for Pods made from then on. */
  async setPodCIDR(podCIDR: string): Promise<void> {
    const dir = join(this.options.dir, 'cni/conf')
    await mkdir(dir, { recursive: true })
    const path = join(dir, '10-k8ts.conflist')
    const text = cniConfig(this.options.dir, podCIDR, this.options.bridge)
    if ((await readFile(path, 'utf8').catch(() => '')) !== text) await replaceFile(path, text)
  }

  /** Writes the configuration and starts the process; resolves when its socket is there. */
  async start(): Promise<void> {
    const { dir } = this.options
    const [version] = await Promise.all([
      Containerd.version(),
      ...['root', 'state', 'certs'].map((d) => mkdir(join(dir, d), { recursive: true, mode: 0o711 })),
      this.setPodCIDR(this.options.podCIDR),
      this.endStray(),
    ])
    if (!version) throw new Error('containerd is not installed')
    const paths = {
      dir,
      cniBinDir: this.options.cniBinDir ?? '/usr/lib/cni',
      sandboxImage: SANDBOX_IMAGE,
      streamAddress: this.options.streamAddress ?? '127.0.0.1',
    }
    await writeFile(join(dir, 'config.toml'), containerdConfig(paths, version.major), { mode: 0o600 })
    await this.spawn()
  }

  /** Ends the process; containers and their shims go on. */
  async stop(): Promise<void> {
    this.stopping = true
    this.child?.kill('SIGTERM')
    const killer = this.options.clock.setTimeout(() => this.child?.kill('SIGKILL'), 5000)
    await this.exited
    killer.cancel()
    await rm(join(this.options.dir, 'pid'), { force: true })
  }

  /** A containerd of this folder that outlived its k8ts would hold the database's lock. */
  private async endStray(): Promise<void> {
    const pid = Number(await readFile(join(this.options.dir, 'pid'), 'utf8').catch(() => '0'))
    if (pid > 1 && (await isOurs(pid, this.options.dir))) {
      process.kill(pid, 'SIGKILL')
      for (let i = 0; i < 200 && (await isOurs(pid, this.options.dir)); i++) await this.options.clock.sleep(10)
    }
  }

  private async spawn(): Promise<void> {
    const { dir, log } = this.options
    // A socket left by a killed instance would refuse connections and make clients back off.
    await rm(join(dir, 'c.sock'), { force: true })
    const out = await open(join(dir, 'containerd.log'), 'a', 0o600)
    const child = spawn('containerd', ['-c', join(dir, 'config.toml')], { stdio: ['ignore', out.fd, out.fd], cwd: dir })
    this.child = child
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        void out.close()
        resolve()
        if (this.stopping) return
        this.restarts++
        log.warn('containerd ended; starting it again', { code, signal, restarts: this.restarts })
        this.again()
      })
      child.once('error', (e) => {
        log.error('containerd', { error: String(e) })
        resolve()
        // What could not be started at all has no exit to follow.
        if (child.pid === undefined) this.again()
      })
    })
    if (child.pid) await writeFile(join(dir, 'pid'), String(child.pid))
    await this.ready(child)
  }

  /** Starts it again after a while: longer each time it did not come to answer. */
  private again(): void {
    if (this.stopping) return
    const { clock, log } = this.options
    const delay = Math.min(RESTART_DELAY_MS * 2 ** this.failures, MAX_RESTART_DELAY_MS)
    this.failures++
    clock.setTimeout(() => {
      if (this.stopping) return
      const { child } = this
      this.spawn().then(
        () => {
          this.failures = 0
        },
        (e) => {
          log.error('containerd does not answer after its restart', { error: String(e) })
          // A child that ends tells so itself; without one nobody would.
          if (this.child === child) this.again()
        },
      )
    }, delay)
  }

  private async ready(child: ChildProcess): Promise<void> {
    const { dir, clock } = this.options
    const { connect } = await import('node:net')
    for (const start = clock.monotonic(); ; ) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`containerd ended at once (exit code ${child.exitCode ?? child.signalCode}): see ${dir}/containerd.log`)
      const answered = await new Promise<boolean>((resolve) => {
        const socket = connect(join(dir, 'c.sock'))
        socket.once('connect', () => {
          socket.destroy()
          resolve(true)
        })
        socket.once('error', () => resolve(false))
      })
      if (answered) return
      if (clock.monotonic() - start > READY_TIMEOUT_MS)
        throw new Error(`containerd did not open its socket within ${READY_TIMEOUT_MS / 1000} s: see ${dir}/containerd.log`)
      await clock.sleep(5)
    }
  }
}

/** The process is a containerd of this folder (pids are reused). */
async function isOurs(pid: number, dir: string): Promise<boolean> {
  const cmdline = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return cmdline.includes('containerd') && cmdline.includes(`${dir}/config.toml`)
}
