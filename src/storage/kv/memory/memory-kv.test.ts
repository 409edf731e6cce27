import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { kvContract } from '../testing/contract.ts'
import { createMemoryKV } from './memory-kv.ts'

kvContract('memory', { open: async (clock) => createMemoryKV({ clock, autoCompaction: false }), runs: 150 })

describe('MemoryKV', () => {
  it('forks: both go on from the same state, leases and history, and do not see each other', async () => {
    const clock = new VirtualClock()
    const kv = createMemoryKV({ clock })
    const lease = await kv.leaseGrant(10)
    await kv.txn({ success: [{ op: 'put', key: 'a', value: Buffer.from('1'), lease: lease.id }] })
    await kv.txn({ success: [{ op: 'put', key: 'b', value: Buffer.from('1') }] })
    const fork = kv.fork()
    await kv.txn({ success: [{ op: 'put', key: 'b', value: Buffer.from('2') }] })
    await fork.txn({ success: [{ op: 'delete', key: 'b' }] })
    expect(Buffer.from((await kv.get('b'))!.value).toString()).toBe('2')
    expect(await fork.get('b')).toBeUndefined()
    expect((await fork.range({ key: 'a', end: '\0', revision: 3 })).kvs).toHaveLength(2)
    await clock.advance(11_000)
    expect(await kv.get('a')).toBeUndefined()
    expect(await fork.get('a')).toBeUndefined()
    await kv.close()
    await fork.close()
  })

  it('drops history by itself: by age, and at once when there is too much', async () => {
    const clock = new VirtualClock()
    const kv = createMemoryKV({ clock, autoCompaction: { intervalMs: 1000, maxRevisions: 10 } })
    const put = () => kv.txn({ success: [{ op: 'put', key: 'a', value: Buffer.from('1') }] })
    for (let i = 0; i < 5; i++) await put()
    await clock.advance(1000)
    expect(kv.compactedRevision).toBe(1)
    await put()
    await clock.advance(1000)
    expect(kv.compactedRevision).toBe(6)
    for (let i = 0; i < 30; i++) await put()
    expect(kv.revision - kv.compactedRevision).toBeLessThanOrEqual(20)
    await kv.close()
    expect(clock.timerCount()).toBe(0)
  })
})
