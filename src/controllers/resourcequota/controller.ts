import type { Pod, ResourceQuota } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../apimachinery/object.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import type { Informer } from '../../client/index.ts'
import { addAmounts, formatAmount, ZERO } from '../../component-helpers/amounts.ts'
import type { Amounts } from '../../component-helpers/pod-requests.ts'
import { isQuotaPod, matchesQuotaScopes, quotaCovers, quotaUsage } from '../../component-helpers/quota.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

/** Everything is counted anew this often, for what was missed. */
const RECOUNT_MS = 5 * 60_000

/** Kinds that can be counted: one version of each built-in namespaced resource. */
function countable(): ResourceHandle[] {
  const out = new Map<string, ResourceHandle>()
  for (const group of Object.values(resources)) {
    for (const handle of Object.values(group) as ResourceHandle[]) {
      const key = `${handle.group}/${handle.resource}`
      if (handle.namespaced && (!out.has(key) || handle.version === 'v1')) out.set(key, handle)
    }
  }
  return [...out.values()]
}

/**
 * Counts what the objects of a namespace use of its quotas: at first, after a change of the quota, and when objects go. What is made
 * is charged on its way in, by admission.
 */
export class ResourceQuotaController {
  private readonly context: ControllerContext
  private readonly quotas: Informer<ResourceQuota>
  private readonly controller: Controller
  private readonly handles = countable()
  private readonly watched = new Map<ResourceHandle, Informer<KubeObject>>()

  constructor(context: ControllerContext) {
    this.context = context
    this.quotas = context.informers.informer(resources.corev1.resourcequotas)
    this.controller = new Controller(context, { name: 'resourcequota-controller', informers: [this.quotas], reconcile: (key) => this.reconcile(key) })
    this.quotas.addHandler({
      onAdd: (quota) => this.enqueue(quota),
      onUpdate: (before, after) => {
        if (!deepEqual(before.spec, after.spec) || !deepEqual(after.spec.hard ?? {}, after.status?.hard ?? {})) this.enqueue(after)
      },
    })
  }

  async run(): Promise<void> {
    const { clock, signal } = this.context
    const timer = clock.setInterval(() => {
      for (const quota of this.quotas.lister.list()) this.enqueue(quota)
    }, RECOUNT_MS)
    signal.addEventListener('abort', () => timer.cancel(), { once: true })
    return this.controller.run()
  }

  private enqueue({ metadata }: KubeObject): void {
    this.controller.queue.add(`${metadata.namespace}/${metadata.name}`)
  }

  private replenish({ metadata }: KubeObject): void {
    for (const quota of this.quotas.lister.inNamespace(metadata.namespace)) this.enqueue(quota)
  }

  private async reconcile(key: string): Promise<void> {
    const quota = this.quotas.lister.get(key)
    if (!quota) return
    const hard = quota.spec.hard ?? {}
    const used = await this.count(quota, Object.keys(hard).sort())
    if (deepEqual(quota.status?.hard ?? {}, hard) && deepEqual(quota.status?.used ?? {}, used)) return
    const next = deepCopy(quota) as ResourceQuota
    next.status = { ...next.status, hard: { ...hard }, used }
    try {
      await this.context.client.resource(resources.corev1.resourcequotas).namespace(quota.metadata.namespace).updateStatus(next)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  private async count(quota: ResourceQuota, names: readonly string[]): Promise<Record<string, string>> {
    const total: Amounts = new Map()
    const now = this.context.clock.now()
    for (const handle of this.handles) {
      const own = names.filter((name) => quotaCovers(handle, name))
      if (!own.length) continue
      for (const name of own) total.set(name, total.get(name) ?? ZERO)
      for (const object of (await this.informerOf(handle)).lister.inNamespace(quota.metadata.namespace)) {
        if (!matchesQuotaScopes(quota, handle, object)) continue
        const usage = quotaUsage(handle, object, now)
        for (const name of own) {
          const amount = usage.get(name)
          if (amount) total.set(name, addAmounts(total.get(name) ?? ZERO, amount))
        }
      }
    }
    return Object.fromEntries(names.filter((name) => total.has(name)).map((name) => [name, formatAmount(total.get(name) ?? ZERO)]))
  }

  /** Watched from the first quota on that counts the kind. */
  private async informerOf(handle: ResourceHandle): Promise<Informer<KubeObject>> {
    let informer = this.watched.get(handle)
    if (!informer) {
      informer = this.context.informers.informer<KubeObject>(handle)
      this.watched.set(handle, informer)
      informer.addHandler({
        onUpdate: (before, after) => {
          if (mayFree(handle, before, after, this.context.clock.now())) this.replenish(after)
        },
        onDelete: (object) => this.replenish(object),
      })
    }
    await informer.waitForSync(this.context.signal)
    return informer
  }
}

/** Whether a change may have given something back: a Pod that ended, a Service of another type, a claim of another size. */
function mayFree(handle: ResourceHandle, before: KubeObject, after: KubeObject, now: number): boolean {
  if (handle.group !== '') return false
  if (handle.resource === 'pods') {
    const [old, pod] = [before as Pod, after as Pod]
    return (isQuotaPod(old, now) && !isQuotaPod(pod, now)) || !deepEqual(old.spec.containers, pod.spec.containers)
  }
  if (handle.resource !== 'services' && handle.resource !== 'persistentvolumeclaims') return false
  const text = (object: KubeObject) => [...quotaUsage(handle, object, now)].map(([name, { nano }]) => `${name}=${nano}`).join()
  return text(before) !== text(after)
}
