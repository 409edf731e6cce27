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
