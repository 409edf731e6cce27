import type { Namespace, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict, isNotFound, StatusError } from '../../apimachinery/errors.ts'
import type { KubeObject } from '../../apimachinery/object.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import { BucketLimiter, type DiscoveredResource, discover, ExponentialLimiter, MaxOfLimiter } from '../../client/index.ts'
import { Controller, type ControllerContext, type ReconcileResult } from '../../controller-runtime/index.ts'
import { type NamespaceFindings, namespaceConditions } from './conditions.ts'

const WORKERS = 10
/** Lets caches that decide about creation in the namespace learn of its end first. */
const GRACE_MS = 5_000
const FINALIZER = 'kubernetes'
const FINALIZER_ESTIMATE_S = 15

/** Empties namespaces that are being deleted, kind by kind as discovery tells them, and lets them go. */
export class NamespaceController {
  private readonly context: ControllerContext
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    const { clock } = context
    const namespaces = context.informers.informer(resources.corev1.namespaces)
    this.controller = new Controller(context, {
      name: 'namespace-controller',
      workers: WORKERS,
      limiter: new MaxOfLimiter(new ExponentialLimiter(5, 60_000), new BucketLimiter(clock, 10, 100)),
      informers: [namespaces],
      reconcile: (name) => this.reconcile(name),
    })
    const enqueue = (ns: Namespace) => {
      if (ns.metadata.deletionTimestamp) this.controller.queue.addAfter(ns.metadata.name ?? '', GRACE_MS)
    }
    namespaces.addHandler({ onAdd: enqueue, onUpdate: (_, ns) => enqueue(ns) })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private get namespaces() {
    return this.context.client.resource(resources.corev1.namespaces)
  }

  private async reconcile(name: string): Promise<ReconcileResult | undefined> {
    let namespace: Namespace
    try {
      namespace = await this.namespaces.get(name)
    } catch (error) {
      if (isNotFound(error)) return
      throw error
    }
    if (!namespace.metadata.deletionTimestamp) return
    namespace = await this.markTerminating(namespace)
    if (!namespace.spec?.finalizers?.length) return
    const estimate = await this.empty(namespace)
    if (estimate > 0) return { requeueAfterMs: (Math.floor(estimate / 2) + 1) * 1000 }
    await this.finalize(namespace)
  }

  private async markTerminating(namespace: Namespace): Promise<Namespace> {
    if (namespace.status?.phase === 'Terminating') return namespace
    return this.updateWithRetry(namespace, (ns) => this.namespaces.updateStatus({ ...ns, status: { ...ns.status, phase: 'Terminating' } }))
  }

  private async updateWithRetry(namespace: Namespace, write: (fresh: Namespace) => Promise<Namespace>): Promise<Namespace> {
    try {
      return await write(deepCopy(namespace))
    } catch (error) {
      if (!isConflict(error)) throw error
      const fresh = await this.namespaces.get(namespace.metadata.name ?? '')
      if (fresh.metadata.uid !== namespace.metadata.uid) throw new Error(`namespace uid has changed across retries`)
      return write(deepCopy(fresh))
    }
  }

  private async finalize(namespace: Namespace): Promise<void> {
    const name = namespace.metadata.name ?? ''
    try {
      await this.updateWithRetry(namespace, (ns) => {
        const finalizers = (ns.spec?.finalizers ?? []).filter((f) => f !== FINALIZER)
        ns.spec = finalizers.length > 0 ? { finalizers } : {}
        return this.namespaces.updateSubresource<Namespace>(name, 'finalize', ns)
      })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** Deletes all content there is; returns how many seconds what is left may take, 0 when nothing is left. Throws when something went wrong. */
  private async empty(namespace: Namespace): Promise<number> {
    const { client, clock, signal } = this.context
    const findings: NamespaceFindings = { discovery: new Map(), content: [], remaining: new Map(), finalizers: new Map() }
    const { resources: all, failures } = await discover(client, signal)
    findings.discovery = failures
    const deletable = all.filter((r) => r.namespaced && r.preferred && r.verbs.includes('delete'))
    const isPods = (r: DiscoveredResource) => r.group === '' && r.resource === 'pods'
    let estimate = 0
    const pods = deletable.filter(isPods)
    for (const r of pods) estimate = Math.max(estimate, await this.emptyResource(namespace, r, findings))
    // What Pods depend on stays until they are gone.
    if (findings.remaining.size === 0) {
      for (const r of deletable) if (!isPods(r)) estimate = Math.max(estimate, await this.emptyResource(namespace, r, findings))
    } else {
      findings.remaining.clear()
      findings.finalizers.clear()
    }
    const conditions = namespaceConditions(namespace, findings, clock.now())
    if (conditions) {
      await this.updateWithRetry(namespace, (ns) => this.namespaces.updateStatus({ ...ns, status: { ...ns.status, conditions } })).catch((error) => {
        if (!isNotFound(error)) throw error
      })
    }
    const errors = [...failures.values(), ...findings.content]
    if (errors.length > 0) throw new Error(errors.map((e) => e.message).join(', '))
    return estimate
  }

  private async emptyResource(namespace: Namespace, handle: DiscoveredResource, findings: NamespaceFindings): Promise<number> {
    const name = namespace.metadata.name ?? ''
    const resource = this.context.client.resource<KubeObject>(handle).namespace(name)
    try {
      const grace = handle.group === '' && handle.resource === 'pods' ? await this.podGrace(namespace) : 0
      if (handle.verbs.includes('deletecollection')) {
        await resource.deleteCollection({ propagationPolicy: 'Background' }).catch((error) => {
          if (!unsupported(error)) throw error
        })
      }
      if (!handle.verbs.includes('list')) return 0
      let left = (await resource.list({ metadataOnly: true })).items
      if (!handle.verbs.includes('deletecollection') && left.length > 0) {
        for (const item of left) {
          await resource.delete(item.metadata.name ?? '', { propagationPolicy: 'Background' }).catch((error) => {
            if (!isNotFound(error) && !unsupported(error)) throw error
          })
        }
        left = (await resource.list({ metadataOnly: true })).items
      }
      if (left.length === 0) return 0
      findings.remaining.set(`${handle.resource}.${handle.group}`, left.length)
      let held = false
      for (const finalizer of left.flatMap((i) => i.metadata.finalizers ?? [])) {
        held = true
        findings.finalizers.set(finalizer, (findings.finalizers.get(finalizer) ?? 0) + 1)
      }
      if (grace > 0) return grace
      if (held) return FINALIZER_ESTIMATE_S
      const gvr = `${handle.group}/${handle.version}, Resource=${handle.resource}`
      throw new Error(`unexpected items still remain in namespace: ${name} for gvr: ${gvr}`)
    } catch (error) {
      if (unsupported(error)) return 0
      findings.content.push(error as Error)
      return 0
    }
  }

  /** The seconds the slowest Pod may still take. */
  private async podGrace(namespace: Namespace): Promise<number> {
    const pods = await this.context.client.resource(resources.corev1.pods).namespace(namespace.metadata.name).list()
    const elapsed = (this.context.clock.now() - (timeMs(namespace.metadata.deletionTimestamp) ?? 0)) / 1000
    const graceOf = (pod: Pod) => (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' ? 0 : (pod.spec.terminationGracePeriodSeconds ?? 0))
    const longest = Math.max(0, ...pods.items.map(graceOf))
    // At least a second while one is left: it is ending.
    return pods.items.length === 0 ? 0 : Math.max(1, Math.ceil(longest - elapsed))
  }
}

/** The resource is not there (any more), or does not do this. */
function unsupported(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 405 || error.code === 404)
}
