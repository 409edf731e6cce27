import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deepEqual, deepFreeze } from '../../base/deep-freeze.ts'
import type { KubeObject } from '../object.ts'
import { SchemaRegistry } from '../schema/registry.ts'
import type { PackageTable } from '../schema/schema.ts'
import { difference, type Fields, intersection, LEAF, parseFields, paths, union } from './fields.ts'
import { applyPatch, excludeFilter, onlyFilter, updateManagedFields } from './index.ts'
import { excludeFields } from './reset-fields.ts'

const table: PackageTable = {
  importPath: 'example.com/v1',
  group: 'example.com',
  version: 'v1',
  protoPackage: '',
  types: {
    Thing: {
      f: [
        { n: 'apiVersion', t: 'string', o: 1 },
        { n: 'kind', t: 'string', o: 1 },
        { n: 'metadata', t: 'Meta' },
        { n: 'spec', t: 'Spec' },
        { n: 'status', t: 'Status' },
      ],
    },
    Meta: {
      f: [
        { n: 'name', t: 'string', o: 1 },
        { n: 'uid', t: 'string', o: 1 },
        { n: 'labels', t: 'map[string]string', o: 1 },
        { n: 'managedFields', t: '[]Any', o: 1, lt: 'atomic' },
      ],
    },
    Any: { s: 'raw' },
    Spec: {
      f: [
        { n: 'replicas', t: '*int32', o: 1 },
        { n: 'items', t: '[]Item', lt: 'map', lk: ['name'] },
        { n: 'tags', t: '[]string', o: 1, lt: 'set' },
        { n: 'args', t: '[]string', o: 1 },
        { n: 'selector', t: 'map[string]string', o: 1, mt: 'atomic' },
      ],
    },
    Item: {
      f: [
        { n: 'name', t: 'string' },
        { n: 'value', t: 'string', o: 1 },
      ],
    },
    Status: { f: [{ n: 'phase', t: 'string', o: 1 }] },
  },
}
const schema = new SchemaRegistry(new Map([['example.com/v1', () => table]])).structType('example.com/v1.Thing')
const base = { schema, apiVersion: 'example.com/v1', time: '2026-01-01T00:00:00Z' }

const element = fc.constantFrom('f:a', 'f:b', 'f:c', 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"q"', 'v:7', 'i:0')
const set: fc.Arbitrary<Fields> = fc
  .letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      fc.constant({}),
      fc.tuple(fc.boolean(), fc.dictionary(element, tie('node'), { maxKeys: 4 })).map(([self, below]) => ({ ...(self ? { '.': {} } : {}), ...below })),
    ),
    root: fc.dictionary(element, tie('node'), { maxKeys: 4 }),
  }))
  .root.map((v) => parseFields(v))
const sorted = (s: Fields) => paths(s).sort()

describe('field sets', () => {
  test('are sets of paths', () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        deepFreeze(a)
        deepFreeze(b)
        const pa = new Set(paths(a))
        const pb = new Set(paths(b))
        expect(sorted(union(a, b))).toEqual([...new Set([...pa, ...pb])].sort())
        expect(sorted(intersection(a, b))).toEqual([...pa].filter((p) => pb.has(p)).sort())
        expect(sorted(difference(a, b))).toEqual([...pa].filter((p) => !pb.has(p)).sort())
      }),
    )
  })
  test('stay canonical, and so do their results', () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        for (const s of [a, union(a, b), difference(a, b), intersection(a, b)]) expect(JSON.stringify(parseFields(s))).toBe(JSON.stringify(s))
      }),
    )
  })
  test('order and spelling of what clients send does not matter', () => {
    expect(JSON.stringify(parseFields({ 'v:2': {}, 'k:{"b":1,"a":2}': null, 'f:z': {}, 'f:a': { 'f:x': {}, '.': {} }, 'q:1': {} }))).toBe(
      '{"f:a":{".":{},"f:x":{}},"f:z":{},"k:{\\"a\\":2,\\"b\\":1}":{},"v:2":{}}',
    )
    expect(() => parseFields([])).toThrow()
    expect(() => parseFields({ __proto__x: {} })).toThrow()
  })
  test('filters', () => {
    const s = parseFields({ 'f:spec': { 'f:a': { 'k:{"name":"x"}': { 'f:r': {}, 'f:s': {} } }, 'f:b': {} }, 'f:status': { 'f:p': {} } })
    expect(paths(excludeFields(s, excludeFilter('status', 'spec.b')))).toEqual(['.spec.a[name="x"].r', '.spec.a[name="x"].s'])
    expect(paths(excludeFields(s, onlyFilter('spec.a.*.r')))).toEqual(['.spec.a[name="x"].r'])
  })
})

const item = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), value: fc.constantFrom('1', '2') })
const spec = fc.record(
  {
    replicas: fc.integer({ min: 0, max: 3 }),
    items: fc.uniqueArray(item, { selector: (i) => i.name, maxLength: 4 }),
    tags: fc.uniqueArray(fc.constantFrom('p', 'q', 'r'), { minLength: 1, maxLength: 3 }),
    args: fc.array(fc.constantFrom('x', 'y'), { minLength: 1, maxLength: 2 }),
    selector: fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('1', '2'), { minKeys: 1 }),
  },
  { requiredKeys: [] },
)
const thing = fc
  .record({ labels: fc.dictionary(fc.constantFrom('m', 'n', '__proto__'), fc.constantFrom('1', '2'), { minKeys: 1 }), spec })
  .map(({ labels, spec }) => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't', labels }, spec, status: {} }) as unknown as KubeObject)
