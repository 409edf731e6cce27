import { deepEqual, isObject } from '../../base/deep-freeze.ts'
import { type Fields, LEAF, type MutableFields, sortElements } from './fields.ts'
import { compareItems, type ItemsNode, itemElement } from './list-items.ts'
import { DEDUCED_NODE, type StructNode, type TypedNode } from './typed-node.ts'

/** What differs between two objects, as field sets; absent for none. */
export interface Comparison {
  added?: Fields
  removed?: Fields
  modified?: Fields
}

type MutableComparison = { added?: MutableFields; removed?: MutableFields; modified?: MutableFields }

const ADDED: Comparison = Object.freeze({ added: LEAF })
const REMOVED: Comparison = Object.freeze({ removed: LEAF })
const MODIFIED: Comparison = Object.freeze({ modified: LEAF })

type Json = Record<string, unknown>

/**
 * Compares two values of a type; undefined when they are equal. Parts that are the same object are not looked into.
 * @throws ItemError when a list item has no key
 */
export function compare(node: TypedNode, left: unknown, right: unknown): Comparison | undefined {
  if (left === right) return undefined
  switch (node.kind) {
    case 'leaf':
      return leaf(left, right)
    case 'struct': {
      const l = isObject(left) ? left : undefined
      const r = isObject(right) ? right : undefined
      if (isEmpty(l) && isEmpty(r)) return leaf(left, right)
      return compareStruct(node, l ?? {}, r ?? {})
    }
    case 'map':
      return compareMaps(node.elem, left, right)
    case 'deduced': {
      if (isObject(left) && isObject(right)) return compareMaps(DEDUCED_NODE, left, right)
      if (isObject(left) && !isEmpty(left)) return { removed: members(DEDUCED_NODE, left), modified: LEAF }
      if (isObject(right) && !isEmpty(right)) return { added: members(DEDUCED_NODE, right), modified: LEAF }
      return leaf(left, right)
    }
    default: {
      const l = Array.isArray(left) ? left : []
      const r = Array.isArray(right) ? right : []
      if (l.length === 0 && r.length === 0) return leaf(left, right)
      return compareLists(node, l, r)
    }
  }
}

function leaf(left: unknown, right: unknown): Comparison | undefined {
  return deepEqual(left, right) ? undefined : MODIFIED
}

function isEmpty(map: Json | undefined): boolean {
  for (const _ in map) return false
  return true
}

/** Adds the comparison of one child to its parent's. */
function put(out: MutableComparison | undefined, element: string, child: Comparison | undefined): MutableComparison | undefined {
  if (child === undefined) return out
  out ??= {}
  if (child.added) (out.added ??= {})[element] = child.added
  if (child.removed) (out.removed ??= {})[element] = child.removed
  if (child.modified) (out.modified ??= {})[element] = child.modified
  return out
}

function compareChild(node: TypedNode, left: unknown, right: unknown): Comparison | undefined {
  if (left === undefined) {
    if (right === undefined) return undefined
    return node.kind === 'leaf' ? ADDED : { added: fieldsOf(node, right) }
  }
  if (right === undefined) return node.kind === 'leaf' ? REMOVED : { removed: fieldsOf(node, left) }
  return compare(node, left, right)
}

function compareStruct(node: StructNode, left: Json, right: Json): Comparison | undefined {
  if (node.careful) return compareOpenStruct(node, left, right)
  let out: MutableComparison | undefined
  const { names, elements, nodes } = node
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    const l = left[name]
    const r = right[name]
    if (l === r) continue
    out = put(out, elements[i] as string, compareChild(nodes[i] as TypedNode, l, r))
  }
  return out
}

function compareOpenStruct(node: StructNode, left: Json, right: Json): Comparison | undefined {
  let out: MutableComparison | undefined
  for (const name of sortedKeys(left, right)) {
    const at = node.index.get(name)
    if (at === undefined && !isOpen(node, name)) continue
    const child = at === undefined ? DEDUCED_NODE : (node.nodes[at] as TypedNode)
    out = put(out, `f:${name}`, compareChild(child, ownValue(left, name), ownValue(right, name)))
  }
  return out
}

function isOpen(node: StructNode, name: string): boolean {
  return node.open && !node.hidden?.has(name)
}

