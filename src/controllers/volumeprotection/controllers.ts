import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { objectKey, splitKey } from '../../apimachinery/object.ts'
import { deepCopy } from '../../base/index.ts'
import type { Informer } from '../../client/index.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const PVC_FINALIZER = 'kubernetes.io/pvc-protection'
const PV_FINALIZER = 'kubernetes.io/pv-protection'
const CLAIM_INDEX = 'claims'

/** A copy to be written by update: these controllers have no right to patch. */
function withFinalizers<T extends PersistentVolume | PersistentVolumeClaim>(object: T, finalizers: string[]): T {
  const copy = deepCopy(object)
  if (finalizers.length > 0) copy.metadata.finalizers = finalizers
  else delete copy.metadata.finalizers
  return copy
}

/** Claims a Pod uses, ephemeral ones by their generated names. */
function claimsOf(pod: Pod): string[] {
  return (pod.spec.volumes ?? []).flatMap((v) =>
    v.persistentVolumeClaim ? [v.persistentVolumeClaim.claimName] : v.ephemeral ? [`${pod.metadata.name}-${v.name}`] : [],
  )
}

/** Keeps a claim that is being deleted until no Pod on a node uses it. */
export class ClaimProtectionController {
  private readonly context: ControllerContext
  private readonly claims: Informer<PersistentVolumeClaim>
  private readonly pods: Informer<Pod>
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.claims = context.informers.informer(resources.corev1.persistentvolumeclaims)
    this.pods = context.informers.informer(resources.corev1.pods)
    this.pods.addIndex(CLAIM_INDEX, (pod) => claimsOf(pod).map((c) => `${pod.metadata.namespace}/${c}`))
    this.controller = new Controller(context, {
      name: 'persistentvolumeclaim-protection-controller',
      workers: 1,
      informers: [this.claims, this.pods],
      reconcile: (key) => this.reconcile(key),
    })
    const { queue } = this.controller
    const enqueue = (claim: PersistentVolumeClaim) => queue.add(objectKey(claim))
    this.claims.addHandler({ onAdd: enqueue, onUpdate: (_, c) => enqueue(c) })
    const podChanged = (pod: Pod) => {
      for (const name of claimsOf(pod)) queue.add(`${pod.metadata.namespace}/${name}`)
    }
    this.pods.addHandler({ onUpdate: (_, pod) => podChanged(pod), onDelete: podChanged })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async reconcile(key: string): Promise<void> {
    const claim = this.claims.lister.get(key)
    if (!claim) return
    const finalizers = claim.metadata.finalizers ?? []
    const has = finalizers.includes(PVC_FINALIZER)
    if (claim.metadata.deletionTimestamp) {
      if (has && !(await this.inUse(key)))
        await this.write(
          claim,
          finalizers.filter((f) => f !== PVC_FINALIZER),
        )
    } else if (!has) await this.write(claim, [...finalizers, PVC_FINALIZER])
  }

  private async inUse(key: string): Promise<boolean> {
    if (this.pods.lister.byIndex(CLAIM_INDEX, key).some((p) => p.spec.nodeName)) return true
    // The cache may lag behind a Pod that was just scheduled; the server does not.
    const { namespace, name } = splitKey(key)
    const live = await this.context.client.resource(resources.corev1.pods).namespace(namespace).list()
    return live.items.some((p) => p.spec.nodeName && claimsOf(p).includes(name))
  }

  private async write(claim: PersistentVolumeClaim, finalizers: string[]): Promise<void> {
    try {
      await this.context.client.resource(resources.corev1.persistentvolumeclaims).namespace(claim.metadata.namespace).update(withFinalizers(claim, finalizers))
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** Keeps a volume that is being deleted until it is no longer bound. */
export class VolumeProtectionController {
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    const volumes = context.informers.informer(resources.corev1.persistentvolumes)
    const write = async (volume: PersistentVolume, finalizers: string[]) => {
      try {
        await context.client.resource(resources.corev1.persistentvolumes).update(withFinalizers(volume, finalizers))
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
    this.controller = new Controller(context, {
      name: 'persistentvolume-protection-controller',
      workers: 1,
      informers: [volumes],
      reconcile: async (name) => {
        const volume = volumes.lister.get(name)
        if (!volume) return
        const finalizers = volume.metadata.finalizers ?? []
        const has = finalizers.includes(PV_FINALIZER)
        if (volume.metadata.deletionTimestamp) {
          if (has && volume.status?.phase !== 'Bound')
            await write(
              volume,
              finalizers.filter((f) => f !== PV_FINALIZER),
            )
        } else if (!has) await write(volume, [...finalizers, PV_FINALIZER])
      },
    })
    const enqueue = (volume: PersistentVolume) => this.controller.queue.add(volume.metadata.name ?? '')
    volumes.addHandler({ onAdd: enqueue, onUpdate: (_, v) => enqueue(v) })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