/** What decoding and storing do: empty optional fields go, `items` is null when empty. */
const store = (object: KubeObject, managedFields: readonly unknown[]): KubeObject => {
  const { spec, ...rest } = object as unknown as { spec: Record<string, unknown> | null }
  const { labels, managedFields: _, ...metadata } = object.metadata
  const full = Object.entries(spec ?? {}).filter(([, v]) => v !== null && (typeof v !== 'object' || Object.keys(v).length > 0))
  return deepFreeze({
    ...rest,
    metadata: { ...metadata, uid: 'u', ...(labels && Object.keys(labels).length ? { labels } : {}), ...(managedFields.length ? { managedFields } : {}) },
    spec: { items: null, ...Object.fromEntries(full) },
  }) as unknown as KubeObject
}

describe('server-side apply', () => {
  const apply = (live: KubeObject | undefined, applied: KubeObject, manager: string, force = true) => {
    const r = applyPatch({ ...base, kind: 'Thing', liveObject: live, appliedObject: deepFreeze(applied), manager, force })
    return store(r.object, r.managedFields)
  }
  test('twice is once', () => {
    fc.assert(
      fc.property(thing, thing, thing, (start, a, b) => {
        const live = apply(apply(apply(undefined, start, 'x'), a, 'y'), b, 'x')
        expect(deepEqual(apply(live, b, 'x', false), live)).toBe(true)
      }),
    )
  })
  test('what one manager applies after another holds, and what it stops applying goes unless shared', () => {
    fc.assert(
      fc.property(thing, thing, (a, b) => {
        const one = apply(undefined, a, 'x')
        const two = apply(one, b, 'x')
        const fresh = apply(undefined, b, 'x')
        expect((two as unknown as { spec: unknown }).spec).toEqual((fresh as unknown as { spec: unknown }).spec)
      }),
    )
  })
})

describe('updates', () => {
  const update = (old: KubeObject | undefined, next: KubeObject, manager: string, time = base.time) =>
    updateManagedFields({ ...base, time, oldObject: old, newObject: next, manager })

  test('everything changed belongs to the one who changed it, and to nobody else', () => {
    fc.assert(
      fc.property(thing, thing, (a, b) => {
        const one = store(a, update(undefined, a, 'x'))
        const entries = update(
          one,
          { ...b, metadata: { ...b.metadata, uid: 'u', ...(one.metadata.managedFields ? { managedFields: one.metadata.managedFields } : {}) } },
          'y',
        )
        const owned = entries.map((e) => new Set(paths(e.fieldsV1 as unknown as Fields)))
        if (owned.length === 2) for (const p of owned[0] as Set<string>) expect(owned[1]?.has(p)).toBe(false)
      }),
    )
  })
  const cm = (n: number) =>
    ({
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: 't', labels: { [`l${n}`]: '1' } },
      spec: { items: null },
      status: {},
    }) as unknown as KubeObject
  test('more than ten updaters fold the oldest', () => {
    let live: KubeObject | undefined
    for (let i = 0; i < 15; i++) {
      const labels = { ...live?.metadata.labels, [`l${i}`]: '1' }
      const next = { ...cm(i), metadata: { ...live?.metadata, name: 't', labels } } as KubeObject
      live = store(next, update(live, deepFreeze(next), `m${i}`, `2026-01-01T00:00:${10 + i}Z`))
    }
    const entries = live?.metadata.managedFields ?? []
    expect(entries).toHaveLength(10)
    expect(entries[0]).toMatchObject({ manager: 'ancient-changes', time: '2026-01-01T00:00:15Z' })
    expect(paths(entries[0]?.fieldsV1 as unknown as Fields)).toHaveLength(7)
  })
  test('nothing changed: the very same entries', () => {
    const one = store(cm(1), update(undefined, cm(1), 'x'))
    expect(update(one, { ...one }, 'y')).toBe(one.metadata.managedFields)
  })
  test('an emptied list stays empty until the next apply', () => {
    const one = store(cm(1), update(undefined, cm(1), 'x'))
    const emptied = update(one, { ...one, metadata: { ...one.metadata, managedFields: [] } }, 'y')
    expect(emptied).toEqual([])
    const { managedFields: _, ...metadata } = one.metadata
    const bare = deepFreeze({ ...one, metadata }) as KubeObject
    expect(update(bare, { ...bare, metadata: { ...metadata, labels: { z: '1' } } }, 'y')).toEqual([])
  })
  test('an item without key: no entries rather than wrong ones', () => {
    const bad = { ...cm(1), spec: { items: [null] } } as unknown as KubeObject
    expect(update(undefined, bad, 'x')).toEqual([])
  })
  test('leaf constants are never written to', () => {
    update(undefined, cm(3), 'x')
    expect(Object.keys(LEAF)).toEqual([])
  })
})
