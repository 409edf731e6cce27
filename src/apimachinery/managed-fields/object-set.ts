import { type Fields, LEAF, type MutableFields, NOTHING } from './fields.ts'
import { compareItems, itemElement } from './list-items.ts'
import { DEDUCED_NODE, type StructNode, type TypedNode } from './typed-node.ts'

type Json = Record<string, unknown>

/** The fields an applied object claims: its leaves, list items, empty maps and nulls; not the structs on the way. */
export function objectSet(node: StructNode, object: unknown): Fields {
  return visit(node, object) ?? NOTHING
}

function isEmptyMap(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0
}

function marked(node: Fields | undefined): Fields {
  if (node === undefined) return LEAF
  for (const e in node) return e === '.' ? node : { '.': LEAF, ...node }
  return node
}

/** The set at and below a value; undefined when it adds none. */
function visit(node: TypedNode, value: unknown): Fields | undefined {
  switch (node.kind) {
    case 'leaf':
      return LEAF
    case 'deduced':
      return value !== null && typeof value === 'object' && !Array.isArray(value) ? visitMap(value as Json, () => ({ node: DEDUCED_NODE, named: false })) : LEAF
    case 'map':
      return value === null || typeof value !== 'object' ? undefined : visitMap(value as Json, () => ({ node: node.elem, named: false }))
    case 'struct': {
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
      return visitMap(value as Json, (key) => {
        const at = node.index.get(key)
        return at === undefined ? { node: DEDUCED_NODE, named: false } : { node: node.nodes[at] as TypedNode, named: true }
      })
    }
    default: {
      if (!Array.isArray(value) || value.length === 0) return undefined
      const out: MutableFields = {}
      const elem: TypedNode = node.kind === 'set' ? { kind: 'leaf' } : node.elem
      for (const item of value) itemElement(node, item)
      for (const item of [...value].sort((a, b) => compareItems(node, a, b))) {
        const element = itemElement(node, item)
        out[element] = Object.hasOwn(out, element) ? LEAF : marked(visit(elem, item))
      }
      return out
    }
  }
}

function visitMap(map: Json, child: (key: string) => { node: TypedNode; named: boolean }): Fields | undefined {
  const out: MutableFields = {}
  let any = false
  for (const key of Object.keys(map).sort()) {
    const value = map[key]
    const { node, named } = child(key)
    let set = visit(node, value)
    if (value === null || isEmptyMap(value) || !named) set = marked(set)
    if (set === undefined) continue
    out[`f:${key}`] = set
    any = true
  }
  return any ? out : undefined
}

/** The set with structs' named fields as members wherever something below them is. */
export function ensureNamedMembers(node: TypedNode, set: Fields): Fields {
  const out: MutableFields = {}
  for (const element in set) {
    const below = set[element] as Fields
    if (element === '.') {
      out[element] = below
      continue
    }
    const child = childNode(node, element)
    const inner = Object.keys(below).some((e) => e !== '.') ? (child ? ensureNamedMembers(child, below) : below) : below
    const named = node.kind === 'struct' && node.index.has(element.slice(2)) && element[0] === 'f'
    out[element] = named ? marked(inner) : inner
  }
  return out
}

export function childNode(node: TypedNode, element: string): TypedNode | undefined {
  switch (node.kind) {
    case 'struct': {
      const at = node.index.get(element.slice(2))
      return at === undefined ? (node.open ? DEDUCED_NODE : undefined) : node.nodes[at]
    }
    case 'map':
    case 'keyed':
      return node.elem
    case 'deduced':
      return DEDUCED_NODE
    default:
      return undefined
  }
}

/** The value without the set's members and what is below them. Lists left empty become null, maps stay empty. */
export function removeItems(node: TypedNode, value: unknown, set: Fields): unknown {
  if (value === null || typeof value !== 'object') return value
  switch (node.kind) {
    case 'leaf':
      return null
    case 'set':
    case 'keyed': {
      if (!Array.isArray(value) || value.length === 0) return null
      const out: unknown[] = []
      for (const item of value) {
        const kept = removeChild(set, itemElement(node, item), item, node.kind === 'set' ? undefined : node.elem)
        if (kept !== undefined) out.push(kept)
      }
      return out.length > 0 ? out : null
    }
    default: {
      if (Array.isArray(value)) return node.kind === 'deduced' ? value : null
      const out: Json = {}
      for (const key of Object.keys(value)) {
        const kept = removeChild(set, `f:${key}`, (value as Json)[key], childNode(node, `f:${key}`))
        if (kept === undefined) continue
        setKey(out, key, kept)
      }
      return out
    }
  }
}

function setKey(out: Json, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true })
  else out[key] = value
}

/** undefined: the child goes. */
function removeChild(set: Fields, element: string, value: unknown, node: TypedNode | undefined): unknown {
  if (!Object.hasOwn(set, element)) return value
  const below = set[element] as Fields
  const keys = Object.keys(below)
  if (keys.length === 0 || keys[0] === '.') return undefined
  return removeItems(node ?? DEDUCED_NODE, value, below)
}
