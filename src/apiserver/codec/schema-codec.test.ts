import { expect, it } from 'vitest'
import type { Scheme } from '../../api/scheme.ts'
import type { StructSchema } from '../../apimachinery/schema/schema.ts'
import { deepFreeze } from '../../base/deep-freeze.ts'
import type { Expected } from './codec.ts'
import { SchemaCodec } from './schema-codec.ts'

const schema: StructSchema = { kind: 'struct', name: 'Widget', fields: [], byName: new Map(), proto: [], preserveUnknown: true }
const expected: Expected = {
  gvk: { group: 'example.com', version: 'v1', kind: 'Widget' },
  schema: () => schema,
  custom: true,
  coerce: (object) => {
    delete (object.spec as Record<string, unknown>).gone
    return ['spec.gone']
  },
}
const codec = new SchemaCodec({ schemaOf: () => undefined } as unknown as Scheme)

it('coerces a copy: the values it decodes may be shared and frozen', () => {
  const value = () => deepFreeze({ apiVersion: 'example.com/v1', kind: 'Widget', spec: { kept: 1, gone: 2 } })
  const warnings: string[] = []
  const patched = value()
  const results = [
    codec.fromPatched(patched, { kind: 'json' }, expected, 'Warn', (text) => warnings.push(text)),
    codec.fromValue(patched, expected, 'Warn', (text) => warnings.push(text)),
  ]
  for (const object of results) expect((object as unknown as { spec: unknown }).spec).toEqual({ kept: 1 })
  expect(patched).toEqual(value())
  expect(warnings).toEqual(['unknown field "spec.gone"', 'unknown field "spec.gone"'])
})

it('takes evictions in the version of older clients too, and no other version of anything else', () => {
  const open: StructSchema = { ...schema, name: 'Eviction' }
  const eviction = { gvk: { group: 'policy', version: 'v1', kind: 'Eviction' }, schema: () => open, custom: false }
  const read = (expectedKind: Expected, apiVersion: string, kind: string) =>
    codec.decode(Buffer.from(JSON.stringify({ apiVersion, kind, metadata: { name: 'p' } })), 'application/json', expectedKind, 'Strict', () => {})
  expect(read(eviction, 'policy/v1beta1', 'Eviction').metadata).toEqual({ name: 'p' })
  expect(read(eviction, 'policy/v1', 'Eviction').metadata).toEqual({ name: 'p' })
  const budget = { ...eviction, gvk: { group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' } }
  expect(() => read(budget, 'policy/v1beta1', 'PodDisruptionBudget')).toThrow(
    'the API version in the data (policy/v1beta1) does not match the expected API version (policy/v1)',
  )
})
