/** The store's figures: `node --import tsx bench/store.ts`. A few seconds; prints a table. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '../src/apimachinery/object.ts'
import { systemClock } from '../src/base/system-clock.ts'
import { createCacher } from '../src/storage/cacher/cacher.ts'
import { openEmbeddedKV } from '../src/storage/kv/embedded/embedded-kv.ts'
import type { KV } from '../src/storage/kv/kv.ts'
import { createMemoryKV } from '../src/storage/kv/memory/memory-kv.ts'

const clock = systemClock()
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'k8ts-bench-'))
const rows: { what: string; value: string }[] = []
const note = (what: string, value: string) => {
  rows.push({ what, value })
  console.log(`${what.padEnd(58)} ${value}`)
}
const timed = async <T>(work: () => Promise<T>): Promise<[number, T]> => {
  const start = performance.now()
  const result = await work()
  return [performance.now() - start, result]
}

async function writers(kv: KV, count: number, ms: number, size: number): Promise<number> {
  const value = Buffer.alloc(size, 'x')
  const end = performance.now() + ms
  let done = 0
  await Promise.all(
    Array.from({ length: count }, async (_, w) => {
      for (let i = 0; performance.now() < end; i++) {
        await kv.txn({ compare: [{ key: `/w/${w}/${i}`, target: 'mod', op: '=', value: 0 }], success: [{ op: 'put', key: `/w/${w}/${i}`, value }] })
        done++
      }
    }),
  )
  return Math.round((done / ms) * 1000)
}

const pod = (i: number): KubeObject =>
  ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `pod-${i}`,
      namespace: `ns-${i % 50}`,
      uid: `${i}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: i % 100 === 0 ? 'rare' : 'common', i: String(i) },
    },
    spec: { text: 'x'.repeat(780) },
  }) as unknown as KubeObject

async function main(): Promise<void> {
  const embedded = await openEmbeddedKV({ path: join(dir, 'a'), clock })
  note('embedded, 1 writer, 1 KB', `${await writers(embedded, 1, 1000, 1024)} txn/s`)
  note('embedded, 32 writers, 1 KB', `${await writers(embedded, 32, 1000, 1024)} txn/s`)
  note('embedded, 64 writers, 1 KB', `${await writers(embedded, 64, 1000, 1024)} txn/s`)
  await embedded.close()
  const memory = createMemoryKV({ clock })
  note('memory, 32 writers, 1 KB', `${await writers(memory, 32, 500, 1024)} txn/s`)
  note('memory, fork', `${((await timed(async () => memory.fork()))[0] * 1000).toFixed(0)} µs`)
  await memory.close()

  for (const engine of ['embedded', 'memory']) {
    const path = join(dir, 'b')
    let kv: KV = engine === 'memory' ? createMemoryKV({ clock }) : await openEmbeddedKV({ path, clock })
    const fill = createCacher(kv, { prefix: '/registry/pods', clock })
    const count = 100_000
    const [filled] = await timed(async () => {
      for (let i = 0; i < count; i += 1000)
        await Promise.all(Array.from({ length: 1000 }, (_, j) => fill.create(`ns-${(i + j) % 50}/pod-${i + j}`, pod(i + j))))
    })
    note(`${engine}, create of 100,000 objects`, `${Math.round(count / (filled / 1000))} /s`)
    if (engine === 'embedded') {
      await kv.close()
      const [opened, again] = await timed(() => openEmbeddedKV({ path, clock }))
      kv = again
      note('embedded, open with 100,000 objects', `${opened.toFixed(0)} ms, file ${(statSync(join(path, 'store.mdb')).size / 1e6).toFixed(0)} MB`)
    }
    globalThis.gc?.()
    const before = process.memoryUsage()
    const cacher = createCacher(kv, { prefix: '/registry/pods', clock })
    const [ready] = await timed(() => cacher.ready())
    note(`${engine}, watch cache ready with 100,000 objects`, `${ready.toFixed(0)} ms`)
    globalThis.gc?.()
    const after = process.memoryUsage()
    note(`${engine}, memory of the cache per object`, `${((after.heapUsed + after.external - before.heapUsed - before.external) / count).toFixed(0)} B`)
    note(`${engine}, LIST of all 100,000`, `${(await timed(() => cacher.list({})))[0].toFixed(1)} ms`)
    const rare = { namespace: 'ns-0', filter: (o: { labels: Readonly<Record<string, string>> }) => o.labels['app'] === 'rare' }
    note(`${engine}, LIST of 2,000 with a label, first`, `${(await timed(() => cacher.list(rare)))[0].toFixed(1)} ms`)
    note(`${engine}, LIST of 2,000 with a label, again`, `${(await timed(() => cacher.list(rare)))[0].toFixed(1)} ms`)
    const list = (await cacher.list({ limit: 10_000 })).items
    note(`${engine}, encode of 10,000`, `${(await timed(async () => list.reduce((n, o) => n + o.encoded().length, 0)))[0].toFixed(1)} ms`)
    for (const o of list) void o.labels
    const index = { limit: 10_000, filter: (o: { labels: Readonly<Record<string, string>> }) => o.labels['app'] === 'rare' }
    void index
    cacher.close()
    await kv.close()
  }

  const kv = createMemoryKV({ clock })
  const cacher = createCacher(kv, { prefix: '/registry/pods', clock })
  let seen = 0
  for (let i = 0; i < 1000; i++) cacher.watch({ sendInitialEvents: false, onEvents: (e) => void (seen += e.length), onClose() {} })
  await cacher.ready()
  await new Promise((resolve) => setImmediate(resolve))
  const [fan] = await timed(async () => {
    for (let i = 0; i < 1000; i++) await cacher.create(`default/pod-${i}`, pod(i))
  })
  note('watch fan-out: 1,000 events to 1,000 watches', `${fan.toFixed(0)} ms, ${(seen / fan / 1000).toFixed(1)} M deliveries/s`)
  await kv.close()
  rmSync(dir, { recursive: true, force: true })
}

await main()
