import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FieldSchema, StructSchema } from '../schema/schema.ts'
import { canonicalize, decodeJSON } from './body.ts'
import { bodySummary, encodeJSON } from './encode.ts'
import { canonicalBase64 } from './scalars.ts'
import { repairSurrogates, scanJSON } from './scan.ts'
import { JSONSyntaxError, parseTree, plainValue } from './tree.ts'

const field = (name: string, schema: FieldSchema['schema'], more: Partial<FieldSchema> = {}): FieldSchema => ({
  name,
  schema,
  pointer: false,
  omitempty: true,
  ...more,
})
const struct = (name: string, fields: FieldSchema[]): StructSchema => ({
  kind: 'struct',
  name,
  fields,
  byName: new Map(fields.map((f) => [f.name, f])),
  proto: [],
})
const text = { kind: 'scalar', scalar: 'string' } as const
const inner = struct('k8s.io/x/v1.Inner', [field('a', text), field('n', { kind: 'scalar', scalar: 'int32' }, { omitempty: false })])
const outer = struct('k8s.io/x/v1.Outer', [
  field('name', text),
  field('inner', inner),
  field('maybe', inner, { pointer: true }),
  field('list', { kind: 'list', elem: inner }),
  field('map', { kind: 'map', elem: text }),
  field('raw', { kind: 'any', any: 'raw' }, { pointer: true }),
])

describe('scanJSON', () => {
  it('counts keys and depth of any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        let keys = 0
        const count = (v: unknown): number => {
          if (typeof v !== 'object' || v === null) return 0
          if (!Array.isArray(v)) keys += Object.keys(v).length
          return 1 + Math.max(0, ...Object.values(v).map(count))
        }
        const depth = count(value)
        expect(scanJSON(JSON.stringify(value))).toMatchObject({ keys, depth })
      }),
    )
  })

  it('sees numbers whose text matters', () => {
    expect(scanJSON('{"a":1,"b":true,"c":false,"d":"1.5e3"}').exact).toBe(false)
    for (const n of ['1.5', '1e3', '2.0', '1E3', '123456789012345678']) expect(scanJSON(`{"a":${n}}`).exact, n).toBe(true)
  })

  it('sees and repairs unpaired surrogates only', () => {
    expect(JSON.parse(repairSurrogates('"\\ud800 \\ud83d\\ude00 \\\\ud800"'))).toBe('\ufffd \u{1f600} \\ud800')
    expect(scanJSON('"\\ud800"').surrogates).toBe(true)
  })
})

describe('parseTree', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value)
        expect(JSON.stringify(plainValue(parseTree(json)))).toBe(JSON.stringify(JSON.parse(json)))
      }),
    )
  })

  it('refuses what JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), fc.string({ maxLength: 2 }), (value, at, junk) => {
        const json = JSON.stringify(value)
        const i = at % (json.length + 1)
        const broken = json.slice(0, i) + junk + json.slice(i + 1)
        let ok = true
        try {
          JSON.parse(broken)
        } catch {
          ok = false
        }
        if (ok) parseTree(broken)
        else expect(() => parseTree(broken)).toThrow(JSONSyntaxError)
      }),
      { numRuns: 500 },
    )
  })

  it('bounds nesting', () => {
    expect(() => decodeJSON('['.repeat(20000), outer)).toThrow("invalid character '[' exceeded max depth")
    expect(decodeJSON(`{"x":${'['.repeat(9999)}${']'.repeat(9999)}}`, outer, { strict: true }).strictErrors).toEqual(['unknown field "x"'])
  })
})

