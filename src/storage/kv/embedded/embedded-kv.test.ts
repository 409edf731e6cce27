import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { kvContract } from '../testing/contract.ts'
import { openEmbeddedKV } from './embedded-kv.ts'
import { MAX_KEY_BYTES } from './record-codec.ts'

const dir = mkdtempSync(join(tmpdir(), 'k8ts-kv-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const open = (clock: Parameters<typeof openEmbeddedKV>[0]['clock'], id: number) => openEmbeddedKV({ path: join(dir, String(id)), clock, autoCompaction: false })
kvContract('embedded', { open, reopen: open, runs: 30 })

it('has all keys again when it is opened: long ones, those of other scripts, and those with leases', async () => {
  const path = join(dir, 'keys')
  const clock = new VirtualClock()
  const scripts = ['a', 'é', '語', '\u{1f600}', '\uffff']
  const keys = Array.from({ length: 400 }, (_, i) => {
    const letter = scripts[i % scripts.length] as string
    const head = `/registry/${letter}${i}/`
    return head + letter.repeat(Math.floor((MAX_KEY_BYTES - Buffer.byteLength(head)) / Buffer.byteLength(letter) / (i % 7 === 0 ? 1 : 40)))
  })
  let kv = await openEmbeddedKV({ path, clock })
  const { id } = await kv.leaseGrant(3600)
  const put = (key: string, value: string, lease: bigint) => kv.txn({ success: [{ op: 'put', key, value: Buffer.from(value), lease }] })
  for (const [i, key] of keys.entries()) await put(key, String(i), i % 3 === 0 ? id : 0n)
  const all = async () =>
    (await kv.range({ key: '\0', end: '\0' })).kvs.map((r) => [r.key, String(r.value), r.createRevision, r.modRevision, r.version, r.lease])
  for (let round = 0; round < 3; round++) {
    const before = await all()
    expect(before.map(([key]) => key)).toEqual([...keys].sort())
    await kv.close()
    kv = await openEmbeddedKV({ path, clock })
    expect(await all()).toEqual(before)
    for (const key of keys.slice(round * 20, round * 20 + 50)) await put(key, `again ${round}`, 0n)
  }
  await kv.close()
})
