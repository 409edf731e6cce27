/**
 * A program for crash tests: opens the store named by its argument, writes for ever with many writers, and prints each key after its
 * write was acknowledged. It is meant to be killed.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../../../base/system-clock.ts'
import { openEmbeddedKV } from '../embedded/embedded-kv.ts'

const WRITERS = 32

async function main(path: string): Promise<void> {
  const kv = await openEmbeddedKV({ path, clock: systemClock(), autoCompaction: { intervalMs: 50, maxRevisions: 500 } })
  const first = kv.revision
  writeSync(1, 'ready\n')
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let i = 0; ; i++) {
        const key = `/crash/${first}/${writer}/${i}`
        const value = Buffer.from(`${key}:${'x'.repeat(500)}`)
        const { revision } = await kv.txn({
          success: [
            { op: 'put', key, value },
            { op: 'put', key: `/crash/pair/${writer}`, value: Buffer.from(key) },
            { op: 'put', key: `/crash/twin/${writer}`, value: Buffer.from(key) },
          ],
        })
        writeSync(1, `${revision} ${key}\n`)
      }
    }),
  )
}

await main(process.argv[2] as string)
