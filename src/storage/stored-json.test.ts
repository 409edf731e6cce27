import fc from 'fast-check'
import { expect, test } from 'vitest'
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
