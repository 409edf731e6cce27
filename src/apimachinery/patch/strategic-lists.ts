import { deepEqual, setOwn } from '../../base/deep-freeze.ts'
import { isMap, type JsonMap } from './values.ts'

/** The value without nulls inside objects, at any depth; elements of lists stay. */
export function discardNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(discardNulls)
  if (!isMap(value)) return value
  const out: JsonMap = {}
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(out, key, discardNulls(value[key]))
  return out
}

/** The value without objects that carry a `$patch` directive; undefined when it is one itself. */
export function removeDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeDirectives).filter((v) => v !== undefined)
  if (!isMap(value)) return value
  if (Object.hasOwn(value, '$patch')) return undefined
  const out: JsonMap = {}
  for (const key of Object.keys(value)) {
    const kept = removeDirectives(value[key])
    if (kept !== undefined) setOwn(out, key, kept)
  }
  return out
}

/** Where `order` has an element of the item's key (the item itself when there is no merge key); -1 for nowhere. */
function position(order: readonly unknown[], item: unknown, mergeKey: string): number {
  if (mergeKey === '') return order.findIndex((x) => deepEqual(x, item))
  const key = isMap(item) && Object.hasOwn(item, mergeKey) ? item[mergeKey] : undefined
  if (key === undefined) return -1
  return order.findIndex((x) => isMap(x) && Object.hasOwn(x, mergeKey) && x[mergeKey] === key)
}

/** The items in the order in which `order` lists them (stable). */
export function orderBy(items: readonly unknown[], order: readonly unknown[], mergeKey: string): unknown[] {
  if (items.length < 2) return [...items]
  return items
    .map((item) => ({ item, at: position(order, item, mergeKey) }))
    .sort((a, b) => a.at - b.at)
    .map((x) => x.item)
}

/** Weaves two ordered lists: a left item goes first only where `order` has both and says so. */
export function mergeOrdered(left: readonly unknown[], right: readonly unknown[], order: readonly unknown[], mergeKey: string): unknown[] {
  const at = (item: unknown) => position(order, item, mergeKey)
  const leftAt = left.map(at)
  const rightAt = right.map(at)
  const out: unknown[] = []
  let i = 0
  let j = 0
  while (i < left.length && j < right.length) {
    const l = leftAt[i] as number
    const r = rightAt[j] as number
    if (l >= 0 && r >= 0 && l < r) out.push(left[i++])
    else out.push(right[j++])
  }
  while (i < left.length) out.push(left[i++])
  while (j < right.length) out.push(right[j++])
  return out
}
