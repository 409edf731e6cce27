import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

describe('BoundedMap', () => {
  it('forgets what was used least recently', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    expect(map.get('a')).toBe(1)
    map.set('c', 3)
    expect([...map]).toEqual([
      ['a', 1],
      ['c', 3],
    ])
    map.set('a', 4)
    expect([map.size, map.has('b'), map.delete('b'), [...map.keys()], [...map.values()]]).toEqual([2, false, false, ['c', 'a'], [3, 4]])
  })

  it('is a list of the last keys used, whatever is done', () => {
    const step = fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.integer({ min: 0, max: 7 }))
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const map = new BoundedMap<number, string>(4)
        let model: number[] = []
        for (const [what, key] of steps) {
          const known = model.includes(key)
          if (what === 'get') expect(map.get(key)).toBe(known ? `v${key}` : undefined)
          else if (what === 'set') map.set(key, `v${key}`)
          else map.delete(key)
          if (known || what === 'set') model = [...model.filter((k) => k !== key), ...(what === 'delete' ? [] : [key])].slice(-4)
        }
        expect([...map.keys()]).toEqual(model)
      }),
    )
  })
})
