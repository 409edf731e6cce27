const MAX = 32
const MIN = 8

interface Keyed {
  readonly key: string
}

class Leaf<V extends Keyed> {
  readonly items: V[]
  constructor(items: V[]) {
    this.items = items
  }
  get count(): number {
    return this.items.length
  }
}

class Inner<V extends Keyed> {
  /** The first key of each child; the first one is not looked at. */
  readonly mins: string[]
  readonly children: Node<V>[]
  readonly count: number
  constructor(mins: string[], children: Node<V>[]) {
    this.mins = mins
    this.children = children
    let count = 0
    for (const child of children) count += child.count
    this.count = count
  }
}

type Node<V extends Keyed> = Leaf<V> | Inner<V>

/** First index whose item is not below `key`. */
function lowerBound<V extends Keyed>(items: V[], key: string): number {
  let lo = 0
  let hi = items.length
  while (lo < hi) {
    const mid = (lo + hi) >> 1
    if ((items[mid] as V).key < key) lo = mid + 1
    else hi = mid
  }
  return lo
}

/** Index of the child that holds `key`. */
function childIndex(mins: string[], key: string): number {
  let lo = 1
  let hi = mins.length
  while (lo < hi) {
    const mid = (lo + hi) >> 1
    if ((mins[mid] as string) <= key) lo = mid + 1
    else hi = mid
  }
  return lo - 1
}

function minKey<V extends Keyed>(node: Node<V>): string {
  let at = node
  while (at instanceof Inner) at = at.children[0] as Node<V>
  return at.items.length === 0 ? '' : (at.items[0] as V).key
}

function inner<V extends Keyed>(children: Node<V>[]): Inner<V> {
  return new Inner(children.map(minKey), children)
}

/** One node, or two when it is too big. */
function splitLeaf<V extends Keyed>(items: V[]): Node<V>[] {
  if (items.length <= MAX) return [new Leaf(items)]
  const mid = items.length >> 1
  return [new Leaf(items.slice(0, mid)), new Leaf(items.slice(mid))]
}

function splitInner<V extends Keyed>(mins: string[], children: Node<V>[]): Node<V>[] {
  if (children.length <= MAX) return [new Inner(mins, children)]
  const mid = children.length >> 1
  return [new Inner(mins.slice(0, mid), children.slice(0, mid)), new Inner(mins.slice(mid), children.slice(mid))]
}

function insert<V extends Keyed>(node: Node<V>, value: V): Node<V>[] {
  if (node instanceof Leaf) {
    const i = lowerBound(node.items, value.key)
    const items = node.items.slice()
    if (i < items.length && (items[i] as V).key === value.key) items[i] = value
    else items.splice(i, 0, value)
    return splitLeaf(items)
  }
  const i = childIndex(node.mins, value.key)
  const replaced = insert(node.children[i] as Node<V>, value)
  const children = node.children.slice()
  children[i] = replaced[0] as Node<V>
  const isFirst = i === 0 && value.key < (node.mins[0] as string)
  if (replaced.length === 1 && !isFirst) return [new Inner(node.mins, children)]
  const mins = node.mins.slice()
  if (isFirst) mins[0] = value.key
  if (replaced.length === 2) {
    const right = replaced[1] as Node<V>
    children.splice(i + 1, 0, right)
    mins.splice(i + 1, 0, minKey(right))
  }
  return splitInner(mins, children)
}

function width<V extends Keyed>(node: Node<V>): number {
  return node instanceof Leaf ? node.items.length : node.children.length
}

function join<V extends Keyed>(a: Node<V>, b: Node<V>): Node<V>[] {
  if (a instanceof Leaf) return splitLeaf([...a.items, ...(b as Leaf<V>).items])
  const right = b as Inner<V>
  return splitInner([...a.mins, ...right.mins], [...a.children, ...right.children])
}

