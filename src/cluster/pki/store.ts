import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Random } from '../../base/random.ts'

/** Where a cluster's keys and certificates are kept, by file name. */
export interface PkiStore {
  read(name: string): Promise<string | undefined>
  /** Afterwards the whole content is there, or what was before. @param secret readable by the owner alone */
  write(name: string, content: string, secret: boolean): Promise<void>
}

export function memoryPkiStore(): PkiStore {
  const files = new Map<string, string>()
  return {
    read: async (name) => files.get(name),
    write: async (name, content) => void files.set(name, content),
  }
}

/** A folder (made 0700); keys are 0600, certificates 0644; each file is replaced as a whole and is on disk when written. */
export function directoryPkiStore(dir: string, random: Random): PkiStore {
  return {
    async read(name) {
      try {
        return await readFile(join(dir, name), 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async write(name, content, secret) {
      await mkdir(dirname(join(dir, name)), { recursive: true, mode: 0o700 })
      const mode = secret ? 0o600 : 0o644
      const temporary = join(dir, `${name}.${random.uuid().slice(0, 8)}.tmp`)
      try {
        const file = await open(temporary, 'wx', mode)
        try {
          await file.writeFile(content)
          await file.sync()
        } finally {
          await file.close()
        }
        await chmod(temporary, mode)
        await rename(temporary, join(dir, name))
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    },
  }
}
