const UNITS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** A Go duration such as `1h30m` in ms; undefined when it is none. */
export function parseGoDuration(text: string): number | undefined {
  let rest = text
  let sign = 1
  if (rest.startsWith('-') || rest.startsWith('+')) {
    if (rest.startsWith('-')) sign = -1
    rest = rest.slice(1)
  }
  if (rest === '0') return 0
  if (rest === '') return undefined
  let total = 0
  while (rest !== '') {
    let i = 0
    while (i < rest.length && ((rest.charCodeAt(i) >= 48 && rest.charCodeAt(i) <= 57) || rest[i] === '.')) i++
    const number = Number(rest.slice(0, i))
    if (i === 0 || !Number.isFinite(number)) return undefined
    let j = i
    while (j < rest.length && !(rest.charCodeAt(j) >= 48 && rest.charCodeAt(j) <= 57) && rest[j] !== '.') j++
    const unit = rest.slice(i, j)
    if (!Object.hasOwn(UNITS, unit)) return undefined
    total += number * (UNITS[unit] as number)
    rest = rest.slice(j)
  }
  return sign * total
}
