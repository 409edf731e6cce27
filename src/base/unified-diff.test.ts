import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unifiedDiff } from './unified-diff.ts'

/** Applies a unified diff; what it says of the old text must be so. */
function patch(a: readonly string[], diff: string): string[] {
  const out: string[] = []
  let at = 0
  for (const line of diff.split('\n').slice(0, -1)) {
    const head = /^@@ -(\d+),\d+ \+\d+,\d+ @@$/.exec(line)
    if (head) while (at < Number(head[1]) - 1) out.push(a[at++] as string)
    else if (line.startsWith('+')) out.push(line.slice(1))
    else {
      expect(line.slice(1)).toBe(a[at])
      at++
      if (line.startsWith(' ')) out.push(line.slice(1))
    }
  }
  return [...out, ...a.slice(at)]
}

describe('unifiedDiff', () => {
  it('turns one text into the other', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', '{', '}'), { maxLength: 30 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(patch(a, unifiedDiff(a, b))).toEqual(b)
      }),
    )
  })

  it('keeps changes that are far apart in hunks of their own', () => {
    const a = Array.from({ length: 20 }, (_, i) => `line ${i}`)
    const b = a.map((l, i) => (i === 2 || i === 17 ? `${l}!` : l))
    expect(unifiedDiff(a, b).match(/^@@.*@@$/gm)).toEqual(['@@ -1,6 +1,6 @@', '@@ -15,6 +15,6 @@'])
  })
})
