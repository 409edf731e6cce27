import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../../base/clock.ts'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { CompactedError, FutureRevisionError, type KV, type KVEvent, LeaseNotFoundError, prefixEnd, StoreUnavailableError, type TxnOp } from '../kv.ts'
import { Model, type Step, steps } from './model.ts'

export interface ContractSetup {
  /** A store for one test; it may hold foreign keys outside `prefix`. */
  open(clock: Clock, id: number): Promise<KV>
  /** Closes and opens again the store of the same id; absent for engines that keep nothing. */
  reopen?(clock: Clock, id: number): Promise<KV>
  /** Real stores have real time, which tests do not wait for. */
  realTime?: boolean
  /** Runs of the random test. @default 60 */
  runs?: number
}

const text = (b: Uint8Array | undefined) => (b === undefined ? undefined : Buffer.from(b).toString())
const bytes = (s: string) => Buffer.from(s)

/** What every engine must do: ten lines in an engine's test call it. */
export function kvContract(name: string, setup: ContractSetup): void {
  describe(`KV contract: ${name}`, () => {
    const opened: KV[] = []
    let ids = 0
    const start = async () => {
      const clock = new VirtualClock()
      const id = ++ids
      const kv = await setup.open(clock, id)
      opened.push(kv)
      const p = `/t${id}-${kv.revision}/`
      const put = (key: string, value = key, more: Partial<Extract<TxnOp, { op: 'put' }>> = {}) =>
        kv.txn({ success: [{ op: 'put', key: p + key, value: bytes(value), ...more }] })
      const del = (key: string, end?: string) =>
        kv.txn({ success: [{ op: 'delete', key: p + key, prevKv: true, ...(end === undefined ? {} : { end: p + end }) }] })
      const keys = async (request: { revision?: number; limit?: number } = {}) =>
        (await kv.range({ key: p, end: prefixEnd(p), ...request })).kvs.map((k) => k.key.slice(p.length))
      return { clock, kv, p, put, del, keys, id }
    }
    afterEach(async () => {
      for (const kv of opened.splice(0)) await kv.close().catch(() => undefined)
    })

    it('gives each writing transaction the next revision, and none to others', async () => {
      const { kv, p, put } = await start()
      const before = kv.revision
      const a = await put('a')
      expect(a.revision).toBe(before + 1)
      const both = await kv.txn({
        success: [
          { op: 'put', key: `${p}b`, value: bytes('1') },
          { op: 'put', key: `${p}c`, value: bytes('2') },
        ],
      })
      expect(both.revision).toBe(before + 2)
      expect(await kv.get(`${p}b`)).toMatchObject({ createRevision: before + 2, modRevision: before + 2, version: 1 })
      const nothing = await kv.txn({ success: [{ op: 'delete', key: `${p}nope` }] })
      expect(nothing).toMatchObject({ revision: before + 2, results: [{ op: 'delete', deleted: 0 }] })
      expect(kv.revision).toBe(before + 2)
    })

    it('counts versions, keeps the creation revision, starts anew after a delete', async () => {
      const { kv, p, put, del } = await start()
      const first = (await put('a', '1')).revision
      await put('a', '2')
      expect(await kv.get(`${p}a`)).toMatchObject({ createRevision: first, modRevision: first + 1, version: 2, lease: 0n })
      const gone = await del('a')
      expect(gone.results[0]).toMatchObject({ op: 'delete', deleted: 1 })
      expect(text(gone.results[0]?.op === 'delete' ? gone.results[0].prevs?.[0]?.value : undefined)).toBe('2')
      expect(await kv.get(`${p}a`)).toBeUndefined()
      const again = (await put('a', '3')).revision
      expect(await kv.get(`${p}a`)).toMatchObject({ createRevision: again, version: 1 })
    })

    it('ranges: single, interval, prefix, to the end, limit, count, keys only', async () => {
      const { kv, p, put } = await start()
      for (const k of ['c', 'a', 'b', 'd']) await put(k)
      expect((await kv.range({ key: `${p}b` })).kvs.map((k) => text(k.value))).toEqual(['b'])
      expect((await kv.range({ key: `${p}b`, end: `${p}d` })).kvs.map((k) => text(k.value))).toEqual(['b', 'c'])
      const limited = await kv.range({ key: p, end: prefixEnd(p), limit: 2 })
      expect(limited).toMatchObject({ count: 4, more: true, revision: kv.revision })
      expect(limited.kvs).toHaveLength(2)
      expect(await kv.range({ key: p, end: prefixEnd(p), countOnly: true })).toMatchObject({ count: 4, kvs: [] })
      expect((await kv.range({ key: p, end: prefixEnd(p), keysOnly: true })).kvs.map((k) => k.value.length)).toEqual([0, 0, 0, 0])
      expect((await kv.range({ key: `${p}d`, end: '\0', limit: 1 })).kvs[0]?.key).toBe(`${p}d`)
      expect(await kv.range({ key: `${p}x`, end: `${p}a` })).toMatchObject({ count: 0, kvs: [], more: false })
    })

    it('reads the past until it is compacted, never the future', async () => {
      const { kv, p, put, del, keys } = await start()
      const r1 = (await put('a', '1')).revision
      const r2 = (await put('b', '1')).revision
      await put('a', '2')
      const r4 = (await del('b')).revision
      expect(await keys({ revision: r1 })).toEqual(['a'])
      expect(await keys({ revision: r2 })).toEqual(['a', 'b'])
      expect(text((await kv.range({ key: `${p}a`, revision: r2 })).kvs[0]?.value)).toBe('1')
      await expect(kv.range({ key: p, revision: r4 + 1000 })).rejects.toBeInstanceOf(FutureRevisionError)
      await kv.compact(r2 + 1)
      await expect(kv.range({ key: p, revision: r2 })).rejects.toBeInstanceOf(CompactedError)
      expect(await keys({ revision: r2 + 1 })).toEqual(['a', 'b'])
      expect(await keys()).toEqual(['a'])
      await expect(kv.compact(r2)).rejects.toBeInstanceOf(CompactedError)
      await expect(kv.compact(r4 + 1000)).rejects.toBeInstanceOf(FutureRevisionError)
    })

    it('compares versions, revisions, values and leases; all must hold', async () => {
      const { kv, p, put } = await start()
      const r = (await put('a', 'm')).revision
      const a = `${p}a`
      const ok = async (...compare: NonNullable<Parameters<KV['txn']>[0]['compare']>) => (await kv.txn({ compare, success: [] })).succeeded
      expect(await ok({ key: a, target: 'mod', op: '=', value: r })).toBe(true)
      expect(await ok({ key: a, target: 'mod', op: '<', value: r })).toBe(false)
      expect(await ok({ key: a, target: 'create', op: '>', value: r - 1 })).toBe(true)
      expect(await ok({ key: a, target: 'version', op: '!=', value: 1 })).toBe(false)
      expect(await ok({ key: a, target: 'value', op: '=', value: bytes('m') })).toBe(true)
      expect(await ok({ key: a, target: 'value', op: '<', value: bytes('n') })).toBe(true)
      expect(await ok({ key: a, target: 'lease', op: '=', value: 0n })).toBe(true)
      expect(await ok({ key: `${p}none`, target: 'create', op: '=', value: 0 })).toBe(true)
      expect(await ok({ key: `${p}none`, target: 'value', op: '!=', value: bytes('x') })).toBe(false)
      expect(await ok({ key: a, target: 'version', op: '=', value: 1 }, { key: a, target: 'version', op: '=', value: 2 })).toBe(false)
    })

    it('runs nested transactions, sees its own writes, and refuses to write a key twice', async () => {
      const { kv, p, put } = await start()
      await put('a', '1')
      const result = await kv.txn({
        compare: [{ key: `${p}a`, target: 'version', op: '=', value: 1 }],
        success: [
          { op: 'put', key: `${p}b`, value: bytes('2'), prevKv: true },
          { op: 'range', request: { key: `${p}b` } },
          {
            op: 'txn',
            request: {
              compare: [{ key: `${p}b`, target: 'version', op: '=', value: 0 }],
              success: [{ op: 'put', key: `${p}c`, value: bytes('3') }],
              failure: [{ op: 'put', key: `${p}d`, value: bytes('4') }],
            },
          },
        ],
      })
      expect(result.succeeded).toBe(true)
      expect(result.results[1]).toMatchObject({ op: 'range', result: { count: 1 } })
      expect(result.results[2]).toMatchObject({ op: 'txn', result: { succeeded: true } })
      expect((await kv.range({ key: p, end: prefixEnd(p) })).kvs.map((k) => [k.key.slice(p.length), k.modRevision - result.revision])).toEqual([
        ['a', -1],
        ['b', 0],
        ['c', 0],
      ])
      const twice: TxnOp[] = [
        { op: 'put', key: `${p}x`, value: bytes('1') },
        { op: 'put', key: `${p}x`, value: bytes('2') },
      ]
      await expect(kv.txn({ success: twice })).rejects.toThrow('etcdserver: duplicate key given in txn request')
      await expect(kv.txn({ success: [{ op: 'txn', request: { success: [twice[0]!] } }, twice[1]!] })).rejects.toThrow('duplicate key')
      expect(await kv.get(`${p}x`)).toBeUndefined()
    })

    it('lets concurrent compare-and-swap succeed exactly once per state', async () => {
      const { kv, p, put } = await start()
      const { revision } = await put('a', '0')
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          kv.txn({
            compare: [{ key: `${p}a`, target: 'mod', op: '=', value: revision }],
            success: [{ op: 'put', key: `${p}a`, value: bytes(String(i)) }],
            failure: [{ op: 'range', request: { key: `${p}a` } }],
          }),
        ),
      )
      expect(results.filter((r) => r.succeeded)).toHaveLength(1)
      expect((await kv.get(`${p}a`))?.version).toBe(2)
    })

    it('watches from now and from the past, in order, by whole revisions, with previous states', async () => {
      const { kv, p, put, del } = await start()
      const first = (await put('a', '1')).revision
      await put('b', '1')
      const seen: { revision: number; events: string[] }[] = []
      const note = (e: KVEvent) => `${e.type} ${e.kv.key.slice(p.length)}@${e.kv.modRevision - first} ${text(e.kv.value)} ${text(e.prev?.value) ?? '-'}`
      const watch = kv.watch({
        key: p,
        end: prefixEnd(p),
        startRevision: first,
        prevKv: true,
        onEvents: (b) => seen.push({ revision: b.revision, events: b.events.map(note) }),
      })
      await watch.progress()
      await kv.txn({
        success: [
          { op: 'put', key: `${p}a`, value: bytes('2') },
          { op: 'delete', key: `${p}b` },
        ],
      })
      await del('a')
      await watch.progress()
      expect(seen.flatMap((s) => s.events)).toEqual(['put a@0 1 -', 'put b@1 1 -', 'put a@2 2 1', 'delete b@2  1', 'delete a@3  2'])
      for (const s of seen) expect(s.revision).toBeGreaterThanOrEqual(first)
      watch.cancel()
      await put('z')
      expect(seen.flatMap((s) => s.events)).toHaveLength(5)
    })

    it('waits for a start in the future, and for one key only', async () => {
      const { kv, p, put } = await start()
      const r = kv.revision
      const seen: number[] = []
      const watch = kv.watch({ key: `${p}a`, startRevision: r + 3, onEvents: (b) => seen.push(...b.events.map((e) => e.kv.modRevision - r)) })
      await put('a', '1')
      await put('a', '2')
      await put('a', '3')
      await put('b', '4')
      await put('a', '5')
      await watch.progress()
      expect(seen).toEqual([3, 5])
    })

    it('closes a watch whose start is compacted, and tells where it could start', async () => {
      const { kv, p, put } = await start()
      const r = (await put('a')).revision
      await put('b')
      const last = (await put('c')).revision
      await kv.compact(last)
      const reason = await new Promise<number | undefined>((resolve) =>
        kv.watch({ key: p, end: prefixEnd(p), startRevision: r, onEvents() {}, onClose: (why) => resolve(why.compactRevision) }),
      )
      expect(reason).toBe(last)
    })

    it('deletes the keys of a revoked lease in one revision', async () => {
      const { kv, p, put, keys } = await start()
      const { id, ttlSeconds } = await kv.leaseGrant(100)
      expect(ttlSeconds).toBe(100)
      await put('a', 'a', { lease: id })
      await put('b', 'b', { lease: id })
      await put('c', 'c', { lease: id })
      await put('c', 'c')
      expect(await kv.leaseTimeToLive(id)).toMatchObject({ grantedSeconds: 100, keys: [`${p}a`, `${p}b`] })
      expect(await kv.leases()).toContain(id)
      const before = kv.revision
      await kv.leaseRevoke(id)
      expect(await keys()).toEqual(['c'])
      expect((await kv.range({ key: p })).revision).toBe(before + 1)
      await expect(kv.leaseKeepAlive(id)).rejects.toBeInstanceOf(LeaseNotFoundError)
      await expect(kv.leaseRevoke(id)).rejects.toBeInstanceOf(LeaseNotFoundError)
      await expect(put('d', 'd', { lease: id })).rejects.toBeInstanceOf(LeaseNotFoundError)
    })

    it.skipIf(setup.realTime)('ends leases in time unless they are kept alive', async () => {
      const { clock, kv, put, keys } = await start()
      const a = await kv.leaseGrant(10)
      const b = await kv.leaseGrant(10)
      await put('a', 'a', { lease: a.id })
      await put('b', 'b', { lease: b.id })
      await clock.advance(6000)
      await kv.leaseKeepAlive(b.id)
      expect((await kv.leaseTimeToLive(a.id)).ttlSeconds).toBe(4)
      await clock.advance(5000)
      expect(await keys()).toEqual(['b'])
      await clock.advance(10_000)
      expect(await keys()).toEqual([])
      expect(await kv.leases()).toEqual([])
    })

    it('refuses everything after close, and ends its watches', async () => {
      const { kv, p, put } = await start()
      await put('a')
      let closed = 0
      kv.watch({ key: p, onEvents() {}, onClose: () => closed++ })
      await kv.close()
      expect(closed).toBe(1)
      await expect(kv.get(p)).rejects.toBeInstanceOf(StoreUnavailableError)
      await expect(put('b')).rejects.toBeInstanceOf(StoreUnavailableError)
    })

    it('does what the model does, whatever is asked', async () => {
      const { kv, p } = await start()
      await fc.assert(
        fc.asyncProperty(steps(), async (list: Step[]) => {
          await kv.txn({ success: [{ op: 'delete', key: p, end: prefixEnd(p) }] })
          const model = new Model(kv.revision)
          const got: string[] = []
          const wanted: string[] = []
          const watch = kv.watch({
            key: p,
            end: prefixEnd(p),
            prevKv: true,
            onEvents: (b) => got.push(...b.events.map((e) => `${e.type} ${e.kv.key} ${e.kv.modRevision} ${text(e.kv.value)} ${e.prev?.modRevision ?? '-'}`)),
          })
          await watch.progress()
          const base = kv.revision
          for (const step of list) await model.step(kv, p, step, base, wanted)
          await watch.progress()
          expect(got).toEqual(wanted)
          watch.cancel()
          const late: string[] = []
          const again = kv.watch({
            key: p,
            end: prefixEnd(p),
            prevKv: true,
            startRevision: base + 1,
            onEvents: (b) => late.push(...b.events.map((e) => `${e.type} ${e.kv.key} ${e.kv.modRevision} ${text(e.kv.value)} ${e.prev?.modRevision ?? '-'}`)),
          })
          // Ended when it began below the compacted revision.
          await again.progress().catch(() => undefined)
          if (kv.compactedRevision <= base) expect(late).toEqual(wanted)
          again.cancel()
        }),
        { numRuns: setup.runs ?? 60 },
      )
    })

    it.skipIf(!setup.reopen)('holds everything after it was opened again', async () => {
      const { clock, kv, p, put, del, id } = await start()
      const lease = await kv.leaseGrant(50)
      const r1 = (await put('a', '1')).revision
      await put('b', '1', { lease: lease.id, meta: { user: 'me', verb: 'create' } })
      await put('a', '2')
      const last = (await del('b')).revision
      await put('c', '1', { lease: lease.id })
      const before = await kv.range({ key: p, end: prefixEnd(p) })
      await kv.close()
      const again = await setup.reopen!(clock, id)
      opened.push(again)
      expect(again.revision).toBe(last + 1)
      expect(await again.range({ key: p, end: prefixEnd(p) })).toEqual(before)
      expect((await again.range({ key: p, end: prefixEnd(p), revision: r1 + 1 })).kvs.map((k) => text(k.value))).toEqual(['1', '1'])
      expect(await again.revisionMeta?.(r1 + 1)).toEqual({ user: 'me', verb: 'create' })
      expect((await again.leaseTimeToLive(lease.id)).keys).toEqual([`${p}c`])
      const events: string[] = []
      const watch = again.watch({
        key: p,
        end: prefixEnd(p),
        startRevision: r1,
        prevKv: true,
        onEvents: (b) => events.push(...b.events.map((e) => `${e.type} ${e.kv.key.slice(p.length)} ${text(e.kv.value)} ${text(e.prev?.value) ?? '-'}`)),
      })
      await watch.progress()
      expect(events).toEqual(['put a 1 -', 'put b 1 -', 'put a 2 1', 'delete b  1', 'put c 1 -'])
      await again.compact(last)
      await expect(again.range({ key: p, revision: r1 })).rejects.toBeInstanceOf(CompactedError)
      expect((await again.txn({ success: [{ op: 'put', key: `${p}d`, value: bytes('1') }] })).revision).toBe(last + 2)
    })
  })
}
