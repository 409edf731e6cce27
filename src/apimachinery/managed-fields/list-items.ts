import { compareJson } from './fields.ts'
import type { KeyedNode, SetNode } from './typed-node.ts'

/** What a list item cannot be known by; the text is upstream's. */
export class ItemError extends Error {}

export type ItemsNode = KeyedNode | SetNode

/** The path element of one item of a list that is owned item by item. */
export function itemElement(node: ItemsNode, item: unknown): string {
  return node.kind === 'set' ? setElement(item) : keyedElement(node, item)
}

function setElement(item: unknown): string {
  if (item === null || item === undefined) throw new ItemError("associative list without keys has an element that's an explicit null")
  if (Array.isArray(item)) throw new ItemError('not supporting sets of lists')
  if (typeof item === 'object') throw new ItemError("associative list without keys has an element that's a map type")
  return `v:${JSON.stringify(item)}`
}

function keyedElement(node: KeyedNode, item: unknown): string {
  if (item === null || item === undefined) throw new ItemError('associative list with keys may not have a null element')
  if (typeof item !== 'object' || Array.isArray(item)) throw new ItemError('associative list with keys may not have non-map elements')
  let out = ''
  for (const key of node.keys) {
    const value = keyValue(key, item as Record<string, unknown>)
    if (value === undefined) continue
    out += `${out === '' ? '' : ','}${JSON.stringify(key.name)}:${JSON.stringify(value)}`
  }
  if (out === '') {
    const names = `[${node.keys.map((k) => JSON.stringify(k.name)).join(' ')}]`
    throw new ItemError(`associative list with keys has an element that omits all key fields ${names} (and doesn't have default values for any key fields)`)
  }
  return `k:{${out}}`
}

function keyValue(key: { name: string; default: unknown }, item: Record<string, unknown>): unknown {
  return Object.hasOwn(item, key.name) ? item[key.name] : key.default
}

/** Two items in the order of their elements. */
export function compareItems(node: ItemsNode, a: unknown, b: unknown): number {
  if (node.kind === 'set') return compareJson(a, b)
  for (const key of node.keys) {
    const va = keyValue(key, a as Record<string, unknown>)
    const vb = keyValue(key, b as Record<string, unknown>)
    if (va === vb) continue
    if (va === undefined || vb === undefined) return va === undefined ? 1 : -1
    const c = compareJson(va, vb)
    if (c !== 0) return c
  }
  return 0
}
