import { execFile } from 'node:child_process'
import { readFile, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { checkDisk, checkPort, findProgram, HOST_NEEDS, PreflightError, registryReachable } from './preflight.ts'

/** What one look at the machine found. */
export interface Finding {
  what: string
  /** `limit`: a cluster runs, but something of it is not there; `fault`: none runs. */
  verdict: 'ok' | 'limit' | 'fault'
  detail: string
  /** What to do about it. */
  fix?: string
}

export interface Examination {
  /** Of the cluster that is or would be here. */
  dataDir: string
  /** Its own ports are taken by itself. */
  running: boolean
  bindAddress: string
  securePort: number
  nodeVersion: string
  /** Where programs are looked for, as in PATH. */
  path: string
}

const CGROUP2_MAGIC = 0x63677270
const CONTROLLERS = ['cpu', 'memory', 'pids'] as const
const TIMEOUT_MS = 5000
const execute = promisify(execFile)

/** Looks at all that `up` needs, one finding each, in the order in which one would mend them. Changes nothing. */
export async function examine(e: Examination): Promise<Finding[]> {
  const findings: Finding[] = [node(e.nodeVersion)]
  findings.push(...(await Promise.all([disk(e), port(e)])))
  findings.push(
    linux(),
    ...(process.platform === 'linux' ? [root(), await cgroups(), await overlay(), ...(await programs(e.path)), await packetFilter(e.path)] : []),
  )
  findings.push(...(await Promise.all([kubectl(e.path), registry()])))
  return findings
}

/** What of it decides: whether a cluster runs here, and whether with real containers. */
export function conclude(findings: readonly Finding[]): { cluster: boolean; containers: boolean } {
  const cluster = findings.every((f) => f.verdict !== 'fault')
  return { cluster, containers: cluster && findings.every((f) => f.verdict === 'ok' || !NEEDED_FOR_CONTAINERS.has(f.what)) }
}

const NEEDED_FOR_CONTAINERS: ReadonlySet<string> = new Set([
  'Linux',
  'root',
  'cgroups',
  'overlay file system',
  'packet filter',
  ...HOST_NEEDS.map((n) => n.what),
])

function node(version: string): Finding {
  const old = Number(version.split('.')[0]) < 20
  return old
    ? { what: 'Node.js', verdict: 'fault', detail: `${version} is too old`, fix: 'install Node.js 20 or later (https://nodejs.org)' }
    : { what: 'Node.js', verdict: 'ok', detail: version }
}

/** Of the folder, or of the nearest one above that is there. */
async function existing(dir: string): Promise<string> {
  for (let at = dir; ; at = dirname(at)) {
    if (await stat(at).catch(() => undefined)) return at
    if (at === dirname(at)) return at
  }
}

async function disk(e: Examination): Promise<Finding> {
  const dir = await existing(e.dataDir)
  try {
    await checkDisk(dir)
    const { bavail, bsize } = await statfs(dir)
    return { what: 'disk', verdict: 'ok', detail: `${(Math.floor((bavail * bsize) / 1e8) / 10).toFixed(1)} GB free at ${dir}` }
  } catch (error) {
    return fault('disk', error)
  }
}

async function port(e: Examination): Promise<Finding> {
  const what = `port ${e.securePort}`
  if (e.running) return { what, verdict: 'ok', detail: 'served by this cluster' }
  try {
    await checkPort(e.bindAddress, e.securePort, 'secure-port')
    return { what, verdict: 'ok', detail: `free on ${e.bindAddress}` }
  } catch (error) {
    return fault(what, error)
  }
}

/** A reason not to start says what to do behind its colon. */
function fault(what: string, error: unknown): Finding {
  const { message } = error as Error
  const at = message.lastIndexOf(': ')
  if (!(error instanceof PreflightError) || at < 0) return { what, verdict: 'fault', detail: message }
  return { what, verdict: 'fault', detail: message.slice(0, at), fix: message.slice(at + 2) }
}

function linux(): Finding {
  return process.platform === 'linux'
    ? { what: 'Linux', verdict: 'ok', detail: process.arch }
    : {
        what: 'Linux',
        verdict: 'limit',
        detail: `this is ${process.platform}: Pods are simulated`,
        fix: 'for real containers use a Linux machine or a virtual one',
      }
}

function root(): Finding {
  const uid = process.getuid?.()
  return uid === 0
    ? { what: 'root', verdict: 'ok', detail: 'yes' }
    : { what: 'root', verdict: 'limit', detail: `this is user ${uid}: Pods are simulated`, fix: 'for real containers run k8ts as root (sudo k8ts up)' }
}

async function cgroups(): Promise<Finding> {
  const what = 'cgroups'
  const type = await statfs('/sys/fs/cgroup').then(
    (s) => s.type,
    () => 0,
  )
  const version = type === CGROUP2_MAGIC ? 2 : 1
  const text = await readFile(version === 2 ? '/sys/fs/cgroup/cgroup.controllers' : '/proc/cgroups', 'utf8').catch(() => '')
  const there = new Set(
    version === 2
      ? text.trim().split(/\s+/)
      : text
          .split('\n')
          .map((line) => line.split('\t'))
          .flatMap(([name, , , enabled]) => (enabled === '1' ? [name] : [])),
  )
  const missing = CONTROLLERS.filter((c) => !there.has(c))
  if (missing.length === 0) return { what, verdict: 'ok', detail: `version ${version}, with ${CONTROLLERS.join(', ')}` }
  return {
    what,
    verdict: 'limit',
    detail: `version ${version}, without ${missing.join(', ')}`,
    fix: 'turn them on at boot (kernel parameters cgroup_enable=memory systemd.unified_cgroup_hierarchy=1)',
  }
}

async function overlay(): Promise<Finding> {
  const what = 'overlay file system'
  const known = await readFile('/proc/filesystems', 'utf8').catch(() => '')
  if (/\boverlay$/m.test(known)) return { what, verdict: 'ok', detail: 'known to the kernel' }
  return { what, verdict: 'limit', detail: 'not known to the kernel', fix: 'modprobe overlay' }
}

async function programs(path: string): Promise<Finding[]> {
  return Promise.all(
    HOST_NEEDS.map(async ({ what, debianPackage, versionArgs }): Promise<Finding> => {
      const found = await findProgram(what, path)
      if (!found) return { what, verdict: 'limit', detail: 'not installed: Pods are simulated', fix: `apt-get install ${debianPackage}` }
      const version = versionArgs && (await versionOf(found, versionArgs))
      return { what, verdict: 'ok', detail: version ? `${version} (${found})` : found }
    }),
  )
}

async function versionOf(program: string, args: readonly string[]): Promise<string | undefined> {
  const { stdout } = await execute(program, args, { timeout: TIMEOUT_MS }).catch(() => ({ stdout: '' }))
  return /v?\d+\.\d+(\.\d+)?\S*/.exec(stdout)?.[0]
}

/** The program may be there and the kernel's part not, as in some containers. */
async function packetFilter(path: string): Promise<Finding> {
  const what = 'packet filter'
  const nft = await findProgram('nft', path)
  if (!nft) return { what, verdict: 'limit', detail: 'nft is not installed', fix: 'apt-get install nftables' }
  if (process.getuid?.() !== 0) return { what, verdict: 'ok', detail: 'not asked: that needs root' }
  try {
    await execute(nft, ['list', 'tables'], { timeout: TIMEOUT_MS })
    return { what, verdict: 'ok', detail: 'the kernel answers' }
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr || (error as Error).message)
    return { what, verdict: 'limit', detail: said.split('\n')[0] as string, fix: 'modprobe nf_tables; in a container it needs the capability NET_ADMIN' }
  }
}

async function kubectl(path: string): Promise<Finding> {
  const found = await findProgram('kubectl', path)
  if (!found) return { what: 'kubectl', verdict: 'limit', detail: 'not on the PATH', fix: 'install it: https://kubernetes.io/docs/tasks/tools/' }
  const version = await versionOf(found, ['version', '--client'])
  return { what: 'kubectl', verdict: 'ok', detail: version ? `${version} (${found})` : found }
}

async function registry(): Promise<Finding> {
  const what = 'docker.io'
  if (await registryReachable()) return { what, verdict: 'ok', detail: 'reached' }
  return {
    what,
    verdict: 'limit',
    detail: "not reached: only the images made from this machine's packages are there",
    fix: 'give a mirror: k8ts up --registry-mirror docker.io=https://…',
  }
}
