import { closeSync, fstatSync, ftruncateSync, openSync, readSync, statfsSync, statSync } from 'node:fs'
import { type Database, type DatabaseOptions, open, type RootDatabase } from 'lmdb'

/** The file is none of ours, is damaged, or is of a version this program does not know. */
export class StoreFileError extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`the store file ${path} cannot be used: ${reason}`, cause === undefined ? undefined : { cause })
    this.name = 'StoreFileError'
  }
}

type Table = Database<Buffer, Buffer>

const PAGE_SIZE = 8192
/** Revisions, keys and the bytes of this layout; a change of it is a migration. */
export const FORMAT_VERSION = 1
const MAGIC = 0xbeefc0de

/** Offsets in each of LMDB's two header pages. */
const AT_MAGIC = 24
const AT_PAGE_SIZE = 48
const AT_LAST_PAGE = 144
const AT_TXN = 152
const HEADER_BYTES = 160

/**
 * Looks at the file's two headers before LMDB maps it. @returns whether the file is shorter than they say. That is possible without harm
 * (the last pages were never needed), but reading what is missing would end the process; so the file is filled up with zeros, which
 * LMDB refuses as pages.
 */
function checkHeader(path: string): boolean {
  let fd: number
  try {
    fd = openSync(path, 'r+')
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw new StoreFileError(path, (e as Error).message, e)
  }
  try {
    const { size } = fstatSync(fd)
    if (size === 0) return false
    const header = (start: number): Buffer => {
      const b = Buffer.alloc(HEADER_BYTES)
      if (readSync(fd, b, 0, HEADER_BYTES, start) < HEADER_BYTES || b.readUInt32LE(AT_MAGIC) !== MAGIC) {
        throw new StoreFileError(path, start === 0 ? 'it is not a store of this kind' : 'its header is damaged')
      }
      return b
    }
    const first = header(0)
    const pageSize = first.readUInt32LE(AT_PAGE_SIZE)
    if (pageSize < 512 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0) throw new StoreFileError(path, 'its header is damaged')
    const second = header(pageSize)
    const newest = first.readBigUInt64LE(AT_TXN) > second.readBigUInt64LE(AT_TXN) ? first : second
    const needed = (newest.readBigUInt64LE(AT_LAST_PAGE) + 1n) * BigInt(pageSize)
    if (needed > 2n ** 44n) throw new StoreFileError(path, 'its header is damaged')
    if (BigInt(size) >= needed) return false
    ftruncateSync(fd, Number(needed))
    return true
  } finally {
    closeSync(fd)
  }
}

/** The tables of a store file. Writes of one turn of the loop are one LMDB transaction. */
export interface LmdbFile {
  readonly path: string
  /** Every write that is kept. */
  readonly records: Table
  /** The newest record of each key, as of the checkpoint. */
  readonly index: Database<Buffer, string | Buffer>
  readonly facts: Table
  readonly leases: Table
  readonly root: RootDatabase<Buffer, Buffer>
  /** The file was shorter than its header says: everything in it is to be looked at once. */
  readonly suspect: boolean
}

export function openLmdbFile(path: string): LmdbFile {
  const suspect = checkHeader(path)
  const options = { encoding: 'binary' as const, keyEncoding: 'binary' as const }
  let root: RootDatabase<Buffer, Buffer>
  try {
    root = open<Buffer, Buffer>({ path, noSubdir: true, pageSize: PAGE_SIZE, maxDbs: 8, overlappingSync: false, ...options })
  } catch (e) {
    throw new StoreFileError(path, e instanceof Error ? e.message : String(e), e)
  }
  const table = (name: string) => root.openDB<Buffer, Buffer>({ name, ...options })
  // The package's own types lack a table's key encoder, which its documentation has.
  const texts: DatabaseOptions & { keyEncoder: typeof TEXT_KEYS } = { encoding: 'binary', keyEncoder: TEXT_KEYS }
  const index = root.openDB<Buffer, string | Buffer>('index', texts)
  return { path, suspect, root, records: table('records'), index, facts: table('facts'), leases: table('leases') }
}

/** Keys in UTF-8 that are read as texts: all of them are at every start, and buffers in between would cost more than the reading. */
const TEXT_KEYS = {
  writeKey(key: string | Uint8Array, target: Buffer, start: number): number {
    const bytes = typeof key === 'string' ? Buffer.from(key) : key
    // Throws when there is no room, for which its caller makes some; writing the text itself would cut it off.
    target.set(bytes, start)
    return start + bytes.length
  },
  readKey: (target: Buffer, start: number, end: number): string => target.toString('utf8', start, end),
}

/** Waits until writes of this turn are on the disk. Rejects with what the file said. */
export async function durable(writes: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  try {
    await Promise.all(new Set(writes))
  } catch (e) {
    throw await reasonOf(e)
  }
}

/** A failed commit carries its cause as a promise of its own, which must not stay unhandled. */
async function reasonOf(error: unknown): Promise<Error> {
  const cause = (error as { commitError?: unknown } | undefined)?.commitError
  if (cause instanceof Promise) {
    const told = await Promise.race([
      cause.then(
        () => undefined,
        (e: unknown) => e,
      ),
      new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined))),
    ])
    cause.catch(() => undefined)
    const text = told instanceof Error ? told.message : (error as Error).message
    return new Error(/ENOSPC|no space|MDB_MAP_FULL|space left/i.test(text) ? 'etcdserver: mvcc: database space exceeded' : `store commit failed: ${text}`, {
      cause: told ?? error,
    })
  }
  return error instanceof Error ? error : new Error(String(error))
}

/** Free bytes on the disk the file is on. */
export function freeBytes(file: LmdbFile): number {
  const { bavail, bsize } = statfsSync(file.path)
  return bavail * bsize
}

/**
 * LMDB makes one promise for each failed commit that nobody can reach, and an unhandled rejection ends the process. The failure itself
 * is told to whoever wrote. Until the returned function is called, such rejections are dropped; others go their usual way.
 */
export function dropCommitRejections(): () => void {
  const listener = (error: unknown) => {
    if ((error as { commitError?: unknown } | undefined)?.commitError !== undefined) return
    // Alone, this listener would hide what the platform treats as fatal.
    if (process.listenerCount('unhandledRejection') === 1) throw error
  }
  process.on('unhandledRejection', listener)
  return () => process.off('unhandledRejection', listener)
}

interface Stats {
  treeBranchPageCount: number
  treeLeafPageCount: number
  overflowPages: number
}

export function fileSize(file: LmdbFile): { totalBytes: number; usedBytes: number } {
  let pages = 2
  for (const table of [file.records, file.index, file.facts, file.leases]) {
    const stats = table.getStats() as Stats
    pages += stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages
  }
  return { totalBytes: statSync(file.path).size, usedBytes: pages * PAGE_SIZE }
}
