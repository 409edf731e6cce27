import type { StatefulSet } from '../../api/apps/v1/types.generated.ts'
import type { PersistentVolumeClaim, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isAlreadyExists, isNotFound } from '../../apimachinery/errors.ts'
import type { OwnerReference } from '../../apimachinery/meta/v1/types.generated.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, type Informer, referenceTo } from '../../client/index.ts'
import { type ControllerContext, controllerRef } from '../../controller-runtime/index.ts'
import { claimsFor, INDEX_LABEL, inRange, ordinalOf, POD_NAME_LABEL } from './identity.ts'

/** Creates, corrects and deletes the Pods and claims of a set, with its events. */
export class StatefulPodControl {
  private readonly context: ControllerContext
  private readonly recorder: EventRecorder
  private readonly claims: Informer<PersistentVolumeClaim>

  constructor(context: ControllerContext, recorder: EventRecorder, claims: Informer<PersistentVolumeClaim>) {
    this.context = context
    this.recorder = recorder
    this.claims = claims
  }

  private tell(set: StatefulSet, verb: 'Create' | 'Update' | 'Delete', pod: string, error?: Error): void {
    const about = referenceTo(resources.appsv1.statefulsets, set)
    const subject = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`
    if (error) this.recorder.event(about, 'Warning', `Failed${verb}`, `${subject} failed error: ${error.message}`)
    else this.recorder.event(about, 'Normal', `Successful${verb}`, `${subject} successful`)
  }

  async create(set: StatefulSet, pod: Pod): Promise<Pod> {
    const name = pod.metadata.name ?? ''
    try {
      await this.ensureClaims(set, pod)
      const made = await this.context.client.resource(resources.corev1.pods).namespace(set.metadata.namespace).create(pod)
      this.tell(set, 'Create', name)
      return made
    } catch (error) {
      // A Pod of somebody else in the way is worth no event, but another try: nobody tells when it goes.
      if (!isAlreadyExists(error)) this.tell(set, 'Create', name, error as Error)
      throw error
    }
  }

  async delete(set: StatefulSet, pod: Pod): Promise<void> {
    const name = pod.metadata.name ?? ''
    try {
      await this.context.client.resource(resources.corev1.pods).namespace(set.metadata.namespace).delete(name)
      this.tell(set, 'Delete', name)
    } catch (error) {
      if (isNotFound(error)) return
      this.tell(set, 'Delete', name, error as Error)
      throw error
    }
  }

  /** Puts the identity labels and claims of an existing Pod in order. */
  async correct(set: StatefulSet, pod: Pod): Promise<void> {
    const ordinal = ordinalOf(set, pod)
    if (ordinal === undefined) return
    const name = pod.metadata.name ?? ''
    if (pod.status?.phase === 'Pending' || pod.status?.phase === undefined) await this.ensureClaims(set, pod)
    await this.retain(set, pod, ordinal)
    const labels = pod.metadata.labels ?? {}
    if (labels[POD_NAME_LABEL] === name && labels[INDEX_LABEL] === String(ordinal)) return
    try {
      const fixed = deepCopy(pod)
      fixed.metadata.labels = { ...labels, [POD_NAME_LABEL]: name, [INDEX_LABEL]: String(ordinal) }
      await this.context.client.resource(resources.corev1.pods).namespace(set.metadata.namespace).update(fixed)
      this.tell(set, 'Update', name)
    } catch (error) {
      this.tell(set, 'Update', name, error as Error)
      throw error
    }
  }

  private async ensureClaims(set: StatefulSet, pod: Pod): Promise<void> {
    const ordinal = ordinalOf(set, pod)
    if (ordinal === undefined) return
    const about = referenceTo(resources.appsv1.statefulsets, set)
    for (const claim of claimsFor(set, ordinal)) {
      const name = claim.metadata.name ?? ''
      const found = this.claims.lister.get(`${set.metadata.namespace}/${name}`)
      if (found) {
        if (found.metadata.deletionTimestamp) throw new Error(`pvc ${name} is being deleted`)
        continue
      }
      const owners = wantedOwners(set, pod, ordinal, [])
      if (owners.length > 0) claim.metadata.ownerReferences = owners
      try {
        await this.context.client.resource(resources.corev1.persistentvolumeclaims).namespace(set.metadata.namespace).create(claim)
        this.recorder.event(about, 'Normal', 'SuccessfulCreate', `Create Claim ${name} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} success`)
      } catch (error) {
        if (isAlreadyExists(error)) continue
        const err = (error as Error).message
        this.recorder.event(
          about,
          'Warning',
          'FailedCreate',
          `Create Claim ${name} for Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} failed error: ${err}`,
        )
        throw new Error(`failed to create PVC ${name}: ${err}`, { cause: error })
      }
    }
  }

  /** Makes the claims' owners say what the retention policy asks for (KEP-1847). */
  async retain(set: StatefulSet, pod: Pod, ordinal: number): Promise<void> {
    if (!set.spec.persistentVolumeClaimRetentionPolicy) return
    for (const template of claimsFor(set, ordinal)) {
      const claim = this.claims.lister.get(`${set.metadata.namespace}/${template.metadata.name}`)
      if (!claim) continue
      const before = claim.metadata.ownerReferences ?? []
      const foreign = before.find((r) => r.controller && r.uid !== set.metadata.uid && r.kind !== 'Pod')
      if (foreign) {
        const text = `PersistentVolumeClaim ${claim.metadata.name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`
        this.recorder.event(referenceTo(resources.appsv1.statefulsets, set), 'Warning', 'ConflictingController', text)
        continue
      }
      const after = wantedOwners(set, pod, ordinal, before)
      if (deepEqual(before, after)) continue
      const { ownerReferences: _, ...metadata } = deepCopy(claim.metadata)
      await this.context.client
        .resource(resources.corev1.persistentvolumeclaims)
        .namespace(set.metadata.namespace)
        .update({ ...deepCopy(claim), metadata: { ...metadata, ...(after.length > 0 ? { ownerReferences: after } : {}) } } as PersistentVolumeClaim)
    }
  }
}

function wantedOwners(set: StatefulSet, pod: Pod, ordinal: number, before: readonly OwnerReference[]): OwnerReference[] {
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } = set.spec.persistentVolumeClaimRetentionPolicy ?? {}
  const others = before.filter((r) => r.uid !== set.metadata.uid && !(r.kind === 'Pod' && r.name === pod.metadata.name))
  const condemned = !inRange(set, ordinal)
  const byPod = whenScaled === 'Delete' && condemned && pod.metadata.uid !== undefined
  const bySet = whenDeleted === 'Delete' && !byPod
  if (byPod) return [...others, controllerRef(resources.corev1.pods, pod)]
  return bySet ? [...others, controllerRef(resources.appsv1.statefulsets, set)] : others
}
