/**
 * A set of field paths in the form of FieldsV1: every key is a path element (`f:name`, `k:{"name":"a"}`, `v:"x"`, `i:0`),
 * its value the set below it; `.` says that the path itself is a member, as does an empty value. Sets are immutable and
 * share structure; keys are in upstream's order: `.`, fields, keys, values, indexes.
 */
export interface Fields {
  readonly [element: string]: Fields
}
export type MutableFields = Record<string, Fields>

/** A member with nothing below it. */
export const LEAF: Fields = Object.freeze({})
/** The empty set (as a root; roots are never members themselves). */
export const NOTHING: Fields = LEAF

export function isNothing(set: Fields): boolean {
  for (const _ in set) return false
  return true
}

function isMember(node: Fields): boolean {
  return Object.hasOwn(node, '.') || isNothing(node)
}

/** Everything in either set. */
export function union(a: Fields, b: Fields): Fields {
  if (a === b || isNothing(b)) return a
  if (isNothing(a)) return b
  return unionBelow(a, b, false)
}

function unionNodes(a: Fields, b: Fields): Fields {
  if (a === b) return a
  return unionBelow(a, b, isMember(a) || isMember(b))
}

function unionBelow(a: Fields, b: Fields, member: boolean): Fields {
  const out: MutableFields = {}
  if (member) out['.'] = LEAF
  let added = false
  for (const e in a) if (e !== '.') out[e] = Object.hasOwn(b, e) ? unionNodes(a[e] as Fields, b[e] as Fields) : (a[e] as Fields)
  for (const e in b) {
    if (e === '.' || Object.hasOwn(out, e)) continue
    out[e] = b[e] as Fields
    added = true
  }
  return finish(added ? sortElements(out) : out, member)
}

/** A node with only its own mark is a leaf. */
function finish(node: MutableFields, member: boolean): Fields {
  if (!member) return node
  for (const e in node) if (e !== '.') return node
  return LEAF
}

/** What is in `a` and not in `b`; with `deep`, members of `b` take everything below them along. */
export function difference(a: Fields, b: Fields, deep = false): Fields {
  return below(a, b, deep, false) ?? NOTHING
}

function differenceNode(a: Fields, b: Fields, deep: boolean): Fields | undefined {
  const taken = isMember(b)
  if (deep && taken) return undefined
  const member = isMember(a)
  if (member && !taken) {
    const rest = below(a, b, deep, true)
    return rest === undefined ? LEAF : rest
  }
  return below(a, b, deep, false)
}

/** The children of `a` without those of `b`, under a node that is a member or not; undefined when there are none (LEAF stays the caller's). */
function below(a: Fields, b: Fields, deep: boolean, member: boolean): Fields | undefined {
  let same = member === Object.hasOwn(a, '.')
  let any = false
  const out: MutableFields = {}
  if (member) out['.'] = LEAF
  for (const e in a) {
    if (e === '.') continue
    const mine = a[e] as Fields
    const left = Object.hasOwn(b, e) ? differenceNode(mine, b[e] as Fields, deep) : mine
    if (left !== mine) same = false
    if (left === undefined) continue
    out[e] = left
    any = true
  }
  if (!any) return undefined
  return same ? a : out
}

/** What is in both sets. */
export function intersection(a: Fields, b: Fields): Fields {
  return intersectBelow(a, b, false) ?? NOTHING
}

function intersectBelow(a: Fields, b: Fields, member: boolean): Fields | undefined {
  const out: MutableFields = {}
  let any = false
  for (const e in a) {
    if (e === '.' || !Object.hasOwn(b, e)) continue
    const x = a[e] as Fields
    const y = b[e] as Fields
    const both = isMember(x) && isMember(y)
    const node = intersectBelow(x, y, both) ?? (both ? LEAF : undefined)
    if (node === undefined) continue
    if (!any && member) out['.'] = LEAF
    out[e] = node
    any = true
  }
  return any ? out : undefined
}

export function hasMember(set: Fields, element: string): boolean {
  return Object.hasOwn(set, element) && isMember(set[element] as Fields)
}

/** The set below an element; undefined when nothing is below it. */
export function childrenOf(set: Fields, element: string): Fields | undefined {
  if (!Object.hasOwn(set, element)) return undefined
  const node = set[element] as Fields
  for (const e in node) if (e !== '.') return node
  return undefined
}

