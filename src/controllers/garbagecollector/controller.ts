import type { ObjectReference } from '../../api/core/v1/types.generated.ts'
import { scheme } from '../../api/scheme.ts'
import { isConflict, isNotFound } from '../../apimachinery/errors.ts'
import type { ObjectMeta, OwnerReference } from '../../apimachinery/meta/v1/types.generated.ts'
import { apiVersionOf, type KubeObject, type ResourceHandle } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { type DiscoveredResource, discover, type EventRecorder, type HandlerRegistration } from '../../client/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'
import { FOREGROUND, type GraphNode, ORPHAN, OwnerGraph } from './graph.ts'

const WORKERS = 20
const REDISCOVER_MS = 30_000
const ABSENT_CACHE = 500
const IGNORED = new Set(['events', 'events.events.k8s.io'])

interface Monitor {
  handle: DiscoveredResource
  metadataOnly: boolean
  registration: HandlerRegistration
}

/** The owner kind is namespaced and the dependent is not: such a reference never decides anything. */
class ClusterScopedDependentError extends Error {}
class UnknownKindError extends Error {}

type OwnerState = 'solid' | 'dangling' | 'waiting'

/** Deletes what lost its last owner, and carries out foreground and orphaning deletion. */
export class GarbageCollector {
  private readonly context: ControllerContext
  private readonly recorder: EventRecorder
  private readonly graph: OwnerGraph
  private readonly deleter: Controller
  private readonly orphaner: Controller
  private readonly monitors = new Map<string, Monitor>()
  private kinds = new Map<string, DiscoveredResource>()
  private readonly absent = new BoundedMap<string, true>(ABSENT_CACHE)
  private readonly reported = new BoundedMap<string, true>(ABSENT_CACHE)

  constructor(context: ControllerContext) {
    this.context = context
    this.recorder = context.events.recorder('garbage-collector-controller')
    this.graph = new OwnerGraph({
      attemptToDelete: (node) => this.deleter.queue.add(node.uid),
      attemptToOrphan: (node) => this.orphaner.queue.add(node.uid),
      invalidNamespace: (node, ref) => this.tellInvalidNamespace(node, ref),
    })
    const make = (name: string, reconcile: (uid: string) => Promise<void>) => new Controller(context, { name, workers: WORKERS, informers: [], reconcile })
    this.deleter = make('garbage-collector-controller', (uid) => this.attemptToDelete(uid))
    this.orphaner = make('garbage-collector-orphaner', (uid) => this.attemptToOrphan(uid))
  }

  async run(): Promise<void> {
    const { signal, clock } = this.context
    while (!signal.aborted && !(await this.resync())) await clock.sleep(1000, signal).catch(() => {})
    const unsynced = () => [...this.monitors.values()].some((m) => !m.registration.hasSynced())
    // An owner that has not been seen yet would look absent; live reads make that harmless, so waiting is bounded.
    for (let i = 0; i < 300 && !signal.aborted && unsynced(); i++) await clock.sleep(100, signal).catch(() => {})
    if (signal.aborted) return
    const rediscover = async () => {
      while (!signal.aborted) {
        await clock.sleep(REDISCOVER_MS, signal).catch(() => {})
        if (!signal.aborted) await this.resync()
      }
    }
    await Promise.all([this.deleter.run(), this.orphaner.run(), rediscover()])
  }

  /** Watches what is newly served and stops watching what no longer is; false when the server could not be asked. */
  private async resync(): Promise<boolean> {
    const { client, informers, log, signal } = this.context
    try {
      const { resources, failures } = await discover(client, signal)
      const wanted = new Map<string, DiscoveredResource>()
      const kinds = new Map<string, DiscoveredResource>()
      for (const r of resources) {
        const kindKey = `${apiVersionOf(r)} ${r.kind}`
        if (!kinds.has(kindKey) || r.verbs.includes('delete')) kinds.set(kindKey, r)
        const name = r.group ? `${r.resource}.${r.group}` : r.resource
        if (r.preferred && !IGNORED.has(name) && ['delete', 'list', 'watch'].every((v) => r.verbs.includes(v))) wanted.set(name, r)
      }
      this.kinds = kinds
      for (const [name, monitor] of this.monitors) {
        const now = wanted.get(name)
        // A group that could not be asked this time is not gone.
        if (now?.version === monitor.handle.version || (!now && failures.has(apiVersionOf(monitor.handle)))) continue
        monitor.registration.remove()
        this.monitors.delete(name)
        if (monitor.metadataOnly) await informers.stop(monitor.handle, { metadataOnly: true })
      }
      for (const [name, handle] of wanted) if (!this.monitors.has(name)) this.monitors.set(name, this.watch(handle))
      return true
    } catch (error) {
      if (!signal.aborted) log.warn('failed to discover resources', { err: (error as Error).message })
      return false
    }
  }

