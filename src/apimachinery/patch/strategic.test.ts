import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deepCopy, deepEqual, deepFreeze } from '../../base/deep-freeze.ts'
import { SchemaRegistry } from '../schema/registry.ts'
import type { PackageTable } from '../schema/schema.ts'
import { applyStrategicMergePatch, restoreError } from './index.ts'

/** A small pod-like kind, enough for every branch of the merge. */
const table: PackageTable = {
  importPath: 'example.com/v1',
  group: '',
  version: 'v1',
  protoPackage: '',
  types: {
    Pod: {
      f: [
        { n: 'metadata', t: 'Meta' },
        { n: 'spec', t: 'Spec' },
        { n: 'raw', t: 'Raw' },
      ],
    },
    Meta: {
      f: [
        { n: 'name', t: 'string' },
        { n: 'labels', t: 'map[string]string' },
        { n: 'finalizers', t: '[]string', ps: 'merge' },
      ],
    },
    Raw: { s: 'raw' },
    Spec: {
      f: [
        { n: 'containers', t: '[]Container', ps: 'merge', pk: 'name' },
        { n: 'volumes', t: '[]Volume', ps: 'merge,retainKeys', pk: 'name' },
        { n: 'tolerations', t: '[]Toleration' },
        { n: 'selector', t: 'Selector', ps: 'replace' },
        { n: 'replicas', t: 'int32' },
        { n: 'paused', t: 'bool' },
      ],
    },
    Selector: {
      f: [
        { n: 'a', t: 'string' },
        { n: 'b', t: 'string' },
      ],
    },
    Container: {
      f: [
        { n: 'name', t: 'string' },
        { n: 'image', t: 'string' },
        { n: 'args', t: '[]string' },
        { n: 'env', t: '[]Env', ps: 'merge', pk: 'name' },
      ],
    },
    Env: {
      f: [
        { n: 'name', t: 'string' },
        { n: 'value', t: 'string' },
      ],
    },
    Volume: {
      f: [
        { n: 'name', t: 'string' },
        { n: 'emptyDir', t: 'map[string]string' },
        { n: 'configMap', t: 'map[string]string' },
      ],
    },
    Toleration: { f: [{ n: 'key', t: 'string' }] },
  },
}
const pod = new SchemaRegistry(new Map([['example.com/v1', () => table]])).structType('example.com/v1.Pod')
const merge = (doc: unknown, patch: unknown) => applyStrategicMergePatch(deepFreeze(deepCopy(doc)), deepFreeze(deepCopy(patch)), pod)

