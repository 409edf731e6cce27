import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import { yielder } from '../../../base/yielder.ts'
import { SortedMap } from '../../sorted-map.ts'
import { MvccKV, type MvccOptions } from '../mvcc/mvcc-kv.ts'
import type { Row } from '../mvcc/row.ts'
import { EmbeddedBacking, FACT, readLeaseKey, readNumber, type ValueTransformer } from './embedded-backing.ts'
import { dropCommitRejections, durable, FORMAT_VERSION, type LmdbFile, openLmdbFile, StoreFileError } from './lmdb-file.ts'
import { lockFile } from './lock-file.ts'
import { decodeHead, decodeIndex, parseRecordKey, recordKey } from './record-codec.ts'

export interface EmbeddedOptions {
  /** A directory of the store's own; made when missing. */
  path: string
  clock: Clock
  transformer?: ValueTransformer
  /** New values are refused when less than this is free on the disk; what is left serves deletes. @default 32 MiB */
  reserveBytes?: number
  autoCompaction?: MvccOptions['autoCompaction']
}

const FILE = 'store.mdb'
const LOCK = 'store.lock'

interface Format {
  format: string
  version: number
  transformer: string
}

async function checkFormat(file: LmdbFile, transformer: string): Promise<void> {
  const bytes = file.facts.get(FACT.format)
  if (!bytes) {
    if (file.records.getStats && (file.records.getStats() as { entryCount: number }).entryCount > 0)
      throw new StoreFileError(file.path, 'it has no format record')
    const format: Format = { format: 'k8ts-store', version: FORMAT_VERSION, transformer }
    await durable([file.facts.put(FACT.format, Buffer.from(JSON.stringify(format)))])
    return
  }
  let format: Format
  try {
    format = JSON.parse(bytes.toString())
  } catch (e) {
    throw new StoreFileError(file.path, 'its format record is damaged', e)
  }
  if (format.format !== 'k8ts-store') throw new StoreFileError(file.path, 'it is not a store of this kind')
  if (format.version > FORMAT_VERSION)
    throw new StoreFileError(file.path, `it was written by a newer program (format ${format.version}, known is ${FORMAT_VERSION})`)
  if (format.transformer !== transformer)
    throw new StoreFileError(file.path, `its values were written by transformer ${JSON.stringify(format.transformer)}, not ${JSON.stringify(transformer)}`)
}

/** Reads all of a file that may be incomplete, so that damage shows now. */
async function verify(file: LmdbFile): Promise<void> {
  const tick = yielder()
  for (const { key, value } of file.records.getRange({})) {
    decodeHead(parseRecordKey(key), value)
    await tick()
  }
}

async function load(file: LmdbFile, options: EmbeddedOptions, unlock: () => void): Promise<MvccKV> {
  if (file.suspect) await verify(file)
  await checkFormat(file, options.transformer?.id ?? '')
  const compacted = readNumber(file.facts.get(FACT.compacted), 0)
  const swept = readNumber(file.facts.get(FACT.swept), 0)
  const checkpoint = readNumber(file.facts.get(FACT.checkpoint), 0)
  const tick = yielder()

  const found: Row[] = []
  let sorted = true
  for (const { key, value } of file.index.getRange({ start: '\0' })) {
    const row = decodeIndex(key as string, value)
    if (found.length > 0 && (found[found.length - 1] as Row).key >= row.key) sorted = false
    found.push(row)
    if (found.length % 256 === 0) await tick()
  }
  if (!sorted) found.sort((a, b) => (a.key < b.key ? -1 : 1))
  let rows = SortedMap.fromSorted(found)

  // What came after the checkpoint; an index that is newer in part only hears it again.
  let revision = Math.max(1, compacted, checkpoint)
  const dirty = new Map<string, Row | undefined>()
  for (const { key, value } of file.records.getRange({ start: recordKey(checkpoint + 1, 0) })) {
    const { type, row } = decodeHead(parseRecordKey(key), value)
    rows = type === 'put' ? rows.set(row) : rows.delete(row.key)
    dirty.set(row.key, type === 'put' ? row : undefined)
    revision = Math.max(revision, row.modRevision)
    await tick()
  }

  const leases: { id: bigint; ttlSeconds: number }[] = []
  for (const { key, value } of file.leases.getRange({})) leases.push({ id: readLeaseKey(key), ttlSeconds: readNumber(value, 1) })

  const backing = new EmbeddedBacking(
    file,
    { revision, rows, swept, dirty },
    { transformer: options.transformer, reserveBytes: options.reserveBytes ?? 32 * 1024 * 1024, unlock },
  )
  return new MvccKV({ clock: options.clock, ...(options.autoCompaction === undefined ? {} : { autoCompaction: options.autoCompaction }) }, backing, {
    revision,
    compactedRevision: compacted,
    rows,
    entries: [],
    leases,
  })
}

/**
 * Opens the store in a directory, or begins one. One process at a time: throws StoreLockedError when another has it, StoreFileError when
 * the file cannot be used.
 */
export async function openEmbeddedKV(options: EmbeddedOptions): Promise<MvccKV> {
  mkdirSync(options.path, { recursive: true, mode: 0o700 })
  const path = join(options.path, FILE)
  const release = lockFile(join(options.path, LOCK), options.path)
  const stopDropping = dropCommitRejections()
  const unlock = () => {
    stopDropping()
    release()
  }
  let file: LmdbFile | undefined
  try {
    file = openLmdbFile(path)
    chmodSync(path, 0o600)
    return await load(file, options, unlock)
  } catch (e) {
    await file?.root.close().catch(() => undefined)
    unlock()
    if (e instanceof StoreFileError) throw e
    throw new StoreFileError(path, e instanceof Error ? e.message : String(e), e)
  }
}
