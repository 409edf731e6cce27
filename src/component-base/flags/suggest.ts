/** `` or `; did you mean X?`: the nearest of the known words, when it is near enough. */
export function suggest(word: string, known: readonly string[], show: (word: string) => string = (w) => w): string {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const k of known) {
    const d = k.startsWith(word) && word.length >= 2 ? 1 : distance(word, k)
    if (d < bestDistance) {
      bestDistance = d
      best = k
    }
  }
  return best === undefined ? '' : `; did you mean ${show(best)}?`
}

/** Levenshtein distance with transpositions. */
function distance(a: string, b: string): number {
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i, ...new Array<number>(b.length).fill(0)])
  for (let j = 1; j <= b.length; j++) (rows[0] as number[])[j] = j
  for (let i = 1; i <= a.length; i++) {
    const row = rows[i] as number[]
    const above = rows[i - 1] as number[]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let d = Math.min((above[j] as number) + 1, (row[j - 1] as number) + 1, (above[j - 1] as number) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, ((rows[i - 2] as number[])[j - 2] as number) + 1)
      row[j] = d
    }
  }
  return (rows[a.length] as number[])[b.length] as number
}
