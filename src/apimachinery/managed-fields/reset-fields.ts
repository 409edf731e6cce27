import { difference, type Fields, LEAF, type MutableFields, sortElements } from './fields.ts'

/**
 * Fields that an endpoint does not write: `exclude` with everything below them, or all but what `only` lets through.
 * Both are trees of path elements; in `only`, `k:*` stands for every list item.
 */
export interface FieldFilter {
  readonly exclude?: Fields
  readonly only?: Fields
}

/** A tree of plain field names, such as `spec` and `metadata.labels`, as a filter. */
export function excludeFilter(...fieldPaths: string[]): FieldFilter {
  return { exclude: tree(fieldPaths) }
}

/** Everything but the named fields; `*` as a segment means every list item. */
export function onlyFilter(...fieldPaths: string[]): FieldFilter {
  return { only: tree(fieldPaths) }
}

function tree(fieldPaths: readonly string[]): Fields {
  const root: MutableFields = {}
  for (const path of fieldPaths) {
    let node = root
    const segments = path.split('.')
    segments.forEach((segment, i) => {
      const element = segment === '*' ? 'k:*' : `f:${segment}`
      if (i === segments.length - 1) node[element] ??= LEAF
      else {
        const next = { ...node[element] } as MutableFields
        node[element] = next
        node = next
      }
    })
  }
  return sortTree(root)
}

function sortTree(node: Fields): Fields {
  const keys = Object.keys(node)
  if (keys.some((k) => k === 'k:*')) return node
  const out: MutableFields = {}
  for (const e of keys) out[e] = sortTree(node[e] as Fields)
  return sortElements(out)
}

/** What of the set the endpoint does write. */
export function excludeFields(fields: Fields, filter: FieldFilter): Fields {
  let out = fields
  if (filter.only) out = keep(out, filter.only) ?? LEAF
  if (filter.exclude) out = difference(out, filter.exclude, true)
  return out
}

function keep(fields: Fields, pattern: Fields): Fields | undefined {
  const out: MutableFields = {}
  let any = false
  for (const e in fields) {
    if (e === '.') continue
    const p = Object.hasOwn(pattern, e) ? pattern[e] : e[0] !== 'f' && Object.hasOwn(pattern, 'k:*') ? pattern['k:*'] : undefined
    if (p === undefined) continue
    const isEnd = Object.keys(p).length === 0
    const kept = isEnd ? fields[e] : keep(fields[e] as Fields, p)
    if (kept === undefined) continue
    out[e] = kept
    any = true
  }
  return any ? out : undefined
}
