import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canonicalize, decodeJSON, encodeJSON } from '../apimachinery/json/index.ts'
import { decodeProtobuf, encodeProtobuf } from '../apimachinery/protobuf/index.ts'
import { goldenFolder } from '../testing/golden.ts'
import { scheme } from './scheme.ts'

const golden = goldenFolder('v1.36')

interface Sample {
  file: string
  text: string
  value: Record<string, unknown>
  schema: NonNullable<ReturnType<typeof scheme.schemaOf>>
}

function samples(): Sample[] {
  const out: Sample[] = []
  for (const file of readdirSync(golden).filter((f) => f.endsWith('.json'))) {
    const text = readFileSync(join(golden, file), 'utf8')
    const value = JSON.parse(text) as Record<string, unknown>
    const [, group, version, kind] = /^(.*)\.([^.]+)\.([^.]+)\.json$/.exec(file) as RegExpExecArray as unknown as [string, string, string, string]
    const schema = scheme.schema({ group: group === 'core' ? '' : group, version, kind })
    if (schema) out.push({ file, text, value, schema })
  }
  return out
}

describe.skipIf(!golden)('every kind with every field', () => {
  const all = golden ? samples() : []

  it('is known', () => {
    const unknown = readdirSync(golden || '.').filter((f) => f.endsWith('.json') && !all.some((s) => s.file === f))
    expect(unknown).toEqual([])
    expect(all.length).toBeGreaterThan(80)
  })

  it.each(all.map((s) => [s.file, s] as const))('%s: JSON decodes to itself, the fast and the long way', (_, s) => {
    const fast = decodeJSON(s.text, s.schema, { strict: true })
    expect(fast.strictErrors).toEqual([])
    expect(fast.object).toEqual(s.value)
    expect(encodeJSON(fast.object)).toBe(encodeJSON(canonicalize(s.value, s.schema).object))
    const long = decodeJSON(s.text.replace('{', '{"kind":"x",'), s.schema, { strict: true })
    expect(long.object).toEqual(s.value)
    expect(long.strictErrors).toEqual([s.schema.byName.has('kind') ? 'duplicate field "kind"' : 'unknown field "kind"'])
  })

  it.each(all.map((s) => [s.file, s] as const))('%s: protobuf decodes to the JSON value and encodes to the same bytes', (_, s) => {
    const bytes = readFileSync(join(golden, s.file.replace(/json$/, 'pb')))
    expect(decodeProtobuf(bytes, s.schema)).toEqual(s.value)
    expect(Buffer.from(encodeProtobuf(s.value, s.schema)).toString('hex')).toBe(bytes.toString('hex'))
  })

  it('decodes an empty object of every kind the same way in both directions', () => {
    for (const s of all) {
      const { object } = decodeJSON('{}', s.schema)
      expect(decodeJSON(encodeJSON(object), s.schema, { strict: true })).toEqual({ object, strictErrors: [] })
      expect(decodeProtobuf(encodeProtobuf(object, s.schema), s.schema)).toEqual(object)
    }
  })
})
