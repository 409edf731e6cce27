import { describe, expect, it } from 'vitest'
import { isExpired, isTooLargeResourceVersion } from '../apimachinery/errors.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { KeyExistsError, type StorageEvent } from './interface.ts'
import { createMemoryKV } from './kv/memory/memory-kv.ts'
import { createObjectStorage } from './object-storage.ts'
import { encodeObject, StoredJson } from './stored-json.ts'

function setup(ttlSeconds?: number) {
  const clock = new VirtualClock()
  const kv = createMemoryKV({ clock, autoCompaction: false })
  const storage = createObjectStorage(kv, { prefix: '/registry/pods', clock, ...(ttlSeconds ? { ttlSeconds } : {}) })
  return { clock, kv, storage }
}

const pod = (name: string, labels: Record<string, string> = {}, extra: object = {}): KubeObject =>
  ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: `u-${name}`, creationTimestamp: '2026-01-01T00:00:00Z', labels },
    ...extra,
  }) as KubeObject

const text = (b: Uint8Array) => Buffer.from(b).toString()

describe('StoredJson', () => {
  it('puts the resourceVersion behind the uid of typed objects', () => {
    const stored = new StoredJson('default/a', encodeObject(pod('a')), 7)
    expect(text(stored.encoded())).toBe(
      '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u-a","resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:00Z","labels":{}}}',
    )
    expect(stored.object.metadata.resourceVersion).toBe('7')
    expect(Object.isFrozen(stored.object.metadata)).toBe(true)
  })

  it.each([
    ['sorted keys', '{"apiVersion":"x/v1","metadata":{"creationTimestamp":null,"name":"a","uid":"u"}}', '"name":"a","resourceVersion":"7","uid":"u"}'],
    ['no key that comes after', '{"metadata":{"creationTimestamp":null,"name":"a"}}', '"name":"a","resourceVersion":"7"}'],
    ['only leading keys', '{"metadata":{"name":"a"}}', '{"name":"a","resourceVersion":"7"}'],
    ['empty metadata', '{"metadata":{}}', '{"metadata":{"resourceVersion":"7"}}'],
    ['one that is there already', '{"metadata":{"name":"a","resourceVersion":"1","labels":{}}}', '"name":"a","resourceVersion":"7","labels"'],
    [
      'metadata as text before the real one',
      '{"kind":"\\"metadata\\":{","spec":{"metadata":{"name":"b"}},"metadata":{"name":"a"}}',
      '"metadata":{"name":"a","resourceVersion":"7"}}',
    ],
    ['white space', '{ "metadata" : { "name" : "a" , "labels" : { "a" : "b" } } }', '"name" : "a" , "resourceVersion":"7","labels"'],
  ])('splices with %s', (_, json, part) => {
    const stored = new StoredJson('a', Buffer.from(json), 7)
    expect(text(stored.encoded())).toContain(part)
    expect(JSON.parse(text(stored.encoded())).metadata.resourceVersion).toBe('7')
  })

  it('reads labels without the rest, and keeps __proto__ an ordinary key', () => {
    const stored = new StoredJson('a', Buffer.from('{"metadata":{"name":"a","labels":{"__proto__":"x","a":"b"}}}'), 7)
    expect(Object.entries(stored.labels)).toEqual([
      ['__proto__', 'x'],
      ['a', 'b'],
    ])
  })

  it('escapes as Go does', () => {
    expect(text(encodeObject(pod('a', {}, { note: '<&>\u2028' })))).toContain('"note":"\\u003c\\u0026\\u003e\\u2028"')
  })
})

