/** What may differ between the page and a run: ages, hashes, addresses, uids, times, durations and sizes. Nothing else. */
const ALNUM = 'bcdfghjklmnpqrstvwxz2456789'

const RULES: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/\bsha256:[0-9a-f]{64}\b/g, '<digest>'],
  [/\b(containerd|simulated|builtin):\/\/[0-9a-f]{12,64}\b/g, '$1://<id>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, (m: string) => (/\.\d{6}/.test(m) ? '<microtime>' : '<time>')] as never,
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<date>'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\b/g, '<date>'],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4} \w+\b/g, '<date>'],
  [/resourceVersion: "\d+"/g, 'resourceVersion: "<n>"'],
  [new RegExp(`-[${ALNUM}]{8,10}-[${ALNUM}]{5}(?![a-z0-9])`, 'g'), '-<hash>-<random>'],
  [new RegExp(`-(?=[${ALNUM}]*\\d)[${ALNUM}]{8,10}(?![a-z0-9])`, 'g'), '-<hash>'],
  [/(pod-template-hash[=: ]+)[a-z0-9]{6,10}\b/g, '$1<hash>'],
  [/\bkube-api-access-[a-z0-9]{5}\b/g, 'kube-api-access-<random>'],
  [/\.[0-9a-f]{16}\b/g, '.<nano>'],
  [/\b(?:10|172|192)\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/g, '<ip>'],
  [/Image size: \d+ bytes/g, 'Image size: <size> bytes'],
  [/\b\d+ ms\b/g, '<age>'],
  [/\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s|m|h|d)\b/g, '<age>'],
  [/\(x\d+ over <age>\)/g, '(repeated)'],
]

/** One line in the form that is compared: what may vary is named, columns are two spaces apart. */
export function scrub(line: string): string {
  let s = line
  for (const [re, by] of RULES) s = s.replace(re, by as string)
  return s.replace(/ {2,}|\t+/g, '  ').trimEnd()
}

/** Undefined when the output is the page's; else what differs first, as a text. */
export function compare(expected: readonly string[], actual: readonly string[]): string | undefined {
  const want = trimmed(expected).map(scrub)
  const got = trimmed(actual).map(scrub)
  return match(want, got, 0, 0)
}

function trimmed(lines: readonly string[]): readonly string[] {
  let end = lines.length
  while (end > 0 && (lines[end - 1] as string).trim() === '') end--
  return lines.slice(0, end)
}

function match(want: readonly string[], got: readonly string[], w: number, g: number): string | undefined {
  for (; w < want.length; w++, g++) {
    if (want[w] === '...') {
      if (w === want.length - 1) return undefined
      let first: string | undefined
      for (let skip = g; skip <= got.length; skip++) {
        const rest = match(want, got, w + 1, skip)
        if (rest === undefined) return undefined
        first ??= rest
      }
      return `nothing after the "..." is as on the page: ${first}`
    }
    if (g >= got.length) return `the output ends where the page has: ${want[w]}`
    if (want[w] !== got[g]) return `page: ${want[w]}\n     got:  ${got[g]}`
  }
  return g < got.length ? `the output goes on where the page ends: ${got[g]}` : undefined
}
