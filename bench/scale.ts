import { join } from 'node:path'
import { systemClock } from '../src/base/system-clock.ts'
import { openEmbeddedKV } from '../src/storage/kv/embedded/embedded-kv.ts'
import { remove, residentMb, type Started, scratch, up } from './cluster.ts'
import { HttpClient } from './http-client.ts'
import { emptyNodeMs, tellStart } from './of-empty-node.ts'
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
      const empty = [emptyNodeMs(), emptyNodeMs()]
      const cluster = await up(dir)
      try {
        const readMs = await firstReads(cluster)
        const memory = Math.round(residentMb(cluster.pid))
        tellStart(
          tell,
          'start with 100,000 objects, and reading them',
          [cluster.upMs + readMs],
          empty,
          1.5,
          `${Math.round(readMs)} ms to read, ${memory} MB then`,
        )
      } finally {
        cluster.down()
      }
    } finally {
      remove(dir)
    }
  },
}

/** The last object and the first page of a list, as a client that comes at once asks for them; in ms. */
async function firstReads(cluster: Started): Promise<number> {
  const begin = performance.now()
  const client = await HttpClient.open(cluster.connection)
  try {
    for (const path of [`configmaps/o-${OBJECTS - 1}`, 'configmaps?limit=500']) {
      const { status } = await client.request('GET', `/api/v1/namespaces/default/${path}`)
      if (status !== 200) throw new Error(`${path}: ${status}`)
    }
    return performance.now() - begin
  } finally {
    client.close()
  }
}
