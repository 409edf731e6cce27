import { access, constants, statfs } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { Containerd } from '../containerd/containerd.ts'

/** A reason not to start, with what to do: printed as one line. */
export class PreflightError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PreflightError'
  }
}

const MIN_DISK_BYTES = 200 * 1024 * 1024

export async function checkDisk(dir: string): Promise<void> {
  const s = await statfs(dir)
  const free = s.bavail * s.bsize
  if (free < MIN_DISK_BYTES)
    throw new PreflightError(
      `${Math.floor(free / 1048576)} MB are free at ${dir}, at least ${MIN_DISK_BYTES / 1048576} MB are needed: make room, or choose another place with --data-dir`,
    )
}

/** @throws PreflightError when somebody listens there */
export async function checkPort(host: string, port: number, flag: string): Promise<void> {
  const listener = await tryListen(host, port)
  if (!(listener instanceof Error)) return new Promise((resolve) => listener.close(() => resolve()))
  const error: NodeJS.ErrnoException = listener
  if (error.code === 'EADDRINUSE')
    throw new PreflightError(`port ${port} of ${host} is taken by another program: stop it, or choose another port with --${flag}`)
  if (error.code === 'EACCES') throw new PreflightError(`port ${port} of ${host} needs more rights: choose one above 1023 with --${flag}`)
  throw new PreflightError(`cannot listen on ${host}:${port} (${error.code}): choose another address with --bind-address`)
}

/** A port that somebody listens on already, so that no other cluster chooses it: who serves there takes the listener's socket over. */
export interface HeldPort {
  readonly port: number
  /** Ends every connection until then. */
  readonly listener: Server
}

/** The first free port from `from` on, held from now on: between a look and a use, another start would find it free too. */
export async function holdFreePort(host: string, from: number): Promise<HeldPort> {
  for (let port = from; port < from + 100; port++) {
    const listener = await tryListen(host, port)
    if (!(listener instanceof Error)) return { port, listener }
  }
  throw new PreflightError(`no port from ${from} to ${from + 99} of ${host} is free`)
}

function tryListen(host: string, port: number): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', (e) => resolve(e))
    server.listen({ host, port, exclusive: true }, () => resolve(server))
  })
}

/** Which runtime `auto` means here, and why. */
export async function chooseRuntime(): Promise<{ runtime: 'cri' | 'simulated'; why: string }> {
  if (process.platform !== 'linux') return { runtime: 'simulated', why: `containers need Linux, this is ${process.platform}` }
  if (process.getuid?.() !== 0) return { runtime: 'simulated', why: 'containers need root' }
  const missing = await missingPackages()
  if (missing.length > 0) return { runtime: 'simulated', why: `not installed: ${missing.join(' ')} (apt-get install ${missing.join(' ')})` }
  const version = await Containerd.version()
  if (!version) return { runtime: 'simulated', why: 'containerd is not installed (apt-get install containerd runc containernetworking-plugins nftables)' }
  return { runtime: 'cri', why: `containerd ${version.text}` }
}

/** Whether Docker Hub answers within a moment: its name is known and its port open. */
export async function registryReachable(timeoutMs = 700): Promise<boolean> {
  const { connect } = await import('node:net')
  return new Promise((resolve) => {
    const socket = connect({ host: 'registry-1.docker.io', port: 443, timeout: timeoutMs })
    const done = (ok: boolean) => {
      socket.destroy()
      resolve(ok)
    }
    socket.once('connect', () => done(true))
    socket.once('timeout', () => done(false))
    socket.once('error', () => done(false))
  })
}

/** What containers need on the host. */
export interface HostNeed {
  /** A command, or a file by its path. */
  readonly what: string
  readonly debianPackage: string
  /** What makes it print its version. */
  readonly versionArgs?: readonly string[]
}

export const HOST_NEEDS: readonly HostNeed[] = [
  { what: 'containerd', debianPackage: 'containerd', versionArgs: ['--version'] },
  { what: 'runc', debianPackage: 'runc', versionArgs: ['--version'] },
  { what: 'nft', debianPackage: 'nftables', versionArgs: ['--version'] },
  { what: 'ip', debianPackage: 'iproute2' },
  { what: '/usr/lib/cni/bridge', debianPackage: 'containernetworking-plugins' },
]

/** Where a program is. @param path folders as in PATH; not asked for a name that is a path itself */
export async function findProgram(what: string, path = process.env.PATH ?? ''): Promise<string | undefined> {
  const candidates = what.startsWith('/')
    ? [what]
    : path
        .split(':')
        .filter((d) => d !== '')
        .map((d) => join(d, what))
  for (const candidate of candidates) {
    const there = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (there) return candidate
  }
  return undefined
}

async function missingPackages(): Promise<string[]> {
  const found = await Promise.all(HOST_NEEDS.map(({ what }) => findProgram(what)))
  return HOST_NEEDS.filter((_, i) => !found[i]).map((n) => n.debianPackage)
}
