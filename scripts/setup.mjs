/**
 * Sets up what a clone needs: locked dependencies, the build, and, as root on Debian or Ubuntu, the packages that real containers need
 * (announced first; `--no-install` leaves the system alone). Says what it does and how long each step took.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, existsSync, lstatSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/** Debian packages by the command whose absence calls for them. */
const RUNTIME = {
  containerd: 'containerd',
  runc: 'runc',
  nft: 'nftables',
  ip: 'iproute2',
  iptables: 'iptables',
  conntrack: 'conntrack',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/bin/busybox': 'busybox-static',
  '/usr/sbin/nginx': 'nginx-light',
}
/** What tests want beside that. */
const TESTING = { etcd: 'etcd-server', etcdctl: 'etcd-client', curl: 'curl' }

export function step(name, work) {
  const start = performance.now()
  process.stdout.write(`${name} … `)
  const note = work()
  console.log(`${note ? `${note} ` : ''}(${Math.round(performance.now() - start)} ms)`)
}

const run = (cmd, args, options = {}) => {
  const r = spawnSync(cmd, args, { encoding: 'utf8', ...options })
  if (r.error) throw new Error(`${cmd}: ${r.error.message}`)
  if (r.status !== 0)
    throw new Error(
      `${cmd} ${args.join(' ')} failed (exit code ${r.status}):\n${`${r.stdout ?? ''}${r.stderr ?? ''}`.trim().split('\n').slice(-15).join('\n')}`,
    )
}

const present = (what) => {
  if (what.startsWith('/')) {
    try {
      accessSync(what)
      return true
    } catch {
      return false
    }
  }
  return (process.env.PATH ?? '')
    .split(':')
    .concat('/usr/sbin', '/sbin')
    .some((d) => d !== '' && existsSync(`${d}/${what}`))
}

export function installDependencies() {
  if (lstatSync('node_modules', { throwIfNoEntry: false })?.isSymbolicLink()) return
  const lock = 'node_modules/.package-lock.json'
  if (existsSync(lock) && statSync(lock).mtimeMs >= statSync('package-lock.json').mtimeMs - 1000) return
  step('installing the locked dependencies', () => run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts']))
}

export function build() {
  step('building', () => run(process.execPath, ['scripts/build.mjs', '--if-stale', '--no-types']))
}

/** @returns names of what is missing and was not installed */
export function installPackages({ install, testing = false }) {
  const wanted = { ...RUNTIME, ...(testing ? TESTING : {}) }
  const missing = [
    ...new Set(
      Object.entries(wanted)
        .filter(([what]) => !present(what))
        .map(([, name]) => name),
    ),
  ]
  if (missing.length === 0) return []
  const debian = existsSync('/etc/debian_version')
  if (process.platform !== 'linux' || !debian || process.getuid?.() !== 0 || !install) return missing
  console.log(`real containers need these packages of ${osName()}, which are installed now (--no-install leaves them out):\n  ${missing.join(' ')}`)
  step('installing packages', () => {
    // Packages that are servers must not start serving: containerd is run by the cluster, nginx only inside containers.
    const policy = '/usr/sbin/policy-rc.d'
    const own = !existsSync(policy)
    if (own) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
    try {
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
      run('apt-get', ['update', '-q'], { env })
      run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...missing], { env })
    } finally {
      if (own) rmSync(policy, { force: true })
    }
  })
  return []
}

function osName() {
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'this system'
}
