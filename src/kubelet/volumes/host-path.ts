import { promises as fs } from 'node:fs'
import type { HostPathVolumeSource } from '../../api/core/v1/types.generated.ts'

/** Checks, and for the `…OrCreate` types makes, what a hostPath volume points at. Throws with upstream's text. */
export async function prepareHostPath(source: HostPathVolumeSource): Promise<void> {
  const { path, type = '' } = source
  if (type === '') return
  if (path.split('/').includes('..')) throw new Error(`path must not contain '..': ${path}`)
  let stat = await fs.stat(path).catch(() => undefined)
  if (type === 'DirectoryOrCreate' && !stat) {
    await fs.mkdir(path, { recursive: true, mode: 0o755 })
    stat = await fs.stat(path)
  }
  if (type === 'FileOrCreate' && !stat) {
    await (await fs.open(path, 'a', 0o644)).close()
    stat = await fs.stat(path)
  }
  const checks: Record<string, [boolean | undefined, string]> = {
    DirectoryOrCreate: [stat?.isDirectory(), 'a directory'],
    Directory: [stat?.isDirectory(), 'a directory'],
    FileOrCreate: [stat?.isFile(), 'a file'],
    File: [stat?.isFile(), 'a file'],
    Socket: [stat?.isSocket(), 'a socket file'],
    CharDevice: [stat?.isCharacterDevice(), 'a character device'],
    BlockDevice: [stat?.isBlockDevice(), 'a block device'],
  }
  const check = checks[type]
  if (!check) throw new Error(`hostPath type check failed: ${type} is an invalid volume type`)
  if (!check[0]) throw new Error(`hostPath type check failed: ${path} is not ${check[1]}`)
}
