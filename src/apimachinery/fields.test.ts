import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldSelectorOf, parseFieldSelector } from './fields.ts'

describe('parseFieldSelector', () => {
  it('reads operators and escapes', () => {
    expect(parseFieldSelector('metadata.name=a,b!=c,d==e\\,f').requirements).toEqual([
      { field: 'metadata.name', operator: '=', value: 'a' },
      { field: 'b', operator: '!=', value: 'c' },
      { field: 'd', operator: '=', value: 'e,f' },
    ])
    expect(() => parseFieldSelector('x')).toThrow("invalid selector: 'x'; can't understand 'x'")
  })

  it('matches absent fields as empty', () => {
    expect(parseFieldSelector('spec.nodeName=').matches({})).toBe(true)
    expect(parseFieldSelector('a!=b').matches({ a: 'b' })).toBe(false)
  })

  it('reads back any value it prints', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(parseFieldSelector(fieldSelectorOf([{ field: 'f', operator: '=', value }]).toString()).requirements).toEqual([
          { field: 'f', operator: '=', value },
        ])
      }),
    )
  })
})