/** All member paths as messages show them (`.spec.containers[name="a"].image`): the members of a level first, then what is below. */
export function paths(set: Fields, prefix = ''): string[] {
  const out: string[] = []
  for (const e in set) if (e !== '.' && isMember(set[e] as Fields)) out.push(prefix + elementText(e))
  for (const e in set) if (e !== '.') out.push(...paths(set[e] as Fields, prefix + elementText(e)))
  return out
}

/** One path element as messages show it. */
export function elementText(element: string): string {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${rest}`
    case 'k': {
      const key = JSON.parse(rest) as Record<string, unknown>
      return `[${Object.keys(key)
        .map((k) => `${k}=${JSON.stringify(key[k])}`)
        .join(',')}]`
    }
    case 'v':
      return `[=${rest}]`
    default:
      return `[${rest}]`
  }
}

const RANK: Record<string, number> = { '.': 0, f: 1, k: 2, v: 3, i: 4 }

export function compareElements(a: string, b: string): number {
  if (a === b) return 0
  const kind = a[0] as string
  if (kind !== b[0]) return (RANK[kind] ?? 9) - (RANK[b[0] as string] ?? 9)
  if (kind === 'f' || kind === '.') return a < b ? -1 : 1
  return compareJson(JSON.parse(a.slice(2)), JSON.parse(b.slice(2)), kind === 'k')
}

/** Numbers, then strings, then booleans; keys (objects) by their names, then values. */
export function compareJson(a: unknown, b: unknown, keys = false): number {
  if (keys) {
    const ka = Object.entries(a as object)
    const kb = Object.entries(b as object)
    for (let i = 0; i < Math.min(ka.length, kb.length); i++) {
      const [na, va] = ka[i] as [string, unknown]
      const [nb, vb] = kb[i] as [string, unknown]
      if (na !== nb) return na < nb ? -1 : 1
      const c = compareJson(va, vb)
      if (c !== 0) return c
    }
    return ka.length - kb.length
  }
  const rank = (v: unknown) => (typeof v === 'number' ? 0 : typeof v === 'string' ? 1 : typeof v === 'boolean' ? 2 : 3)
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (typeof a === 'number') return a - (b as number)
  if (typeof a === 'string') return a < (b as string) ? -1 : a === b ? 0 : 1
  if (typeof a === 'boolean') return Number(a) - Number(b)
  const ta = JSON.stringify(a)
  const tb = JSON.stringify(b)
  return ta < tb ? -1 : ta === tb ? 0 : 1
}

/** A node with its elements in order. */
export function sortElements(node: MutableFields): MutableFields {
  const keys = Object.keys(node)
  let sorted = true
  for (let i = 1; i < keys.length && sorted; i++) sorted = compareElements(keys[i - 1] as string, keys[i] as string) < 0
  if (sorted) return node
  const out: MutableFields = {}
  for (const e of keys.sort(compareElements)) out[e] = node[e] as Fields
  return out
}

/**
 * A field set as it came from a client, brought into canonical form. Elements of unknown kinds are dropped, as they may be
 * a later version's.
 * @throws Error for what is no field set
 */
export function parseFields(value: unknown): Fields {
  if (value === null || value === undefined) return NOTHING
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('fieldsV1 must be an object')
  const node: MutableFields = {}
  let member = false
  for (const [element, child] of Object.entries(value)) {
    if (element === '.') {
      member = true
      continue
    }
    const canonical = canonicalElement(element)
    if (canonical !== undefined) node[canonical] = parseFields(child)
  }
  if (!member) return sortElements(node)
  return finish(sortElements({ '.': LEAF, ...node }), true)
}

function canonicalElement(element: string): string | undefined {
  if (element.length < 2) throw new Error(`key must be 2 characters long:`)
  if (element[1] !== ':') throw new Error(`missing colon: ${element}`)
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return element
    case 'v':
      return `v:${JSON.stringify(JSON.parse(rest))}`
    case 'i': {
      if (!/^-?\d+$/.test(rest)) throw new Error(`invalid index ${rest}`)
      return `i:${Number(rest)}`
    }
    case 'k': {
      const key = JSON.parse(rest) as unknown
      if (key === null || typeof key !== 'object' || Array.isArray(key)) throw new Error('key must be an object')
      return keyElement(Object.entries(key))
    }
    default:
      return undefined
  }
}

/** `k:{…}` with its names sorted. */
export function keyElement(key: readonly (readonly [string, unknown])[]): string {
  const parts = [...key].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  return `k:{${parts.join(',')}}`
}
