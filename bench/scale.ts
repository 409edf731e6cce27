import { join } from 'node:path'
import { systemClock } from '../src/base/system-clock.ts'
import { openEmbeddedKV } from '../src/storage/kv/embedded/embedded-kv.ts'
import { remove, residentMb, scratch, up } from './cluster.ts'
import type { Bench } from './row.ts'

const OBJECTS = 100_000

/** A start over a store that is full already. */
export const scale: Bench = {
  name: 'scale',
  async run(tell) {
    const dir = scratch()
    try {
      const first = await up(dir)
      first.down()
      const kv = await openEmbeddedKV({ path: join(dir, 'etcd'), clock: systemClock() })
      for (let i = 0; i < OBJECTS; i += 500) {
        await Promise.all(
          Array.from({ length: 500 }, (_, k) => {
            const name = `o-${i + k}`
            const object = {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              metadata: {
                name,
                namespace: 'default',
                uid: `00000000-0000-4000-8000-${String(i + k).padStart(12, '0')}`,
                creationTimestamp: '2026-01-01T00:00:00Z',
              },
              data: { payload: 'x'.repeat(700) },
            }
            return kv.txn({ success: [{ op: 'put', key: `/registry/configmaps/default/${name}`, value: Buffer.from(JSON.stringify(object)) }] })
          }),
        )
      }
      await kv.close()
      const cluster = await up(dir)
      const memory = residentMb(cluster.pid)
      cluster.down()
      tell({ what: 'start with 100,000 objects', figure: cluster.upMs / 1000, unit: 's', target: { most: 1.5 }, note: `${Math.round(memory)} MB then` })
    } finally {
      remove(dir)
    }
  },
}
