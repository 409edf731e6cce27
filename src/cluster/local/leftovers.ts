import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { systemMounter } from '../../kubelet/volumes/mounter.ts'
import type { DataDir } from './data-dir.ts'

const run = promisify(execFile)

/** Ends what a killed cluster left: its containerd, shims and their containers, and mounts below its folder. Returns how many processes there were. */
export async function removeLeftovers(dir: DataDir): Promise<number> {
  if (process.platform !== 'linux') return 0
  const pids = await processesOf(dir.containerd)
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
  await unmountBelow(dir.root)
  return pids.length
}

/** Takes away every mount below a folder: volumes in memory, and what sandboxes had. */
export async function unmountBelow(folder: string): Promise<void> {
  for (const path of await systemMounter().mountsBelow(folder)) if (path !== folder) await run('umount', ['-l', path]).catch(() => {})
}

/** containerd and shims that were started for this folder, and their descendants. */
async function processesOf(folder: string): Promise<number[]> {
  const parents = new Map<number, number>()
  const found = new Set<number>()
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const cmdline = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    parents.set(pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    if (/containerd/.test(cmdline) && (cmdline.includes(`${folder}/c.sock`) || cmdline.includes(`${folder}/config.toml`))) found.add(pid)
  }
  for (let grew = true; grew; ) {
    grew = false
    for (const [pid, parent] of parents) {
      if (!found.has(pid) && found.has(parent)) {
        found.add(pid)
        grew = true
      }
    }
  }
  found.delete(process.pid)
  return [...found]
}
