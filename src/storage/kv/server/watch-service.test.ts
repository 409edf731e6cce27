import { EventEmitter } from 'node:events'
import type { ServerDuplexStream } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../base/system-clock.ts'
import type { Message } from '../etcdpb/codec.ts'
import { keyBytes } from '../etcdpb/convert.ts'
import { createMemoryKV, type MemoryKV } from '../memory/memory-kv.ts'
import { serveWatchStream } from './watch-service.ts'

const MiB = 1024 * 1024
const clock = systemClock()

/** A client that reads only when it is told to. */
class SlowClient extends EventEmitter {
  readonly unread: { message: Message; read: () => void }[] = []
  error: Error | undefined

  write(message: Message, read: () => void): boolean {
    this.unread.push({ message, read })
    return false
  }

  destroy(error: Error): void {
    this.error = error
    this.emit('close')
  }

  end(): void {}

  /** Reads all that waits, and what comes because of it, until nothing more does. */
  async read(): Promise<Message[]> {
    const messages: Message[] = []
    while (this.unread.length > 0) {
      for (const { message, read } of this.unread.splice(0)) {
        messages.push(message)
        read()
      }
      await settle()
    }
    return messages
  }

  get bytes(): number {
    return this.unread.reduce((sum, { message }) => sum + events(message).reduce((n, e) => n + ((e['kv'] as Message)['value'] as Uint8Array).length, 0), 0)
  }
}

const events = (message: Message) => (message['events'] as Message[] | undefined) ?? []
const revisions = (messages: Message[]) => messages.flatMap(events).map((e) => (e['kv'] as Message)['mod_revision'])
const settle = async () => {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a stream of watches whose client does not read', () => {
  let kv: MemoryKV
  let client: SlowClient
  beforeEach(() => {
    kv = createMemoryKV({ clock, autoCompaction: false })
    client = new SlowClient()
    serveWatchStream(kv, client as unknown as ServerDuplexStream<Message, Message>, { header: (revision) => ({ revision }), clock })
  })
  afterEach(() => kv.close())

  const watch = (startRevision = 0) =>
    client.emit('data', {
      create_request: {
        watch_id: 0,
        key: keyBytes('k'),
        range_end: new Uint8Array(0),
        start_revision: startRevision,
        prev_kv: false,
        filters: [],
        fragment: false,
      },
    })
  const put = (bytes: number) => kv.txn({ compare: [], success: [{ op: 'put', key: 'k', value: new Uint8Array(bytes) }] })
  const written = async (count: number, bytes: number) => {
    const all: number[] = []
    for (let i = 0; i < count; i++) all.push((await put(bytes)).revision)
    return all
  }

  it('holds a bounded number of bytes, and loses nothing once it reads', async () => {
    watch()
    const all = await written(160, MiB / 4)
    await settle()
    expect(client.bytes).toBeLessThanOrEqual(6 * MiB)
    expect(client.error).toBeUndefined()
    expect(revisions(await client.read())).toEqual(all)
  })

  it('reads history no faster than its client', async () => {
    const all = await written(160, MiB / 4)
    watch(2)
    await settle()
    expect(client.bytes).toBeLessThanOrEqual(6 * MiB)
    expect(revisions(await client.read())).toEqual(all)
  })

  it('holds a bounded number of small events', async () => {
    watch()
    const all = await written(1500, 1)
    await settle()
    expect(client.unread.length).toBeLessThanOrEqual(1002)
    expect(revisions(await client.read())).toEqual(all)
  })

  it('tells a held watch of compaction when the client reads on', async () => {
    watch()
    const all = await written(40, MiB / 4)
    await settle()
    await kv.compact(all[39] as number)
    expect((await client.read()).at(-1)).toMatchObject({ canceled: true, compact_revision: all[39] })
  })

  it('ends when its watches together have taken too much', async () => {
    for (let i = 0; i < 100; i++) watch()
    await put(MiB)
    await settle()
    expect(client.bytes).toBeLessThanOrEqual(64 * MiB)
    expect(client.error?.message).toBe('etcdserver: the client does not keep up with its watches')
  })

  it('ends when it asks for progress again and again', async () => {
    watch()
    await written(40, MiB / 4)
    await settle()
    for (let i = 0; i <= 10_000; i++) client.emit('data', { progress_request: {} })
    expect(client.error?.message).toBe('etcdserver: the client does not keep up with its watches')
  })
})
