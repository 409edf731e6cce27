import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SortedMap } from './sorted-map.ts'

interface Item {
  key: string
  n: number
}

it('is a sorted map, and what it was before stays as it was', () => {
  const key = fc.integer({ min: 0, max: 400 }).map((n) => `k${n.toString(36)}`)
  fc.assert(
    fc.property(
      fc.array(fc.record({ key, n: fc.nat(), remove: fc.boolean() }), { maxLength: 600, size: 'max' }),
      key,
      key,
      fc.nat(9),
      (changes, a, b, limit) => {
        const model = new Map<string, Item>()
        let map = SortedMap.empty<Item>()
        let middle: { map: SortedMap<Item>; wanted: Item[] } | undefined
        const sorted = () => [...model.values()].sort((x, y) => (x.key < y.key ? -1 : 1))
        for (const [i, { key: k, n, remove }] of changes.entries()) {
          if (remove) {
            model.delete(k)
            map = map.delete(k)
          } else {
            model.set(k, { key: k, n })
            map = map.set({ key: k, n })
          }
          if (i === changes.length >> 1) middle = { map, wanted: sorted() }
        }
        const wanted = sorted()
        expect(map.slice('', '\0')).toEqual(wanted)
        expect(map.size).toBe(wanted.length)
        const inside = wanted.filter((x) => x.key >= a && x.key < b)
        expect(map.count(a, b)).toBe(inside.length)
        expect(map.slice(a, b, limit)).toEqual(limit ? inside.slice(0, limit) : inside)
        expect(map.get(a)).toEqual(model.get(a))
        if (middle) expect(middle.map.slice('', '\0')).toEqual(middle.wanted)
        const built = SortedMap.fromSorted(wanted)
        expect(built.count(a, '\0')).toBe(wanted.filter((x) => x.key >= a).length)
        expect(built.set({ key: 'kzzz', n: 1 }).delete(a).size).toBe(wanted.length + 1 - (model.has(a) ? 1 : 0))
      },
    ),
    { numRuns: 60 },
  )
})
