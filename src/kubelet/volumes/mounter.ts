import { execFile } from 'node:child_process'
import { constants, promises as fs } from 'node:fs'
import { dirname, join } from 'node:path'

/** The mounts a kubelet makes on its host. */
export interface Mounter {
  /** Memory behind a folder. @param sizeBytes undefined: the system's default */
  tmpfs(path: string, sizeBytes: number | undefined): Promise<void>
  bind(source: string, target: string): Promise<void>
  unmount(path: string): Promise<void>
  /** Mount points at or below a folder, deepest first. */
  mountsBelow(path: string): Promise<string[]>
}

const run = (command: string, args: string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 30_000 }, (error, _out, stderr) =>
      error ? reject(new Error(`${command} failed: ${stderr.trim() || error.message}`)) : resolve(),
    )
  })

/** By the system's own tools; needs root on Linux. */
export function systemMounter(): Mounter {
  return {
    tmpfs: (path, size) => run('mount', ['-t', 'tmpfs', ...(size === undefined ? [] : ['-o', `size=${size}`]), 'tmpfs', path]),
    bind: (source, target) => run('mount', ['--no-canonicalize', '--bind', source, target]),
    unmount: (path) => run('umount', [path]),
    mountsBelow: async (path) => {
      const table = await fs.readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
      const out: string[] = []
      for (const line of table.split('\n')) {
        const at = line.split(' ')[4]?.replace(/\\([0-7]{3})/g, (_, o: string) => String.fromCharCode(Number.parseInt(o, 8)))
        if (at !== undefined && (at === path || at.startsWith(`${path}/`))) out.push(at)
      }
      return out.sort((a, b) => b.length - a.length)
    },
  }
}

/**
 * A path inside a volume, safe against links that lead out of it: each part is opened without following links, relative to the one before. Missing
 * folders are made. With a mounter the result is bound to `target`, so that later changes to the volume cannot redirect it.
 */
export async function bindSubPath(volume: string, subPath: string, target: string, mounter: Mounter | undefined): Promise<string> {
  const parts = subPath.split('/').filter((p) => p !== '' && p !== '.')
  if (subPath.startsWith('/') || parts.includes('..')) throw new Error(`invalid subPath ${JSON.stringify(subPath)}`)
  let handle = await fs.open(volume, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    for (const [i, part] of parts.entries()) {
      const here = `/proc/self/fd/${handle.fd}/${part}`
      const stat = await fs.lstat(here).catch(() => undefined)
      if (!stat) await fs.mkdir(here, { mode: 0o750 })
      else if (stat.isSymbolicLink()) {
        // Links are allowed as long as they stay inside; then the real path is walked instead.
        const real = await fs.realpath(here)
        const root = await fs.realpath(volume)
        if (real !== root && !real.startsWith(`${root}/`)) throw new Error(`subPath ${JSON.stringify(subPath)} leads out of the volume`)
        return await bindSubPath(root, [...real.slice(root.length + 1).split('/'), ...parts.slice(i + 1)].filter((p) => p !== '').join('/'), target, mounter)
      } else if (!stat.isDirectory() && i < parts.length - 1) throw new Error(`subPath ${JSON.stringify(subPath)}: ${part} is not a directory`)
      const next = await fs.open(here, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      await handle.close()
      handle = next
    }
    if (!mounter) return join(volume, ...parts)
    if ((await mounter.mountsBelow(target)).includes(target)) return target
    await fs.mkdir(dirname(target), { recursive: true, mode: 0o750 })
    if ((await handle.stat()).isDirectory()) await fs.mkdir(target, { recursive: true, mode: 0o750 })
    else await fs.writeFile(target, '', { flag: 'a', mode: 0o640 })
    await mounter.bind(`/proc/${process.pid}/fd/${handle.fd}`, target)
    return target
  } finally {
    await handle.close()
  }
}