describe('KVObjectStorage', () => {
  it('creates, refuses a second, gets, updates and deletes', async () => {
    const { kv, storage } = setup()
    const a = await storage.create('default/a', pod('a'))
    expect(a.resourceVersion).toBe(2)
    await expect(storage.create('default/a', pod('a'))).rejects.toBeInstanceOf(KeyExistsError)
    expect((await kv.get('/registry/pods/default/a'))?.modRevision).toBe(2)
    const b = await storage.update('default/a', (current) => ({ ...current!.object, metadata: { ...current!.object.metadata, labels: { x: 'y' } } }))
    expect(b.object.metadata.labels).toEqual({ x: 'y' })
    expect(b.resourceVersion).toBe(3)
    const same = await storage.update('default/a', (current) => current!.object)
    expect(same.resourceVersion).toBe(3)
    const gone = await storage.delete('default/a')
    expect(gone?.resourceVersion).toBe(4)
    expect(gone?.object.metadata.resourceVersion).toBe('4')
    expect(await storage.get('default/a')).toBeUndefined()
    expect(await storage.delete('default/a')).toBeUndefined()
  })

  it('calls update again when somebody else was faster', async () => {
    const { storage } = setup()
    await storage.create('default/a', pod('a'))
    let calls = 0
    const result = await storage.update('default/a', async (current) => {
      if (calls++ === 0) await storage.update('default/a', (c) => ({ ...c!.object, spec: 1 }) as KubeObject)
      return { ...current!.object, status: calls } as unknown as KubeObject
    })
    expect(calls).toBe(2)
    expect(result.object).toMatchObject({ spec: 1, status: 2 })
  })

  it('pages at one revision and tells what remains', async () => {
    const { kv, storage } = setup()
    for (const n of ['a', 'b', 'c', 'd', 'e']) await storage.create(`default/${n}`, pod(n))
    await storage.create('other/z', pod('z'))
    const first = await storage.list({ namespace: 'default', limit: 2 })
    expect(first.items.map((i) => i.key)).toEqual(['default/a', 'default/b'])
    expect(first).toMatchObject({ resourceVersion: 7, remaining: 3, next: { key: 'default/b\0', revision: 7 } })
    await storage.delete('default/c')
    const second = await storage.list({ namespace: 'default', limit: 2, continue: first.next! })
    expect(second.items.map((i) => i.key)).toEqual(['default/c', 'default/d'])
    const filtered = await storage.list({ limit: 1, filter: (o) => o.key.endsWith('d') || o.key.endsWith('z') })
    expect(filtered.items.map((i) => i.key)).toEqual(['default/d'])
    expect(filtered.next).toBeDefined()
    expect(filtered.remaining).toBeUndefined()
    await kv.compact(kv.revision)
    await expect(storage.list({ namespace: 'default', continue: first.next! })).rejects.toSatisfy(isExpired)
    await expect(storage.list({ resourceVersion: 1000 })).rejects.toSatisfy(isTooLargeResourceVersion)
  })

  it('lets objects end with their time to live', async () => {
    const { clock, storage } = setup(3600)
    await storage.create('default/a', pod('a'))
    await clock.advance(3_599_000)
    expect(await storage.get('default/a')).toBeDefined()
    await clock.advance(120_000)
    expect(await storage.get('default/a')).toBeUndefined()
  })

  it('watches: state first, then changes, with the filter deciding the type', async () => {
    const { clock, storage } = setup()
    await storage.create('default/a', pod('a', { app: 'x' }))
    await storage.create('default/b', pod('b'))
    const seen: string[] = []
    const note = (e: StorageEvent) =>
      seen.push(e.type === 'BOOKMARK' ? `BOOKMARK ${e.resourceVersion} ${e.initialEventsEnd}` : `${e.type} ${e.object.key} ${e.object.resourceVersion}`)
    const watch = storage.watch({
      sendInitialEvents: true,
      bookmarks: true,
      filter: (o) => o.labels['app'] === 'x',
      onEvents: (es) => es.forEach(note),
      onClose: () => seen.push('close'),
    })
    await clock.settle()
    await storage.update('default/b', (c) => pod(c!.object.metadata.name!, { app: 'x' }))
    await storage.update('default/a', () => pod('a', {}))
    await storage.delete('default/b')
    await clock.settle()
    expect(seen).toEqual(['ADDED default/a 2', 'BOOKMARK 3 true', 'ADDED default/b 4', 'DELETED default/a 5', 'DELETED default/b 6'])
    watch.stop()
  })

  it('refuses keys that reach elsewhere', async () => {
    const { storage } = setup()
    for (const key of ['../services/x', 'a//b', '/a', '', 'a/..']) await expect(storage.get(key)).rejects.toThrow('invalid key')
  })

  it('goes on with bookmarks after the store was away', async () => {
    const { clock, kv } = setup()
    let away = true
    const flaky = Object.create(kv, {
      watch: {
        value: (options: Parameters<typeof kv.watch>[0]) => {
          const watch = kv.watch(options)
          return { cancel: () => watch.cancel(), progress: () => (away ? Promise.reject(new Error('away')) : watch.progress()) }
        },
      },
    })
    const storage = createObjectStorage(flaky, { prefix: '/registry/pods', clock })
    const types: string[] = []
    storage.watch({ resourceVersion: 1, bookmarks: true, onEvents: (events) => types.push(...events.map((e) => e.type)), onClose() {} })
    await clock.advance(61_000)
    expect(types).toEqual([])
    away = false
    await clock.advance(61_000)
    expect(types).toEqual(['BOOKMARK'])
  })
})
