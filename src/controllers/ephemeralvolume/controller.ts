import type { PersistentVolumeClaim, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { deepCopy } from '../../base/index.ts'
import { referenceTo } from '../../client/index.ts'
import { Controller, type ControllerContext, controllerRef, isControlledBy } from '../../controller-runtime/index.ts'

/** Makes the claims of a Pod's generic ephemeral volumes. */
export class EphemeralVolumeController {
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    const pods = context.informers.informer(resources.corev1.pods)
    const claims = context.informers.informer(resources.corev1.persistentvolumeclaims)
    const recorder = context.events.recorder('ephemeral_volume')
    this.controller = new Controller(context, {
      name: 'ephemeral-volume-controller',
      informers: [pods, claims],
      reconcile: async (key) => {
        const pod = pods.lister.get(key)
        if (!pod || pod.metadata.deletionTimestamp) return
        for (const volume of pod.spec.volumes ?? []) {
          const template = volume.ephemeral?.volumeClaimTemplate
          if (!template) continue
          const name = `${pod.metadata.name}-${volume.name}`
          const found = claims.lister.get(`${pod.metadata.namespace}/${name}`)
          if (found) {
            if (isControlledBy(found, pod)) continue
            const why = `PVC ${pod.metadata.namespace}/${name} was not created for pod ${objectKey(pod)} (pod is not owner)`
            recorder.event(referenceTo(resources.corev1.pods, pod), 'Warning', 'FailedBinding', `ephemeral volume ${volume.name}: ${why}`)
            throw new Error(why)
          }
          const { labels, annotations } = template.metadata ?? {}
          await context.client
            .resource(resources.corev1.persistentvolumeclaims)
            .namespace(pod.metadata.namespace)
            .create({
              metadata: {
                name,
                namespace: pod.metadata.namespace ?? '',
                ...(labels ? { labels: { ...labels } } : {}),
                ...(annotations ? { annotations: { ...annotations } } : {}),
                ownerReferences: [controllerRef(resources.corev1.pods, pod)],
              },
              spec: deepCopy(template.spec),
            } as PersistentVolumeClaim)
        }
      },
    })
    const enqueue = (pod: Pod) => {
      if (!pod.metadata.deletionTimestamp && pod.spec.volumes?.some((v) => v.ephemeral)) this.controller.queue.add(objectKey(pod))
    }
    pods.addHandler({ onAdd: enqueue })
    claims.addHandler({
      onDelete: (claim) => {
        const owner = claim.metadata.ownerReferences?.find((r) => r.controller && r.kind === 'Pod')
        if (owner) this.controller.queue.add(`${claim.metadata.namespace}/${owner.name}`)
      },
    })
  }

  run(): Promise<void> {
    return this.controller.run()
  }
}
