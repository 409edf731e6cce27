const CONTEXT = 3
/** From so many lines on, lines that occur often are no anchors. */
const POPULAR_FROM = 200

interface Match {
  a: number
  b: number
  size: number
}

/** Equal blocks by the longest-match-first rule: the longest common run, then the same on both of its sides. */
function matchingBlocks(a: readonly string[], b: readonly string[]): Match[] {
  const places = new Map<string, number[]>()
  b.forEach((line, j) => {
    const list = places.get(line)
    if (list) list.push(j)
    else places.set(line, [j])
  })
  if (b.length >= POPULAR_FROM) for (const [line, list] of places) if (list.length > Math.floor(b.length / 100) + 1) places.delete(line)
  const out: Match[] = []
  const pending: [number, number, number, number][] = [[0, a.length, 0, b.length]]
  for (let range = pending.pop(); range; range = pending.pop()) {
    const [alo, ahi, blo, bhi] = range
    const m = longest(a, b, places, range)
    if (m.size === 0) continue
    out.push(m)
    pending.push([alo, m.a, blo, m.b], [m.a + m.size, ahi, m.b + m.size, bhi])
  }
  return out.sort((x, y) => x.a - y.a)
}

function longest(
  a: readonly string[],
  b: readonly string[],
  places: ReadonlyMap<string, number[]>,
  [alo, ahi, blo, bhi]: [number, number, number, number],
): Match {
  const best: Match = { a: alo, b: blo, size: 0 }
  let lengths = new Map<number, number>()
  for (let i = alo; i < ahi; i++) {
    const next = new Map<number, number>()
    for (const j of places.get(a[i] as string) ?? []) {
      if (j < blo) continue
      if (j >= bhi) break
      const size = (lengths.get(j - 1) ?? 0) + 1
      next.set(j, size)
      if (size > best.size) Object.assign(best, { a: i - size + 1, b: j - size + 1, size })
    }
    lengths = next
  }
  // Lines that are no anchors still belong to a block they touch.
  while (best.a > alo && best.b > blo && a[best.a - 1] === b[best.b - 1]) Object.assign(best, { a: best.a - 1, b: best.b - 1, size: best.size + 1 })
  while (best.a + best.size < ahi && best.b + best.size < bhi && a[best.a + best.size] === b[best.b + best.size]) best.size++
  return best
}

/** The lines that differ, in hunks with three lines around them, in the form of `diff -u` without its head. */
export function unifiedDiff(a: readonly string[], b: readonly string[]): string {
  const edits: { a: [number, number]; b: [number, number] }[] = []
  let [i, j] = [0, 0]
  for (const m of [...matchingBlocks(a, b), { a: a.length, b: b.length, size: 0 }]) {
    if (m.a > i || m.b > j) edits.push({ a: [i, m.a], b: [j, m.b] })
    ;[i, j] = [m.a + m.size, m.b + m.size]
  }
  const out: string[] = []
  for (let k = 0; k < edits.length; ) {
    let end = k + 1
    while (end < edits.length && (edits[end] as (typeof edits)[0]).a[0] - (edits[end - 1] as (typeof edits)[0]).a[1] <= 2 * CONTEXT) end++
    const group = edits.slice(k, end)
    const first = group[0] as (typeof edits)[0]
    const last = group.at(-1) as (typeof edits)[0]
    const from = Math.max(0, first.a[0] - CONTEXT)
    const to = Math.min(a.length, last.a[1] + CONTEXT)
    const fromB = first.b[0] - (first.a[0] - from)
    const toB = last.b[1] + (to - last.a[1])
    out.push(`@@ -${from + 1},${to - from} +${fromB + 1},${toB - fromB} @@`)
    let at = from
    for (const edit of group) {
      for (; at < edit.a[0]; at++) out.push(` ${a[at]}`)
      for (; at < edit.a[1]; at++) out.push(`-${a[at]}`)
      for (const line of b.slice(edit.b[0], edit.b[1])) out.push(`+${line}`)
    }
    for (; at < to; at++) out.push(` ${a[at]}`)
    k = end
  }
  return out.length === 0 ? '' : `${out.join('\n')}\n`
}
