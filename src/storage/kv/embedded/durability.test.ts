import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { EmbeddedBacking, type ValueTransformer } from './embedded-backing.ts'
import { openEmbeddedKV } from './embedded-kv.ts'
import { StoreFileError } from './lmdb-file.ts'
import { StoreLockedError } from './lock-file.ts'

const root = mkdtempSync(join(tmpdir(), 'k8ts-durability-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const text = (b: Uint8Array | undefined) => (b ? Buffer.from(b).toString() : undefined)
const open = (path: string, more: { transformer?: ValueTransformer } = {}) =>
  openEmbeddedKV({ path, clock: new VirtualClock(), autoCompaction: false, ...more })
const put = (key: string, value: string | Buffer) => ({ success: [{ op: 'put' as const, key, value: Buffer.from(value) }] })

/** Writes in a child process until `acknowledged` lines were seen, then kills it without warning. */
async function writeAndKill(path: string, acknowledged: number): Promise<{ revision: number; key: string }[]> {
  const script = fileURLToPath(new URL('../testing/crash-writer.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, path], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let errors = ''
  child.stderr.on('data', (d) => (errors += d))
  let lines = 0
  child.stdout.on('data', (d: Buffer) => {
    out += d
    for (const byte of d) if (byte === 10) lines++
    if (lines > acknowledged) child.kill('SIGKILL')
  })
  await new Promise((resolve) => child.on('close', resolve))
  expect(errors).toBe('')
  // The last line may be cut.
  return out
    .split('\n')
    .slice(1, -1)
    .map((line) => ({ revision: Number(line.slice(0, line.indexOf(' '))), key: line.slice(line.indexOf(' ') + 1) }))
}

describe('durability of the embedded store', () => {
  it('keeps every acknowledged write, whole, when its process is killed', { timeout: 60_000 }, async () => {
    const path = join(root, 'crash')
    let revision = 1
    for (let round = 0; round < 4; round++) {
      const written = await writeAndKill(path, 300 + round * 400)
      expect(written.length).toBeGreaterThan(200)
      const kv = await open(path)
      expect(kv.revision).toBeGreaterThanOrEqual(Math.max(revision, ...written.map((w) => w.revision)))
      for (const w of written) {
        const found = await kv.get(w.key)
        expect(found?.modRevision).toBe(w.revision)
        expect(text(found?.value)?.startsWith(`${w.key}:xxx`)).toBe(true)
      }
      const pairs = await kv.range({ key: '/crash/pair/', end: '/crash/pair0' })
      for (const pair of pairs.kvs) {
        const twin = await kv.get(pair.key.replace('pair', 'twin'))
        expect(text(twin?.value)).toBe(text(pair.value))
        expect(twin?.modRevision).toBe(pair.modRevision)
      }
      const before = kv.revision
      expect((await kv.txn(put('after', 'crash'))).revision).toBe(before + 1)
      revision = kv.revision
      await kv.close()
    }
  })

  it('refuses a second opener, and takes over from a dead one', async () => {
    const path = join(root, 'lock')
    const kv = await open(path)
    await expect(open(path)).rejects.toBeInstanceOf(StoreLockedError)
    await kv.close()
    writeFileSync(join(path, 'store.lock'), JSON.stringify({ pid: process.pid, birth: 'another boot/1' }))
    const again = await open(path)
    await again.close()
    expect(existsSync(join(path, 'store.lock'))).toBe(false)
  })

  it('refuses files that are none of ours, damaged, newer, or of another transformer', async () => {
    const path = join(root, 'broken')
    mkdirSync(path)
    writeFileSync(join(path, 'store.mdb'), 'hello')
    await expect(open(path)).rejects.toThrow(/the store file .*store\.mdb cannot be used: it is not a store of this kind/)
    writeFileSync(join(path, 'store.mdb'), Buffer.alloc(100_000, 7))
    await expect(open(path)).rejects.toBeInstanceOf(StoreFileError)
    const good = join(root, 'good')
    const kv = await open(good)
    for (let i = 0; i < 300; i++) await kv.txn(put(`k${i}`, 'x'.repeat(1500)))
    await kv.close()
    await expect(open(good, { transformer: { id: 'aes', encode: (_, v) => v, decode: (_, v) => v } })).rejects.toThrow(
      'its values were written by transformer "", not "aes"',
    )
    const cut = join(root, 'cut')
    cpSync(good, cut, { recursive: true })
    truncateSync(join(cut, 'store.mdb'), Math.floor(statSync(join(cut, 'store.mdb')).size / 2 / 8192) * 8192)
    await expect(open(cut)).rejects.toBeInstanceOf(StoreFileError)
    const fine = await open(good)
    expect((await fine.range({ key: 'k', end: 'l' })).count).toBe(300)
    await fine.close()
  })

  it('passes values through the transformer, both ways', async () => {
    const path = join(root, 'transformed')
    const flip = (_: string, v: Uint8Array) => Buffer.from(v.map((b) => b ^ 0xff))
    const transformer = { id: 'flip', encode: flip, decode: flip }
    const kv = await open(path, { transformer })
    await kv.txn(put('a', 'secret-value'))
    await kv.close()
    expect(readFileSync(join(path, 'store.mdb')).includes('secret-value')).toBe(false)
    const again = await open(path, { transformer })
    expect(text((await again.get('a'))?.value)).toBe('secret-value')
    await again.close()
  })

  it('rejects what could not be stored, goes on reading, and recovers', async () => {
    const path = join(root, 'full')
    const kv = await open(path)
    await kv.txn(put('a', '1'))
    const commit = EmbeddedBacking.prototype.commit
    EmbeddedBacking.prototype.commit = () => Promise.reject(new Error('etcdserver: mvcc: database space exceeded'))
    try {
      const results = await Promise.allSettled([kv.txn(put('a', '2')), kv.txn(put('b', '2'))])
      expect(results.map((r) => (r.status === 'rejected' ? r.reason.message : r.status))).toEqual(Array(2).fill('etcdserver: mvcc: database space exceeded'))
    } finally {
      EmbeddedBacking.prototype.commit = commit
    }
    expect(text((await kv.get('a'))?.value)).toBe('1')
    expect(await kv.get('b')).toBeUndefined()
    expect((await kv.txn(put('b', '3'))).revision).toBe(3)
    await kv.close()
    const again = await open(path)
    expect(text((await again.get('b'))?.value)).toBe('3')
    await again.close()
  })

  it('takes nothing new when the disk is nearly full, but still deletes', async () => {
    const path = join(root, 'nearly-full')
    const kv = await open(path)
    await kv.txn(put('a', '1'))
    await kv.close()
    const full = await openEmbeddedKV({ path, clock: new VirtualClock(), reserveBytes: Number.MAX_SAFE_INTEGER })
    await expect(full.txn(put('b', '1'))).rejects.toThrow('etcdserver: mvcc: database space exceeded')
    expect(text((await full.get('a'))?.value)).toBe('1')
    expect((await full.txn({ success: [{ op: 'delete', key: 'a' }] })).revision).toBe(3)
    await full.compact(3)
    await full.close()
  })

  it('does not grow without end: compaction gives pages back, and survives a reopen', async () => {
    const path = join(root, 'growth')
    const kv = await openEmbeddedKV({ path, clock: new VirtualClock(), autoCompaction: { maxRevisions: 100 } })
    const sizes: number[] = []
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 300; i++) void kv.txn(put(`k${i % 20}`, Buffer.alloc(2000, i)))
      await kv.txn(put('last', String(round)))
      await kv.compact(kv.revision).catch(() => undefined)
      sizes.push((await kv.size()).totalBytes)
    }
    expect(sizes[5]).toBeLessThan(3 * (sizes[1] as number))
    expect((await kv.size()).usedBytes).toBeLessThan(600_000)
    const revision = kv.revision
    await kv.close()
    const again = await open(path)
    expect(again.revision).toBe(revision)
    for (let i = 280; i < 300; i++) expect((await again.get(`k${i % 20}`))?.value[0]).toBe(i % 256)
    await again.close()
  })
})
