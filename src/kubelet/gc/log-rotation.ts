import { createReadStream, createWriteStream, promises as fs } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Clock } from '../../base/index.ts'
import type { ContainerRuntime } from '../runtime/runtime.ts'

export interface LogRotationOptions {
  runtime: ContainerRuntime
  clock: Clock
  /** @default 10 MiB */
  maxBytes?: number
  /** Files of a container, the one in use included. @default 5 */
  maxFiles?: number
}

/** Rotates the logs of running containers that have grown too large: rename, let the runtime reopen, compress what is older. */
export async function rotateLogs(o: LogRotationOptions): Promise<void> {
  const { runtime, clock, maxBytes = 10 * 1024 * 1024, maxFiles = 5 } = o
  for (const c of await runtime.listContainers({ state: 'RUNNING' })) {
    if ((runtime.route?.(c.id) ?? runtime).logs) continue
    const { logPath } = await runtime.containerStatus(c.id)
    const stat = await fs.stat(logPath).catch(() => undefined)
    if (!stat) {
      // A rotation that was cut short left no file: have it made again.
      if (logPath !== '' && (await fs.stat(dirname(logPath)).catch(() => undefined))) await runtime.reopenContainerLog(c.id).catch(() => {})
      continue
    }
    if (stat.size < maxBytes) continue
    await rotate(runtime, c.id, logPath, clock, maxFiles)
  }
}

async function rotate(runtime: ContainerRuntime, id: string, path: string, clock: Clock, maxFiles: number): Promise<void> {
  const dir = dirname(path)
  const prefix = `${basename(path)}.`
  let old: string[] = []
  for (const name of (await fs.readdir(dir)).filter((n) => n.startsWith(prefix)).sort()) {
    if (name.endsWith('.tmp')) await fs.rm(join(dir, name), { force: true })
    else old.push(name)
  }
  const excess = old.length - (maxFiles - 2)
  for (const name of old.slice(0, Math.max(0, excess))) await fs.rm(join(dir, name), { force: true })
  old = old.slice(Math.max(0, excess))
  for (const name of old) if (!name.endsWith('.gz')) await compress(join(dir, name))
  const t = new Date(clock.now()).toISOString()
  const stamp = `${t.slice(0, 4)}${t.slice(5, 7)}${t.slice(8, 10)}-${t.slice(11, 13)}${t.slice(14, 16)}${t.slice(17, 19)}`
  const rotated = `${path}.${stamp}`
  await fs.rename(path, rotated)
  try {
    await runtime.reopenContainerLog(id)
  } catch (error) {
    await fs.rename(rotated, path).catch(() => {})
    throw error
  }
}

async function compress(path: string): Promise<void> {
  const temporary = `${path}.tmp`
  await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode: 0o640 }))
  await fs.rename(temporary, `${path}.gz`)
  await fs.rm(path, { force: true })
}
