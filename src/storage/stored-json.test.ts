import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeJSON } from '../apimachinery/json/index.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import { encodeObject, rememberWritten, StoredJson } from './stored-json.ts'

const goMetadata = fc.record(
  {
    name: fc.string({ minLength: 1 }),
    generateName: fc.string(),
    namespace: fc.string(),
    uid: fc.uuid(),
    resourceVersion: fc.nat().map(String),
    generation: fc.nat(),
    labels: fc.dictionary(fc.string(), fc.string()),
    annotations: fc.dictionary(fc.string(), fc.string()),
  },
  { requiredKeys: ['name'] },
)
const sortedMetadata = fc
  .dictionary(fc.constantFrom('annotations', 'creationTimestamp', 'labels', 'name', 'uid', 'zone'), fc.string())
  .map((m) => Object.fromEntries(Object.entries(m).sort(([a], [b]) => (a < b ? -1 : 1))))

test('what was just written reads as what decoding its bytes gives, order of fields included', () => {
  fc.assert(
    fc.property(fc.oneof(goMetadata, sortedMetadata), fc.jsonValue(), fc.integer({ min: 1 }), (metadata, data, revision) => {
      const object = { apiVersion: 'v1', kind: 'Thing', metadata, data: data === null ? 'none' : JSON.parse(JSON.stringify(data)) } as unknown as KubeObject
      const bytes = encodeObject(object)
      const decoded = new StoredJson('a/b', Buffer.from(bytes), revision).object
      rememberWritten(bytes, object)
      const known = new StoredJson('a/b', bytes, revision).object
      expect(JSON.stringify(known)).toBe(JSON.stringify(decoded))
      expect(known).toEqual(decoded)
      expect(Object.isFrozen(known) && Object.isFrozen(known.metadata)).toBe(true)
      expect(known.metadata.resourceVersion).toBe(String(revision))
    }),
  )
})

test('the same bytes at another revision, as a deletion leaves them', () => {
  const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a', uid: 'u' } } as KubeObject
  const bytes = encodeObject(object)
  rememberWritten(bytes, object)
  expect(new StoredJson('a', bytes, 7).at(9).object).toEqual({ ...object, metadata: { name: 'a', uid: 'u', resourceVersion: '9' } })
})

test('written into a body, whole or in part, it is the same bytes as alone', () => {
  fc.assert(
    fc.property(fc.oneof(goMetadata, sortedMetadata), fc.integer({ min: 1 }), fc.nat(12), (metadata, revision, skip) => {
      const stored = new StoredJson('a/b', encodeObject({ apiVersion: 'v1', kind: 'Thing', metadata, data: 'd' } as unknown as KubeObject), revision)
      const encoded = Buffer.from(stored.encoded())
      expect(JSON.parse(encoded.toString()).metadata.resourceVersion).toBe(String(revision))
      expect(stored.size).toBe(encoded.length)
      const out = Buffer.alloc(encoded.length + 10, '.')
      expect(stored.writeTo(out, 3, skip)).toBe(3 + encoded.length - skip)
      expect(out.toString()).toBe(`...${encoded.toString().slice(skip)}${'.'.repeat(7 + skip)}`)
      const inner = Buffer.alloc(stored.metadataSize)
      expect(stored.writeMetadataTo(inner, 0)).toBe(inner.length)
      expect(inner.toString()).toBe(encodeJSON(JSON.parse(encoded.toString()).metadata))
    }),
  )
})
