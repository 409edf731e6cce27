import type { ObjectMeta, OwnerReference } from '../../apimachinery/meta/v1/types.generated.ts'
import type { ResourceHandle } from '../../apimachinery/object.ts'

const NOBODY: ReadonlySet<GraphNode> = new Set()

/** One object of the cluster, or (virtual) one that others name as owner and nobody has seen. */
export class GraphNode {
  readonly uid: string
  handle: ResourceHandle | undefined
  apiVersion: string
  kind: string
  namespace: string
  name: string
  owners: readonly OwnerReference[] = []
  virtual: boolean
  deleting = false
  /** Waits with its deletion for its dependents. */
  deletingDependents = false
  /** Most objects own nothing and have no set. */
  private owned: Set<GraphNode> | undefined = undefined

  constructor(init: Pick<GraphNode, 'uid' | 'handle' | 'apiVersion' | 'kind' | 'namespace' | 'name' | 'virtual'>) {
    this.uid = init.uid
    this.handle = init.handle
    this.apiVersion = init.apiVersion
    this.kind = init.kind
    this.namespace = init.namespace
    this.name = init.name
    this.virtual = init.virtual
  }

  get dependents(): ReadonlySet<GraphNode> {
    return this.owned ?? NOBODY
  }

  addDependent(node: GraphNode): void {
    this.owned ??= new Set()
    this.owned.add(node)
  }

  removeDependent(node: GraphNode): void {
    this.owned?.delete(node)
  }
}

export interface GraphSink {
  attemptToDelete(node: GraphNode): void
  attemptToOrphan(node: GraphNode): void
  /** The reference names an object that lives in another namespace. */
  invalidNamespace(dependent: GraphNode, ref: OwnerReference): void
}

export const ORPHAN = 'orphan'
export const FOREGROUND = 'foregroundDeletion'

const has = (meta: ObjectMeta, finalizer: string): boolean => meta.finalizers?.includes(finalizer) ?? false
const waitsForOrphans = (meta: ObjectMeta | undefined): boolean => Boolean(meta?.deletionTimestamp) && has(meta as ObjectMeta, ORPHAN)
const waitsForDependents = (meta: ObjectMeta | undefined): boolean => Boolean(meta?.deletionTimestamp) && has(meta as ObjectMeta, FOREGROUND)

/** Who owns whom, kept from the informers' events; what an event makes necessary goes to the sink. */
export class OwnerGraph {
  private readonly nodes = new Map<string, GraphNode>()
  private readonly sink: GraphSink

  constructor(sink: GraphSink) {
    this.sink = sink
  }

  get size(): number {
    return this.nodes.size
  }

  node(uid: string): GraphNode | undefined {
    return this.nodes.get(uid)
  }

  /** An object was added or changed. */
  observe(handle: ResourceHandle, apiVersion: string, before: ObjectMeta | undefined, meta: ObjectMeta): void {
    const uid = meta.uid ?? ''
    if (uid === '') return
    const namespace = meta.namespace ?? ''
    const owners = meta.ownerReferences ?? []
    let node = this.nodes.get(uid)
    if (!node) {
      node = this.add({ uid, handle, apiVersion, kind: handle.kind, namespace, name: meta.name ?? '', virtual: false })
      node.owners = owners
      node.deleting = Boolean(meta.deletionTimestamp)
      for (const ref of owners) this.link(node, ref)
    } else {
      if (node.virtual || node.handle === undefined) {
        const moved = node.namespace !== namespace
        Object.assign(node, { handle, apiVersion, kind: handle.kind, namespace, name: meta.name ?? '', virtual: false })
        // Those who named it from elsewhere named nothing.
        if (moved && handle.namespaced) for (const d of node.dependents) if (d.namespace !== namespace) this.misplaced(d, uid)
      }
      this.changeOwners(node, owners)
      node.deleting = node.deleting || Boolean(meta.deletionTimestamp)
    }
    if (waitsForOrphans(meta) && !waitsForOrphans(before)) this.sink.attemptToOrphan(node)
    else if (waitsForDependents(meta) && !waitsForDependents(before)) {
      node.deletingDependents = true
      for (const d of node.dependents) this.sink.attemptToDelete(d)
      this.sink.attemptToDelete(node)
    }
  }

  /** An object is gone, or was never there. */
  remove(uid: string): void {
    const node = this.nodes.get(uid)
    if (!node) return
    this.nodes.delete(uid)
    for (const ref of node.owners) {
      const owner = this.nodes.get(ref.uid)
      owner?.removeDependent(node)
      if (owner?.deletingDependents) this.sink.attemptToDelete(owner)
      if (owner?.virtual && owner.dependents.size === 0) this.nodes.delete(owner.uid)
    }
    for (const d of node.dependents) this.sink.attemptToDelete(d)
    if (node.dependents.size > 0) {
      // What still names it needs an end of its edge; nobody has seen the object any more.
      this.nodes.set(uid, node)
      node.virtual = true
      node.owners = []
      node.deleting = false
      node.deletingDependents = false
    }
  }

  private add(init: Pick<GraphNode, 'uid' | 'handle' | 'apiVersion' | 'kind' | 'namespace' | 'name' | 'virtual'>): GraphNode {
    const node = new GraphNode(init)
    this.nodes.set(node.uid, node)
    return node
  }

  private link(node: GraphNode, ref: OwnerReference): void {
    let owner = this.nodes.get(ref.uid)
    if (!owner) {
      owner = this.add({
        uid: ref.uid,
        handle: undefined,
        apiVersion: ref.apiVersion,
        kind: ref.kind,
        namespace: node.namespace,
        name: ref.name,
        virtual: true,
      })
      this.sink.attemptToDelete(owner)
    } else if (!owner.virtual && owner.handle?.namespaced && owner.namespace !== node.namespace) {
      this.misplaced(node, ref.uid, ref)
    } else if (owner.virtual && owner.namespace !== node.namespace) {
      this.sink.attemptToDelete(node)
    }
    owner.addDependent(node)
  }

  private misplaced(node: GraphNode, ownerUid: string, known?: OwnerReference): void {
    const ref = known ?? node.owners.find((r) => r.uid === ownerUid)
    if (ref) this.sink.invalidNamespace(node, ref)
    this.sink.attemptToDelete(node)
  }

  private changeOwners(node: GraphNode, owners: readonly OwnerReference[]): void {
    const before = new Map(node.owners.map((r) => [r.uid, r]))
    const after = new Map(owners.map((r) => [r.uid, r]))
    node.owners = owners
    for (const [uid, ref] of before) {
      const owner = this.nodes.get(uid)
      const now = after.get(uid)
      if (!now) owner?.removeDependent(node)
      // An owner that waited for this object may go on.
      if (ref.blockOwnerDeletion && !now?.blockOwnerDeletion && owner) this.sink.attemptToDelete(owner)
      if (!now && owner?.virtual && owner.dependents.size === 0) this.nodes.delete(uid)
    }
    for (const [uid, ref] of after) if (!before.has(uid)) this.link(node, ref)
  }
}