describe('strategic merge patch', () => {
  const containers = (...names: string[]) => ({ spec: { containers: names.map((name) => ({ name, image: `${name}:1` })) } })

  test('elements merge by key; new ones go first', () => {
    expect(merge(containers('a', 'b'), { spec: { containers: [{ name: 'c' }, { name: 'b', image: 'b:2' }] } })).toEqual({
      spec: { containers: [{ name: 'c' }, { name: 'a', image: 'a:1' }, { name: 'b', image: 'b:2' }] },
    })
    expect(merge(containers('a'), { spec: { containers: [{ name: 'c' }] } })).toEqual({ spec: { containers: [{ name: 'c' }, { name: 'a', image: 'a:1' }] } })
  })

  test('directives', () => {
    expect(merge(containers('a', 'b'), { spec: { containers: [{ name: 'a', $patch: 'delete' }] } })).toEqual(containers('b'))
    expect(merge(containers('a'), { spec: { containers: [{ name: 'z' }, { $patch: 'replace' }] } })).toEqual({ spec: { containers: [{ name: 'z' }] } })
    expect(merge({ metadata: { labels: { a: '1' } } }, { metadata: { labels: { $patch: 'replace', b: '2' } } })).toEqual({ metadata: { labels: { b: '2' } } })
    expect(merge({ metadata: { labels: { a: '1' } } }, { metadata: { labels: { $patch: 'delete' } } })).toEqual({ metadata: { labels: {} } })
    expect(merge({}, { metadata: { labels: { $patch: 'delete' } } })).toEqual({ metadata: {} })
    expect(merge({ metadata: {} }, { metadata: { labels: { a: null, b: '1' } } })).toEqual({ metadata: { labels: { b: '1' } } })
  })

  test('lists of scalars are sets; deletion and order lists', () => {
    const doc = { metadata: { finalizers: ['one', 'two'] } }
    expect(merge(doc, { metadata: { finalizers: ['three', 'one'] } })).toEqual({ metadata: { finalizers: ['three', 'one', 'two'] } })
    expect(merge(doc, { metadata: { '$deleteFromPrimitiveList/finalizers': ['one', 'none'] } })).toEqual({ metadata: { finalizers: ['two'] } })
    expect(merge(doc, { metadata: { '$setElementOrder/finalizers': ['two', 'one'] } })).toEqual({ metadata: { finalizers: ['two', 'one'] } })
  })

  test('$retainKeys clears the rest', () => {
    expect(
      merge(
        { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
        { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] } },
      ),
    ).toEqual({ spec: { volumes: [{ name: 'v', configMap: { name: 'c' } }] } })
  })

  test('patchStrategy replace, and lists without strategy', () => {
    expect(merge({ spec: { selector: { a: '1' } } }, { spec: { selector: { b: '2' } } })).toEqual({ spec: { selector: { b: '2' } } })
    expect(merge({ spec: { tolerations: [{ key: 'a' }] } }, { spec: { tolerations: [{ key: 'b' }] } })).toEqual({ spec: { tolerations: [{ key: 'b' }] } })
  })

  const errors: [unknown, unknown, number, string][] = [
    [containers('a'), { spec: { containers: [{ image: 'x' }] } }, 500, 'map: map[image:x] does not contain declared merge key: name'],
    [{ metadata: { labels: {} } }, { metadata: { labels: { $patch: 7 } } }, 500, 'unknown patch type: %!s(int64=7) in map: map[$patch:7]'],
    [containers('a'), { spec: { containers: [{ name: 'a', $patch: 'x' }] } }, 500, 'unknown patch type: x in map: map[$patch:x name:a]'],
    [{}, { spec: { $retainKeys: 'x' } }, 200, ''],
    [{ spec: {} }, { spec: { $retainKeys: 'x' } }, 400, 'invalid patch format of retainKeys'],
    [{ metadata: {} }, { metadata: { $deleteFromPrimitiveList: [] } }, 400, 'invalid patch format of primitive list'],
    [{ metadata: {} }, { metadata: { '$setElementOrder/finalizers': 'a' } }, 500, 'expected a []interface {}, but received a string'],
    [{ metadata: { finalizers: [['a']] } }, { metadata: { finalizers: [['b']] } }, 422, 'the server rejected our request due to an error in our request'],
    [{ metadata: { finalizers: ['a'] } }, { metadata: { finalizers: [{}] } }, 500, 'list element types are not identical: [[a] [map[]]]'],
    [{}, [], 400, 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ]
  test.each(errors)('%j + %j', (doc, patch, code, message) => {
    if (code === 200) expect(() => merge(doc, patch)).not.toThrow()
    else expect(() => merge(doc, patch)).toThrow(expect.objectContaining({ code, message }))
  })

  test('a document merged with itself stays as it is', () => {
    const item = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), image: fc.string() })
    const doc = fc.record({
      metadata: fc.record({ name: fc.string(), labels: fc.dictionary(fc.string(), fc.string()), finalizers: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')) }),
      spec: fc.record({ containers: fc.uniqueArray(item, { selector: (c) => c.name }), replicas: fc.integer() }),
    })
    fc.assert(
      fc.property(doc, doc, (a, b) => {
        fc.pre(!Object.hasOwn(a.metadata.labels, '$patch') && !Object.hasOwn(b.metadata.labels, '$patch'))
        expect(deepEqual(merge(a, a), a)).toBe(true)
        const once = merge(a, b)
        expect(deepEqual(merge(once, b), once)).toBe(true)
      }),
    )
  })
})

test('restoreError tells the first misfit', () => {
  expect(restoreError({ spec: { containers: 'x' } }, pod)).toBe('cannot restore slice from string')
  expect(restoreError({ spec: { containers: { name: 'a' } } }, pod)).toBe('cannot restore slice from map')
  expect(restoreError({ metadata: { labels: ['x'] } }, pod)).toBe('cannot restore map from slice')
  expect(restoreError({ metadata: { name: 7 } }, pod)).toBe('cannot convert int64 to string')
  expect(restoreError({ spec: { replicas: 'x' } }, pod)).toBe('unrecognized type: int32')
  expect(restoreError({ spec: { replicas: 1 }, raw: 'any' }, pod)).toBeUndefined()
})