/** The node without the key; the same node when it was not there; undefined when it became empty. */
function remove<V extends Keyed>(node: Node<V>, key: string): Node<V> | undefined {
  if (node instanceof Leaf) {
    const i = lowerBound(node.items, key)
    if (i >= node.items.length || (node.items[i] as V).key !== key) return node
    if (node.items.length === 1) return undefined
    const items = node.items.slice()
    items.splice(i, 1)
    return new Leaf(items)
  }
  const i = childIndex(node.mins, key)
  const child = node.children[i] as Node<V>
  const left = remove(child, key)
  if (left === child) return node
  const children = node.children.slice()
  if (!left) {
    children.splice(i, 1)
    return children.length === 0 ? undefined : inner(children)
  }
  children[i] = left
  // Its old first key still tells it from the child before it.
  if (width(left) >= MIN) return new Inner(node.mins, children)
  if (children.length > 1) {
    const at = i === 0 ? 0 : i - 1
    children.splice(at, 2, ...join(children[at] as Node<V>, children[at + 1] as Node<V>))
  }
  return inner(children)
}

/** How many keys are below `key`. */
function rank<V extends Keyed>(root: Node<V>, key: string): number {
  let node = root
  let before = 0
  while (node instanceof Inner) {
    const i = childIndex(node.mins, key)
    for (let j = 0; j < i; j++) before += (node.children[j] as Node<V>).count
    node = node.children[i] as Node<V>
  }
  return before + lowerBound(node.items, key)
}

/** The end of ranges that have none: every key is below it. */
export const NO_END = '\0'

/**
 * A sorted map that never changes: `set` and `delete` return a new map that shares all but one path with the old one, so that keeping
 * every state ever seen, and forking one, cost next to nothing. Items carry their own key; order is by code unit.
 * A range is [start, end); `end` NO_END means "to the last".
 */
export class SortedMap<V extends Keyed> {
  private readonly root: Node<V>

  private constructor(root: Node<V>) {
    this.root = root
  }

  static empty<V extends Keyed>(): SortedMap<V> {
    return new SortedMap<V>(new Leaf<V>([]))
  }

  /** Builds from items that are sorted by key and have no duplicates. */
  static fromSorted<V extends Keyed>(items: readonly V[]): SortedMap<V> {
    if (items.length === 0) return SortedMap.empty<V>()
    const fill = MAX - 8
    let level: Node<V>[] = []
    for (let i = 0; i < items.length; i += fill) level.push(new Leaf(items.slice(i, i + fill)))
    while (level.length > 1) {
      const above: Node<V>[] = []
      for (let i = 0; i < level.length; i += fill) above.push(inner(level.slice(i, i + fill)))
      level = above
    }
    return new SortedMap(level[0] as Node<V>)
  }

  get size(): number {
    return this.root.count
  }

  get(key: string): V | undefined {
    let node = this.root
    while (node instanceof Inner) node = node.children[childIndex(node.mins, key)] as Node<V>
    const item = node.items[lowerBound(node.items, key)]
    return item !== undefined && item.key === key ? item : undefined
  }

  set(value: V): SortedMap<V> {
    const nodes = insert(this.root, value)
    return new SortedMap(nodes.length === 1 ? (nodes[0] as Node<V>) : inner(nodes))
  }

  delete(key: string): SortedMap<V> {
    let root = remove(this.root, key)
    if (root === this.root) return this
    while (root instanceof Inner && root.children.length === 1) root = root.children[0]
    return root ? new SortedMap(root) : SortedMap.empty<V>()
  }

  count(start: string, end: string): number {
    const to = end === NO_END ? this.root.count : rank(this.root, end)
    return Math.max(0, to - rank(this.root, start))
  }

  /** Calls `visit` for each item of the range in order until it returns false. */
  scan(start: string, end: string, visit: (item: V) => boolean | undefined): void {
    const walk = (node: Node<V>, bounded: boolean): boolean => {
      if (node instanceof Leaf) {
        const { items } = node
        for (let i = bounded ? lowerBound(items, start) : 0; i < items.length; i++) {
          const item = items[i] as V
          if (end !== NO_END && item.key >= end) return false
          if (visit(item) === false) return false
        }
        return true
      }
      const first = bounded ? childIndex(node.mins, start) : 0
      for (let i = first; i < node.children.length; i++) if (!walk(node.children[i] as Node<V>, bounded && i === first)) return false
      return true
    }
    walk(this.root, true)
  }

  /** Up to `limit` items of the range (all when 0). */
  slice(start: string, end: string, limit = 0): V[] {
    const out: V[] = []
    this.scan(start, end, (item) => {
      out.push(item)
      return limit === 0 || out.length < limit
    })
    return out
  }
}
