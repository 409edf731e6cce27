import { promises as fs } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock, Random } from '../../base/index.ts'

export interface ProjectedFile {
  data: Uint8Array
  mode: number
  /** Owner, when it is not the kubelet's user. */
  uid?: number
}

/** Relative paths to files. */
export type Payload = Map<string, ProjectedFile>

const DATA = '..data'

/**
 * Writes a set of files so that a reader sees either all old or all new ones: they live in a folder of their own, `..data` points to it,
 * and each visible name is a link through `..data`. Nothing is touched when nothing changed.
 * @returns whether anything was written
 */
export async function writeAtomically(folder: string, payload: Payload, context: { clock: Clock; random: Random; gid?: number }): Promise<boolean> {
  for (const path of payload.keys()) checkPath(path)
  const current = await fs.readlink(join(folder, DATA)).catch(() => undefined)
  if (current !== undefined && !current.includes('/') && (await isSame(join(folder, current), payload, context.gid))) return false

  const t = new Date(context.clock.now()).toISOString()
  const stamp = `${t.slice(0, 4)}_${t.slice(5, 7)}_${t.slice(8, 10)}_${t.slice(11, 13)}_${t.slice(14, 16)}_${t.slice(17, 19)}`
  const name = `..${stamp}.${context.random.int(4_294_967_295)}`
  const dir = join(folder, name)
  await fs.mkdir(dir, { mode: 0o755 })
  await fs.chmod(dir, 0o755)
  for (const [path, file] of payload) {
    const target = join(dir, path)
    await fs.mkdir(dirname(target), { recursive: true, mode: 0o755 })
    await fs.writeFile(target, file.data, { mode: file.mode })
    await fs.chmod(target, file.mode)
    if (file.uid !== undefined || context.gid !== undefined) await fs.chown(target, file.uid ?? process.getuid?.() ?? 0, context.gid ?? process.getgid?.() ?? 0)
  }
  if (context.gid !== undefined) await setGroup(dir, context.gid)

  const temporary = join(folder, '..data_tmp')
  await fs.rm(temporary, { force: true })
  await fs.symlink(name, temporary)
  await fs.rename(temporary, join(folder, DATA))

  const visible = new Set([...payload.keys()].map((p) => p.split('/')[0] as string))
  for (const top of visible) {
    const link = join(folder, top)
    if ((await fs.readlink(link).catch(() => undefined)) === undefined) await fs.symlink(join(DATA, top), link)
  }
  for (const entry of await fs.readdir(folder)) {
    if (entry.startsWith('..') ? entry !== DATA && entry !== name : !visible.has(entry)) await fs.rm(join(folder, entry), { recursive: true, force: true })
  }
  return true
}

function checkPath(path: string): void {
  const parts = path.split('/')
  if (path === '' || path.length > 4096 || path.startsWith('/') || parts.some((p) => p === '..' || p === '' || p.length > 255) || path.startsWith('..')) {
    throw new Error(`invalid path: ${JSON.stringify(path)}`)
  }
}

async function setGroup(dir: string, gid: number): Promise<void> {
  await fs.chown(dir, process.getuid?.() ?? 0, gid)
  await fs.chmod(dir, 0o2775)
  for (const e of await fs.readdir(dir, { withFileTypes: true })) if (e.isDirectory()) await setGroup(join(dir, e.name), gid)
}

async function isSame(dir: string, payload: Payload, gid: number | undefined): Promise<boolean> {
  const found = new Set<string>()
  const walk = async (sub: string): Promise<boolean> => {
    for (const e of await fs.readdir(join(dir, sub), { withFileTypes: true })) {
      const path = sub === '' ? e.name : `${sub}/${e.name}`
      if (e.isDirectory()) {
        if (!(await walk(path))) return false
        continue
      }
      const want = payload.get(path)
      if (!want) return false
      const stat = await fs.stat(join(dir, path))
      if ((stat.mode & 0o777) !== (want.mode & 0o777) || stat.size !== want.data.length || (gid !== undefined && stat.gid !== gid)) return false
      if (!(await fs.readFile(join(dir, path))).equals(want.data)) return false
      found.add(path)
    }
    return true
  }
  try {
    return (await walk('')) && found.size === payload.size
  } catch {
    return false
  }
}
