/** A JSON path of a printer column, such as `.spec.items[*].name`; finds the values it names. */
export type JsonPath = (object: unknown) => unknown[]

type Step = (values: readonly unknown[]) => unknown[]

/** @returns undefined for a path that makes no sense, which then finds nothing */
export function parseJsonPath(text: string): JsonPath | undefined {
  const steps: Step[] = []
  let rest = text.startsWith('$') ? text.slice(1) : text
  while (rest !== '') {
    const next = step(rest)
    if (!next) return undefined
    steps.push(next.step)
    rest = rest.slice(next.length)
  }
  return (object) => steps.reduce<unknown[]>((values, s) => s(values), [object])
}

function step(text: string): { step: Step; length: number } | undefined {
  if (text.startsWith('..')) {
    const inner = step(text.slice(1))
    return inner && { step: (values) => inner.step(values.flatMap(descendants)), length: inner.length + 1 }
  }
  const name = /^\.((?:\\.|[^.[\]\\])+)/.exec(text)
  if (name) {
    const key = (name[1] as string).replaceAll(/\\(.)/g, '$1')
    return { step: key === '*' ? children : member(key), length: name[0].length }
  }
  const quoted = /^\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]/.exec(text)
  if (quoted) return { step: member((quoted[1] ?? quoted[2] ?? '').replaceAll(/\\(.)/g, '$1')), length: quoted[0].length }
  const all = /^\[\s*\*\s*\]/.exec(text)
  if (all) return { step: children, length: all[0].length }
  const index = /^\[\s*(-?\d+)\s*\]/.exec(text)
  if (index) {
    const i = Number(index[1])
    return { step: (values) => values.flatMap((v) => (Array.isArray(v) && v.at(i) !== undefined ? [v.at(i)] : [])), length: index[0].length }
  }
  const slice = /^\[\s*(-?\d*)\s*:\s*(-?\d*)\s*\]/.exec(text)
  if (slice) {
    const from = slice[1] === '' ? 0 : Number(slice[1])
    const to = slice[2] === '' ? undefined : Number(slice[2])
    return { step: (values) => values.flatMap((v) => (Array.isArray(v) ? v.slice(from, to) : [])), length: slice[0].length }
  }
  const filter = /^\[\s*\?\(\s*@((?:\.[\w-]+)+)\s*(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|-?[\d.]+|true|false)\s*\)\s*\]/.exec(text)
  if (!filter) return undefined
  const path = parseJsonPath(filter[1] as string)
  const literal = filter[3] as string
  const wanted: unknown = /^['"]/.test(literal) ? literal.slice(1, -1) : JSON.parse(literal)
  const holds = (item: unknown) => (path?.(item) ?? []).some((v) => compare(v, filter[2] as string, wanted))
  return { step: (values) => values.flatMap((v) => (Array.isArray(v) ? v.filter(holds) : [])), length: filter[0].length }
}

function compare(value: unknown, operator: string, wanted: unknown): boolean {
  if (typeof value !== typeof wanted) return operator === '!='
  const a = value as string
  const b = wanted as string
  switch (operator) {
    case '==':
      return a === b
    case '!=':
      return a !== b
    case '<':
      return a < b
    case '>':
      return a > b
    case '<=':
      return a <= b
    default:
      return a >= b
  }
}

function member(key: string): Step {
  return (values) =>
    values.flatMap((v) => (v !== null && typeof v === 'object' && !Array.isArray(v) && Object.hasOwn(v, key) ? [(v as Record<string, unknown>)[key]] : []))
}

const children: Step = (values) => values.flatMap((v) => (v !== null && typeof v === 'object' ? Object.values(v) : []))

function descendants(value: unknown): unknown[] {
  if (value === null || typeof value !== 'object') return []
  return [value, ...Object.values(value).flatMap(descendants)]
}
