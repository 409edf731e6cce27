import { isObject, setOwn } from '../../base/deep-freeze.ts'
import { type ItemsNode, itemElement } from './list-items.ts'
import { childNode } from './object-set.ts'
import type { TypedNode } from './typed-node.ts'

type Json = Record<string, unknown>

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** The live value with the applied one laid over it; list items keep the applied order, with live ones between. */
export function mergeValues(node: TypedNode, live: unknown, applied: unknown): unknown {
  if (live === undefined) return applied
  if (applied === undefined) return live
  if (isEmpty(live) && isEmpty(applied)) return applied
  switch (node.kind) {
    case 'leaf':
      return applied
    case 'set':
    case 'keyed':
      return mergeLists(node, Array.isArray(live) ? live : [], Array.isArray(applied) ? applied : [])
    default:
      if (!isObject(applied) && applied !== null) return applied
      if (!isObject(live)) return applied ?? live
      return mergeMaps(node, live, isObject(applied) ? applied : {})
  }
}

function mergeMaps(node: TypedNode, live: Json, applied: Json): Json {
  const out: Json = {}
  for (const key of Object.keys(live)) {
    const theirs = Object.hasOwn(applied, key) ? applied[key] : undefined
    setOwn(out, key, theirs === undefined ? live[key] : mergeValues(childNode(node, `f:${key}`) ?? LEAF_NODE, live[key], theirs))
  }
  for (const key of Object.keys(applied)) if (!Object.hasOwn(live, key)) setOwn(out, key, applied[key])
  return out
}

const LEAF_NODE: TypedNode = { kind: 'leaf' }

function mergeLists(node: ItemsNode, live: readonly unknown[], applied: readonly unknown[]): unknown[] {
  const elem: TypedNode = node.kind === 'set' ? LEAF_NODE : node.elem
  const liveElements = live.map((item) => itemElement(node, item))
  const appliedElements = applied.map((item) => itemElement(node, item))
  // A duplicated live item merges with nothing.
  const liveItems = new Map<string, unknown>()
  for (const [i, e] of liveElements.entries()) liveItems.set(e, liveItems.has(e) ? undefined : live[i])
  const appliedItems = new Map(appliedElements.map((e, i) => [e, applied[i]]))
  const shared = appliedElements.filter((e) => liveItems.has(e))
  const done = new Set<string>()
  const out: unknown[] = []
  let next = 0
  let l = 0
  let a = 0
  const take = (element: string) => {
    done.add(element)
    out.push(mergeValues(elem, liveItems.get(element), appliedItems.get(element)))
    a++
  }
  while (l < live.length || a < applied.length) {
    const mine = liveElements[l] as string
    if (l < live.length && a < applied.length) {
      if (mine === appliedElements[a]) {
        take(mine)
        l++
        next++
        continue
      }
      if (appliedItems.has(mine) && next < shared.length && shared[next] !== mine) {
        l++
        continue
      }
    }
    if (l < live.length) {
      if (!appliedItems.has(mine)) {
        out.push(live[l++])
        continue
      }
      if (done.has(mine)) l++
    }
    if (a < applied.length) {
      const element = appliedElements[a] as string
      take(element)
      if (shared[next] === element) next++
    }
  }
  return out
}
