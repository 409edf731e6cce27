import type { ResourceQuota } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { type GroupResource, type KubeObject, objectKey } from '../../apimachinery/object.ts'
import { Quantity } from '../../apimachinery/quantity.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type DiscoveredResource, discover, type Informer } from '../../client/index.ts'
import { isQuotaPod, matchesQuotaScopes, quotaCovers, quotaUsage } from '../../component-helpers/quota.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const RESYNC_MS = 5 * 60_000
const REDISCOVER_MS = 30_000
const FULL: readonly GroupResource[] = [
  { group: '', resource: 'pods' },
  { group: '', resource: 'services' },
  { group: '', resource: 'persistentvolumeclaims' },
]

const nameOf = (gr: GroupResource): string => (gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`)

/** Recounts what quotas have used, after changes and every five minutes. */
export class ResourceQuotaController {
  private readonly context: ControllerContext
  private readonly quotas: Informer<ResourceQuota>
  private readonly counted = new Map<string, Informer<KubeObject>>()
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.quotas = context.informers.informer(resources.corev1.resourcequotas)
    this.controller = new Controller(context, { name: 'resourcequota-controller', informers: [this.quotas], reconcile: (key) => this.reconcile(key) })
    const { queue } = this.controller
    const enqueue = (quota: ResourceQuota) => queue.add(objectKey(quota))
    this.quotas.addHandler({
      onAdd: enqueue,
      onUpdate: (before, after) => {
        if (!deepEqual(before.spec, after.spec) || before.status.used === undefined) enqueue(after)
      },
    })
    this.count({ group: '', version: 'v1', resource: 'pods', kind: 'Pod', namespaced: true, verbs: [], preferred: true })
    this.count({ group: '', version: 'v1', resource: 'services', kind: 'Service', namespaced: true, verbs: [], preferred: true })
    this.count({ group: '', version: 'v1', resource: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim', namespaced: true, verbs: [], preferred: true })
  }

  async run(): Promise<void> {
    const { signal, clock, log } = this.context
    const rediscover = async () => {
      while (!signal.aborted) {
        try {
          const { resources: all } = await discover(this.context.client, signal)
          for (const r of all)
            if (
              r.namespaced &&
              r.preferred &&
              ['create', 'list', 'watch', 'delete'].every((v) => r.verbs.includes(v)) &&
              nameOf(r) !== 'events' &&
              nameOf(r) !== 'events.events.k8s.io'
            )
              this.count(r)
        } catch (error) {
          if (!signal.aborted) log.v(2).info('failed to discover resources', { err: (error as Error).message })
        }
        await clock.sleep(REDISCOVER_MS, signal).catch(() => {})
      }
    }
    const resync = async () => {
      while (!signal.aborted) {
        await clock.sleep(RESYNC_MS, signal).catch(() => {})
        if (!signal.aborted) for (const key of this.quotas.lister.keys()) this.controller.queue.add(key)
      }
    }
    await Promise.all([this.controller.run(), rediscover(), resync()])
  }

  /** Watches a resource so that its objects are counted; what goes gives room back. */
  private count(handle: DiscoveredResource): void {
    const name = nameOf(handle)
    if (this.counted.has(name)) return
    const full = FULL.some((f) => nameOf(f) === name)
    const { informers, clock } = this.context
    const informer = informers.informer<KubeObject>(handle, full || informers.has(handle) ? {} : { metadataOnly: true })
    this.counted.set(name, informer)
    const recount = (quotas: readonly ResourceQuota[]) => {
      for (const quota of quotas) if (Object.keys(quota.spec.hard ?? {}).some((n) => quotaCovers(handle, n))) this.controller.queue.add(objectKey(quota))
    }
    const replenish = (object: KubeObject) => recount(this.quotas.lister.inNamespace(object.metadata.namespace))
    // Quotas that were counted before this resource was known have missed its objects.
    recount(this.quotas.lister.list())
    informer.addHandler({
      onAdd: (o, initial) => {
        if (!initial) replenish(o)
      },
      onUpdate: (before, after) => {
        if (
          name === 'pods'
            ? isQuotaPod(before as never, clock.now()) && !isQuotaPod(after as never, clock.now())
            : full && !deepEqual((before as { spec?: unknown }).spec, (after as { spec?: unknown }).spec)
        )
          replenish(after)
      },
      onDelete: replenish,
    })
  }

  private async reconcile(key: string): Promise<void> {
    const quota = this.quotas.lister.get(key)
    if (!quota) return
    const now = this.context.clock.now()
    const hard = quota.spec.hard ?? {}
    const used: Record<string, string> = {}
    for (const name of Object.keys(hard)) {
      let sum = Quantity.zero
      for (const informer of this.counted.values()) {
        const { handle } = informer
        if (!quotaCovers(handle, name)) continue
        await informer.waitForSync(this.context.signal)
        for (const object of informer.lister.inNamespace(quota.metadata.namespace)) {
          if (!matchesQuotaScopes(quota, handle, object)) continue
          const amount = quotaUsage(handle, object, now).get(name)
          if (amount) sum = sum.add(amount)
        }
      }
      used[name] = sum.toString()
    }
    const status = Object.keys(hard).length > 0 ? { hard: { ...hard }, used } : {}
    if (deepEqual(status, quota.status)) return
    await this.context.client
      .resource(resources.corev1.resourcequotas)
      .namespace(quota.metadata.namespace)
      .updateStatus({ ...deepCopy(quota), status })
  }
}
