import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Random } from '../../base/random.ts'

/** Where a cluster's keys and certificates are kept, by file name. */
export interface PkiStore {
  read(name: string): Promise<string | undefined>
  /** Afterwards the whole content is there, or what was before. @param secret readable by the owner alone */
  write(name: string, content: string, secret: boolean): Promise<void>
  /** Resolves when all that was written will survive a loss of power. */
  settled(): Promise<void>
}

export function memoryPkiStore(): PkiStore {
  const files = new Map<string, string>()
  return {
    read: async (name) => files.get(name),
    write: async (name, content) => void files.set(name, content),
    settled: async () => {},
  }
}

/**
 * A folder (made 0700); keys are 0600, certificates 0644; each file is replaced as a whole. A file that a loss of power left empty counts
 * as absent. The files are few and small: reading and writing them at once takes less than one turn of a thread.
 */
export function directoryPkiStore(dir: string, random: Random): PkiStore {
  const unsettled = new Set<string>()
  return {
    async read(name) {
      try {
        return readFileSync(join(dir, name), 'utf8') || undefined
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async write(name, content, secret) {
      const path = join(dir, name)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const mode = secret ? 0o600 : 0o644
      const temporary = join(dir, `${name}.${random.uuid().slice(0, 8)}.tmp`)
      try {
        writeFileSync(temporary, content, { mode, flag: 'wx' })
        chmodSync(temporary, mode)
        renameSync(temporary, path)
        unsettled.add(path)
      } catch (error) {
        rmSync(temporary, { force: true })
        throw error
      }
    },
    async settled() {
      const paths = [...unsettled]
      unsettled.clear()
      await Promise.all([...paths, ...new Set(paths.map(dirname))].map(sync))
    },
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
