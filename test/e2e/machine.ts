import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { arch, release } from 'node:os'

/** What the pages say about the machine they were written on, and what it is on this one. */
export function machineWords(): Record<string, string> {
  const os = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(read('/etc/os-release'))?.[1] ?? ''
  const goArch = arch() === 'x64' ? 'amd64' : arch()
  const words: Record<string, string> = {
    'Debian GNU/Linux 12 (bookworm)': os,
    '6.1.0-37-amd64 (amd64)': `${release()} (${goArch})`,
  }
  const containerd = containerdVersion()
  if (containerd) words['1.6.20~ds1'] = containerd
  return words
}

function containerdVersion(): string | undefined {
  try {
    return /containerd\/containerd v?(\S+)/.exec(execFileSync('containerd', ['--version'], { encoding: 'utf8' }))?.[1]
  } catch {
    return undefined
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