  private watch(handle: DiscoveredResource): Monitor {
    const { informers } = this.context
    const metadataOnly = !informers.has(handle)
    const informer = informers.informer<KubeObject>(handle, metadataOnly ? { metadataOnly: true } : {})
    const apiVersion = apiVersionOf(handle)
    const registration = informer.addHandler({
      onAdd: (o) => this.graph.observe(handle, apiVersion, undefined, o.metadata),
      onUpdate: (before, after) => {
        if (before.metadata.uid !== after.metadata.uid) this.graph.remove(before.metadata.uid ?? '')
        this.graph.observe(handle, apiVersion, before.metadata, after.metadata)
      },
      onDelete: (o) => this.graph.remove(o.metadata.uid ?? ''),
    })
    return { handle, metadataOnly, registration }
  }

  private handleOf(apiVersion: string, kind: string): DiscoveredResource | undefined {
    return this.kinds.get(`${apiVersion} ${kind}`)
  }

  private resource(handle: ResourceHandle, namespace: string) {
    return this.context.client.resource(handle).namespace(handle.namespaced ? namespace : undefined)
  }

  /** The object's metadata as the server has it now; undefined when it is gone or another one has its name. */
  private async live(node: GraphNode): Promise<ObjectMeta | undefined> {
    const handle = node.handle ?? this.handleOf(node.apiVersion, node.kind)
    if (!handle) throw new UnknownKindError(`no matches for kind ${quote(node.kind)} in version ${quote(node.apiVersion)}`)
    if (handle.namespaced && node.namespace === '') throw new ClusterScopedDependentError()
    try {
      const { metadata } = await this.resource(handle, node.namespace).get(node.name, { metadataOnly: true })
      return metadata.uid === node.uid ? metadata : undefined
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  private async attemptToDelete(uid: string): Promise<void> {
    const node = this.graph.node(uid)
    if (!node || (node.deleting && !node.deletingDependents)) return
    let meta: ObjectMeta | undefined
    try {
      meta = await this.live(node)
    } catch (error) {
      if (error instanceof ClusterScopedDependentError) return
      throw error
    }
    if (!meta) {
      this.graph.remove(uid)
      return
    }
    // Seen live before the informer told of it: there is nothing to do for what only others name.
    if (node.virtual) return
    if (node.deletingDependents) {
      await this.waitForDependents(node, meta)
      return
    }
    const refs = meta.ownerReferences ?? []
    if (refs.length === 0) return
    await this.judge(node, meta, refs)
  }

  private async judge(node: GraphNode, meta: ObjectMeta, refs: readonly OwnerReference[]): Promise<void> {
    const byState: Record<OwnerState, OwnerReference[]> = { solid: [], dangling: [], waiting: [] }
    try {
      for (const ref of refs) byState[await this.ownerState(node, ref)].push(ref)
    } catch (error) {
      if (error instanceof ClusterScopedDependentError) return
      throw error
    }
    const { solid, dangling, waiting } = byState
    if (solid.length > 0) {
      const drop = [...dangling, ...waiting]
      if (drop.length > 0)
        await this.removeOwners(
          node,
          meta,
          drop.map((r) => r.uid),
        )
      for (const ref of waiting) this.deleter.queue.add(ref.uid)
      return
    }
    if (waiting.length > 0 && node.dependents.size > 0) {
      // A circle of foreground deletions would wait for itself.
      if ([...node.dependents].some((d) => d.deletingDependents)) await this.unblockOwners(node, meta)
      await this.remove(node, meta, 'Foreground', false)
      return
    }
    const policy = meta.finalizers?.includes(ORPHAN) ? 'Orphan' : meta.finalizers?.includes(FOREGROUND) ? 'Foreground' : 'Background'
    await this.remove(node, meta, policy, waiting.length === 0)
  }

  private async ownerState(node: GraphNode, ref: OwnerReference): Promise<OwnerState> {
    const cluster = `${ref.uid}`
    const local = `${ref.uid}/${node.namespace}`
    if (this.absent.get(cluster) || this.absent.get(local)) return 'dangling'
    const handle = this.handleOf(ref.apiVersion, ref.kind)
    if (!handle) throw new UnknownKindError(`no matches for kind ${quote(ref.kind)} in version ${quote(ref.apiVersion)}`)
    if (handle.namespaced && node.namespace === '') throw new ClusterScopedDependentError()
    let owner: ObjectMeta
    try {
      owner = (await this.resource(handle, node.namespace).get(ref.name, { metadataOnly: true })).metadata
    } catch (error) {
      if (!isNotFound(error)) throw error
      this.absent.set(handle.namespaced ? local : cluster, true)
      return 'dangling'
    }
    if (owner.uid !== ref.uid) {
      this.absent.set(handle.namespaced ? local : cluster, true)
      return 'dangling'
    }
    return owner.deletionTimestamp && owner.finalizers?.includes(FOREGROUND) ? 'waiting' : 'solid'
  }

  private async waitForDependents(node: GraphNode, meta: ObjectMeta): Promise<void> {
    const blocking = [...node.dependents].filter((d) => d.owners.some((r) => r.uid === node.uid && r.blockOwnerDeletion))
    if (blocking.length === 0) {
      await this.removeFinalizer(node, meta, FOREGROUND)
      return
    }
    for (const d of blocking) if (!d.deletingDependents) this.deleter.queue.add(d.uid)
  }

  private async attemptToOrphan(uid: string): Promise<void> {
    const node = this.graph.node(uid)
    if (!node) return
    const meta = await this.live(node)
    if (!meta) return
    const results = await Promise.allSettled([...node.dependents].map((d) => this.removeOwners(d, undefined, [uid])))
    for (const r of results) if (r.status === 'rejected' && !isNotFound(r.reason)) throw r.reason
    await this.removeFinalizer(node, meta, ORPHAN)
  }

  private async remove(node: GraphNode, meta: ObjectMeta, propagationPolicy: string, sameVersion: boolean): Promise<void> {
    const { handle } = node
    if (!handle) return
    try {
      await this.resource(handle, node.namespace).delete(node.name, {
        propagationPolicy,
        preconditions: { uid: node.uid, ...(sameVersion && meta.resourceVersion ? { resourceVersion: meta.resourceVersion } : {}) },
      })
    } catch (error) {
      if (isNotFound(error)) return
      if (!isConflict(error)) throw error
      // The object changed meanwhile: judge it anew.
      this.deleter.queue.addRateLimited(node.uid)
    }
  }

  private async removeFinalizer(node: GraphNode, meta: ObjectMeta, finalizer: string): Promise<void> {
    const { handle } = node
    if (!handle || !meta.finalizers?.includes(finalizer)) return
    const finalizers = meta.finalizers.filter((f) => f !== finalizer)
    try {
      await this.resource(handle, node.namespace).patch(node.name, 'merge', { metadata: { resourceVersion: meta.resourceVersion, finalizers } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  private async removeOwners(node: GraphNode, known: ObjectMeta | undefined, uids: readonly string[]): Promise<void> {
    const { handle } = node
    if (!handle) return
    const resource = this.resource(handle, node.namespace)
    try {
      if (scheme.forResource(handle)) {
        const ownerReferences = uids.map((uid) => ({ $patch: 'delete', uid }))
        await resource.patch(node.name, 'strategic', { metadata: { ownerReferences, uid: node.uid } })
        return
      }
      const meta = known ?? (await resource.get(node.name, { metadataOnly: true })).metadata
      const ownerReferences = (meta.ownerReferences ?? []).filter((r) => !uids.includes(r.uid))
      await resource.patch(node.name, 'merge', { metadata: { resourceVersion: meta.resourceVersion, ownerReferences, uid: node.uid } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  private async unblockOwners(node: GraphNode, meta: ObjectMeta): Promise<void> {
    const { handle } = node
    if (!handle) return
    const ownerReferences = (meta.ownerReferences ?? []).map((r) => ({ ...r, blockOwnerDeletion: false }))
    await this.resource(handle, node.namespace).patch(node.name, 'merge', {
      metadata: { resourceVersion: meta.resourceVersion, ownerReferences, uid: node.uid },
    })
  }

  private tellInvalidNamespace(node: GraphNode, ref: OwnerReference): void {
    const key = `${node.uid}/${ref.uid}`
    if (this.reported.get(key)) return
    this.reported.set(key, true)
    const about: ObjectReference = {
      kind: node.kind,
      apiVersion: node.apiVersion,
      name: node.name,
      uid: node.uid,
      ...(node.namespace ? { namespace: node.namespace } : {}),
    }
    const which = `[${ref.apiVersion}/${ref.kind}, namespace: ${node.namespace}, name: ${ref.name}, uid: ${ref.uid}]`
    this.recorder.event(about, 'Warning', 'OwnerRefInvalidNamespace', `ownerRef ${which} does not exist in namespace ${quote(node.namespace)}`)
  }
}
