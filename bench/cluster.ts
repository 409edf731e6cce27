import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const cli = join(import.meta.dirname, '../dist/cli.cjs')

/** Where a cluster is and as whom to speak to it. */
export interface Connection {
  host: string
  port: number
  ca: string
  cert: string
  key: string
}

export interface Started {
  dir: string
  pid: number
  connection: Connection
  /** From the call of the command to its end: the node is Ready. */
  upMs: number
  /** User and system time of the cluster's process until then. */
  cpuMs: number
  down(): void
}

export const scratch = (): string => mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'k8ts-bench-'))
export const remove = (dir: string): void => rmSync(dir, { recursive: true, force: true })

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Runs a command of k8ts to its end. @throws Error with what it printed */
export async function k8ts(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (out += text))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`k8ts ${args[0]} failed: ${out.trim()}`)
  return out
}

/** `k8ts up --detach` over a folder; the cluster runs until `down`. */
export async function up(dir: string, options: { runtime?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Started> {
  const port = await freePort()
  const start = performance.now()
  await k8ts(
    ['up', '--detach', '--runtime', options.runtime ?? 'simulated', '--no-merge-kubeconfig', '--data-dir', dir, '--secure-port', String(port)],
    options.env ?? process.env,
  )
  const upMs = performance.now() - start
  const { pid } = JSON.parse(await k8ts(['status', '--data-dir', dir, '-o', 'json'])) as { pid: number }
  const kubeconfig = readFileSync(join(dir, 'kubeconfig'), 'utf8')
  const data = (name: string) => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(kubeconfig)?.[1] ?? '', 'base64').toString()
  return {
    dir,
    pid,
    upMs,
    cpuMs: cpuMs(pid),
    connection: {
      host: '127.0.0.1',
      port,
      ca: data('certificate-authority-data'),
      cert: data('client-certificate-data'),
      key: data('client-key-data'),
    },
    down: () => void spawnSync(process.execPath, [cli, 'down', '--data-dir', dir]),
  }
}

/** User and system time of a process so far (Linux; elsewhere NaN). */
export function cpuMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

/** Resident memory of a process in MB (Linux; elsewhere NaN). */
export function residentMb(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** Memory of a process that is its own, without pages of mapped files, in KB (Linux; elsewhere NaN). */
export function ownKb(pid: number): number {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
