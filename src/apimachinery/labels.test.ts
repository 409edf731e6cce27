import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatLabelSelector, parseSelector, selectorFromLabelSelector } from './labels.ts'

const failure = (text: string) => {
  try {
    parseSelector(text)
    return 'no error'
  } catch (e) {
    return (e as Error).message
  }
}

describe('parseSelector', () => {
  it('refuses with the texts of the original', () => {
    expect(failure('a=b=c')).toBe("found '=', expected: ',' or 'end of string'")
    expect(failure('a===b')).toBe("unable to parse requirement: found '=', expected: identifier")
    expect(failure('a==b,!c,d in (x,y')).toBe("unable to parse requirement: found '', expected: ',' or ')'")
    expect(failure(',a')).toBe("found ',', expected: !, identifier, or 'end of string'")
    expect(failure('a,')).toBe("found '', expected: identifier after ','")
    expect(failure('a b')).toBe("unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt")
    expect(failure('a in b')).toBe("unable to parse requirement: found 'b' expected: '('")
    expect(failure('a>x')).toBe(`unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`)
    expect(failure('a_=b')).toMatch(/^unable to parse requirement: <nil>: Invalid value: "a_": name part must consist of alphanumeric/)
    expect(failure('a=b_')).toMatch(/^unable to parse requirement: values\[0\]\[a\]: Invalid value: "b_": a valid label must be an empty string/)
  })

  it('matches', () => {
    const matches = (s: string, labels: Record<string, string>) => parseSelector(s).matches(labels)
    expect(matches('a=1,b!=2', { a: '1' })).toBe(true)
    expect(matches('a=1,b!=2', { a: '1', b: '2' })).toBe(false)
    expect(matches('a in (1,2),!c', { a: '2' })).toBe(true)
    expect(matches('a in ()', { a: '' })).toBe(true)
    expect(matches('a notin (1,2)', {})).toBe(true)
    expect(matches('a', { a: '' })).toBe(true)
    expect(matches('a=', { a: '' })).toBe(true)
    expect(matches('a=', {})).toBe(false)
    expect(matches('a>5', { a: '6' })).toBe(true)
    expect(matches('a<5', { a: 'x' })).toBe(false)
    expect(matches('in in (in,notin)', { in: 'notin' })).toBe(true)
    expect(matches('constructor', {})).toBe(false)
    expect(parseSelector('').matches(undefined)).toBe(true)
  })

  it('prints what it reads', () => {
    expect(parseSelector('z in (b,a), a==1 ,!q,x').toString()).toBe('a==1,!q,x,z in (a,b)')
    const key = fc.stringMatching(/^[a-z]([-a-z]{0,5}[a-z])?$/)
    const term = fc.oneof(
      key,
      key.map((k) => `!${k}`),
      fc.tuple(key, fc.constantFrom('=', '==', '!='), key).map((t) => t.join('')),
      fc.tuple(key, fc.constantFrom('in', 'notin'), fc.uniqueArray(key, { minLength: 1, maxLength: 3 })).map(([k, o, v]) => `${k} ${o} (${v.join(',')})`),
    )
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), (terms) => {
        const text = parseSelector(terms.join(',')).toString()
        expect(parseSelector(text).toString()).toBe(text)
      }),
    )
  })
})

describe('selectorFromLabelSelector', () => {
  it('selects nothing without a selector and everything with an empty one', () => {
    expect(selectorFromLabelSelector(undefined).matches({})).toBe(false)
    expect(selectorFromLabelSelector({}).matches({ a: 'b' })).toBe(true)
    expect(formatLabelSelector({})).toBe('<none>')
    const s = { matchLabels: { b: '1' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['y', 'x'] }] }
    expect(formatLabelSelector(s)).toBe('a in (x,y),b=1')
    expect(() => selectorFromLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Is' }] })).toThrow('"Is" is not a valid label selector operator')
  })
})