describe('decodeJSON', () => {
  it('gives the canonical form', () => {
    expect(decodeJSON('{}', outer).object).toEqual({ inner: { n: 0 } })
    expect(decodeJSON('null', outer).object).toEqual({ inner: { n: 0 } })
    expect(decodeJSON('{"name":"","list":[],"map":{},"maybe":{},"inner":null}', outer).object).toEqual({ inner: { n: 0 }, maybe: { n: 0 } })
    expect(decodeJSON('{"list":[null,{"n":-0}],"map":{"b":null,"a":"x"}}', outer).object).toEqual({
      inner: { n: 0 },
      list: [{ n: 0 }, { n: 0 }],
      map: { a: 'x', b: '' },
    })
  })

  it('merges duplicates in place and reports them', () => {
    const { object, strictErrors } = decodeJSON('{"map":{"a":"1","a":"2"},"map":{"z":"9"},"inner":{"a":"x"},"inner":{"n":3,"q":1}}', outer, { strict: true })
    expect(object).toEqual({ inner: { a: 'x', n: 3 }, map: { a: '2', z: '9' } })
    expect(strictErrors).toEqual(['duplicate field "map.a"', 'duplicate field "map"', 'duplicate field "inner"', 'unknown field "inner.q"'])
  })

  it('reports duplicates inside of what a schema leaves open', () => {
    const open: StructSchema = { ...struct('k8s.io/x/v1.Open', [field('name', text)]), preserveUnknown: true }
    const { object, strictErrors } = decodeJSON('{"spec":{"a":1,"list":[{"b":1,"b":2}],"a":2},"spec":{"a":3}}', open, { strict: true })
    expect(object).toEqual({ spec: { a: 3 } })
    expect(strictErrors).toEqual(['duplicate field "spec.list[0].b"', 'duplicate field "spec.a"', 'duplicate field "spec"'])
  })

  it('keeps __proto__ as data and leaves prototypes alone', () => {
    const { object } = decodeJSON('{"map":{"__proto__":"x"},"raw":{"__proto__":{"polluted":1}},"__proto__":{"name":"y"}}', outer)
    expect(Object.keys(object.map as object)).toEqual(['__proto__'])
    expect(encodeJSON(object)).toContain('"map":{"__proto__":"x"}')
    expect(object.name).toBeUndefined()
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('refuses integers that are none', () => {
    for (const n of ['2.0', '1e2', '2147483648']) {
      expect(() => decodeJSON(`{"inner":{"n":${n}}}`, outer)).toThrow(`json: cannot unmarshal number ${n} into Go struct field Inner.inner.n of type int32`)
    }
  })

  it('agrees with canonicalize on any value', () => {
    const value = fc.record(
      {
        name: fc.oneof(fc.string(), fc.constant(null)),
        inner: fc.record({ a: fc.string(), n: fc.integer() }, { requiredKeys: [] }),
        list: fc.array(fc.record({ n: fc.integer(), junk: fc.boolean() }, { requiredKeys: [] })),
        map: fc.dictionary(fc.string(), fc.string()),
        raw: fc.jsonValue(),
        other: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(value, (v) => {
        const json = JSON.stringify(v)
        expect(decodeJSON(json, outer, { strict: true })).toEqual(canonicalize(JSON.parse(json), outer, { strict: true }))
      }),
    )
  })
})

describe('texts', () => {
  it('base64 is canonical', () => {
    expect(canonicalBase64('YWI=')).toBe('YWI=')
    expect(canonicalBase64('YWJ=')).toBe('YWI=')
    expect(canonicalBase64('YW\nI=')).toBe('YWI=')
    for (const [bad, at] of [
      ['not base64!', 3],
      ['abc', 0],
      ['%%', 0],
      ['YWI=YWI=', 4],
      ['=', 0],
    ] as const)
      expect(() => canonicalBase64(bad)).toThrow(`illegal base64 data at input byte ${at}`)
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        (bytes) => canonicalBase64(Buffer.from(bytes).toString('base64')) === Buffer.from(bytes).toString('base64'),
      ),
    )
  })

  it('escapes for HTML', () => {
    expect(encodeJSON({ a: '<&>\u2028' })).toBe('{"a":"\\u003c\\u0026\\u003e\\u2028"}')
  })

  it('summarizes bodies', () => {
    expect(bodySummary(new Uint8Array())).toBe('<empty>')
    expect(bodySummary(Buffer.from('plain words'))).toBe('706c61696e20776f726473')
    expect(bodySummary(Buffer.from('{"metadata":{"name":"x"}} trailing'))).toBe('{"metadata":{"name":"x"}} trai ...')
  })
})
