import { readFileSync, statfsSync } from 'node:fs'
import os from 'node:os'

/** What a node tells of the machine it is. */
export interface Machine {
  arch: string
  os: string
  cpus: number
  memoryBytes: number
  /** Of the file system the kubelet's root is on. */
  storageBytes: number
  swapBytes: number
  machineID: string
  systemUUID: string
  bootID: string
  kernelVersion: string
  osImage: string
  hugePages: Record<string, number>
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

const ARCH: Record<string, string> = { x64: 'amd64', arm64: 'arm64', arm: 'arm', ia32: '386', ppc64: 'ppc64le', s390x: 's390x', riscv64: 'riscv64' }

/** This machine. */
export function thisMachine(rootDir: string): Machine {
  const release = Object.fromEntries(
    read('/etc/os-release')
      .split('\n')
      .map((l) => /^([A-Z_]+)="?([^"]*)"?$/.exec(l))
      .filter((m) => m !== null)
      .map((m) => [m[1], m[2]]),
  )
  let storageBytes = 0
  try {
    const fs = statfsSync(rootDir)
    storageBytes = fs.blocks * fs.bsize
  } catch {
    try {
      const fs = statfsSync('/')
      storageBytes = fs.blocks * fs.bsize
    } catch {
      storageBytes = 0
    }
  }
  const swap = /^SwapTotal:\s+(\d+) kB/m.exec(read('/proc/meminfo'))
  const huge: Record<string, number> = {}
  for (const kb of [2048, 1_048_576]) {
    const n = read(`/sys/kernel/mm/hugepages/hugepages-${kb}kB/nr_hugepages`)
    if (n !== '') huge[kb === 2048 ? 'hugepages-2Mi' : 'hugepages-1Gi'] = Number(n) * kb * 1024
  }
  const machineID = read('/etc/machine-id') || read('/var/lib/dbus/machine-id')
  return {
    arch: ARCH[process.arch] ?? process.arch,
    os: process.platform === 'win32' ? 'windows' : process.platform,
    cpus: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    storageBytes,
    swapBytes: swap ? Number(swap[1]) * 1024 : 0,
    machineID,
    systemUUID: read('/sys/class/dmi/id/product_uuid') || machineID,
    bootID: read('/proc/sys/kernel/random/boot_id'),
    kernelVersion: os.release(),
    osImage: release['PRETTY_NAME'] ?? `${os.type()} ${os.release()}`,
    hugePages: huge,
  }
}

/** The address other machines would use: the first outer IPv4 address, else loopback's is all there is. */
export function firstAddress(): string {
  for (const list of Object.values(os.networkInterfaces())) {
    for (const a of list ?? []) if (a.family === 'IPv4' && !a.internal && !a.address.startsWith('169.254.')) return a.address
  }
  return '127.0.0.1'
}