function ownValue(map: Json, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

function sortedKeys(left: Json, right: Json): string[] {
  const keys = Object.keys(right)
  for (const key of Object.keys(left)) if (!Object.hasOwn(right, key)) keys.push(key)
  return keys.sort()
}

function compareMaps(elem: TypedNode, left: unknown, right: unknown): Comparison | undefined {
  const l = isObject(left) ? left : {}
  const r = isObject(right) ? right : {}
  if (isEmpty(l) && isEmpty(r)) return leaf(left, right)
  let out: MutableComparison | undefined
  for (const key of sortedKeys(l, r)) out = put(out, `f:${key}`, compareChild(elem, ownValue(l, key), ownValue(r, key)))
  return out
}

/** Items by their element, in first-seen order; two or more of one element are duplicates. */
function byElement(node: ItemsNode, list: readonly unknown[]): Map<string, unknown[]> {
  const out = new Map<string, unknown[]>()
  for (const item of list) {
    const element = itemElement(node, item)
    const same = out.get(element)
    if (same) same.push(item)
    else out.set(element, [item])
  }
  return out
}

function compareLists(node: ItemsNode, left: readonly unknown[], right: readonly unknown[]): Comparison | undefined {
  if (left.length === right.length && deepEqual(left, right)) return undefined
  const elem: TypedNode = node.kind === 'set' ? { kind: 'leaf' } : node.elem
  const l = byElement(node, left)
  const r = byElement(node, right)
  let out: MutableComparison | undefined
  const visit = (element: string) => {
    const ls = l.get(element) ?? []
    const rs = r.get(element) ?? []
    if (ls.length < 2 && rs.length < 2) out = put(out, element, compareChild(elem, ls[0], rs[0]))
    else if (ls.length > 1 && rs.length > 1) out = put(out, element, deepEqual(ls, rs) ? undefined : MODIFIED)
    else if (ls.length > 1) {
      if (rs.length === 1) out = put(out, element, compareChild(elem, undefined, rs[0]))
      out = put(out, element, REMOVED)
    } else {
      if (ls.length === 1) out = put(out, element, compareChild(elem, ls[0], undefined))
      out = put(out, element, ADDED)
    }
  }
  for (const element of l.keys()) visit(element)
  for (const element of r.keys()) if (!l.has(element)) visit(element)
  if (out?.added) out.added = sortElements(out.added)
  if (out?.removed) out.removed = sortElements(out.removed)
  if (out?.modified) out.modified = sortElements(out.modified)
  return out
}

/** The set of a value that is there as a whole: the path itself, and everything below it that is owned by itself. */
export function fieldsOf(node: TypedNode, value: unknown): Fields {
  if (node.kind === 'leaf' || value === null || typeof value !== 'object') return LEAF
  if (Array.isArray(value) ? value.length === 0 : isEmpty(value as Json)) return LEAF
  if (Array.isArray(value) !== (node.kind === 'set' || node.kind === 'keyed')) return LEAF
  const out: MutableFields = { '.': LEAF }
  addBelow(out, node, value)
  return out
}

/** Only what is below the value. */
function members(node: TypedNode, value: Json): MutableFields {
  const out: MutableFields = {}
  addBelow(out, node, value)
  return out
}

function addBelow(out: MutableFields, node: TypedNode, value: object): void {
  switch (node.kind) {
    case 'leaf':
      return
    case 'struct':
      if (node.careful) {
        for (const name of Object.keys(value).sort()) {
          const at = node.index.get(name)
          if (at !== undefined || isOpen(node, name))
            out[`f:${name}`] = fieldsOf(at === undefined ? DEDUCED_NODE : (node.nodes[at] as TypedNode), (value as Json)[name])
        }
        return
      }
      for (let i = 0; i < node.names.length; i++) {
        const child = (value as Json)[node.names[i] as string]
        if (child !== undefined) out[node.elements[i] as string] = fieldsOf(node.nodes[i] as TypedNode, child)
      }
      return
    case 'map':
    case 'deduced': {
      const elem = node.kind === 'map' ? node.elem : DEDUCED_NODE
      for (const key of Object.keys(value).sort()) out[`f:${key}`] = fieldsOf(elem, (value as Json)[key])
      return
    }
    default: {
      const items = value as unknown[]
      const ordered = items.length < 2 ? items : checked(node, items)
      const elem: TypedNode = node.kind === 'set' ? { kind: 'leaf' } : node.elem
      for (const item of ordered) {
        const element = itemElement(node, item)
        out[element] = Object.hasOwn(out, element) ? LEAF : fieldsOf(elem, item)
      }
    }
  }
}

/** The items in the order of their elements; every item is asked for its element first, so that a bad one throws. */
function checked(node: ItemsNode, items: readonly unknown[]): unknown[] {
  for (const item of items) if (item === null || typeof item !== 'object') itemElement(node, item)
  return [...items].sort((a, b) => compareItems(node, a, b))
}
