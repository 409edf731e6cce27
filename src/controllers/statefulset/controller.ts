import type { StatefulSet, StatefulSetStatus } from '../../api/apps/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict } from '../../apimachinery/errors.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import type { Informer } from '../../client/index.ts'
import { isPodAvailable, isPodReady } from '../../component-helpers/pod-conditions.ts'
import {
  Controller,
  type ControllerContext,
  claim,
  claimable,
  controllerOf,
  indexByController,
  ownerIn,
  slowStartBatch,
  WriteTracker,
} from '../../controller-runtime/index.ts'
import { inRange, ordinalOf, replicasOf, revisionOf, setAtRevision, startOrdinal, statefulPod } from './identity.ts'
import { StatefulPodControl } from './pod-control.ts'
import { type Revisions, StatefulSetRevisions } from './revisions.ts'

/** Runs Pods with names and claims of their own, one after the other. */
export class StatefulSetController {
  private readonly context: ControllerContext
  private readonly sets: Informer<StatefulSet>
  private readonly pods: Informer<Pod>
  private readonly revisions: StatefulSetRevisions
  private readonly control: StatefulPodControl
  private readonly writes: WriteTracker<Pod>
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    const { informers, clock } = context
    this.sets = informers.informer(resources.appsv1.statefulsets)
    this.pods = informers.informer(resources.corev1.pods)
    const claims = informers.informer(resources.corev1.persistentvolumeclaims)
    this.revisions = new StatefulSetRevisions(context)
    indexByController(this.pods)
    this.control = new StatefulPodControl(context, context.events.recorder('statefulset-controller'), claims)
    this.controller = new Controller(context, {
      name: 'statefulset-controller',
      informers: [this.sets, this.pods, claims, this.revisions.informer],
      reconcile: (key) => this.reconcile(key),
    })
    const { queue } = this.controller
    this.writes = new WriteTracker(clock, this.pods, (key) => queue.add(key))
    const enqueue = (set: StatefulSet) => queue.add(objectKey(set))
    this.sets.addHandler({ onAdd: enqueue, onUpdate: (_, s) => enqueue(s), onDelete: enqueue })
    this.pods.addHandler({
      onAdd: (pod) => this.podChanged(pod),
      onUpdate: (before, after) => {
        const old = controllerOf(before)
        if (old && old.uid !== controllerOf(after)?.uid) this.podChanged(before)
        this.podChanged(after)
        const owner = this.ownerOf(after)
        const minReady = owner?.spec.minReadySeconds ?? 0
        if (owner && minReady > 0 && !isPodReady(before) && isPodReady(after)) queue.addAfter(objectKey(owner), minReady * 1000 + 1000)
      },
      onDelete: (pod) => this.podChanged(pod),
    })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private ownerOf(pod: Pod): StatefulSet | undefined {
    return ownerIn(this.sets.lister, 'StatefulSet', pod)
  }

  private podChanged(pod: Pod): void {
    const owner = this.ownerOf(pod)
    if (owner) this.controller.queue.add(objectKey(owner))
    else if (!controllerOf(pod)) {
      for (const set of this.sets.lister.inNamespace(pod.metadata.namespace)) {
        const selector = selectorFromLabelSelector(set.spec.selector)
        if (!selector.empty && selector.matches(pod.metadata.labels) && ordinalOf(set, pod) !== undefined) this.controller.queue.add(objectKey(set))
      }
    }
  }

  private async reconcile(key: string): Promise<{ requeueAfterMs: number } | undefined> {
    const set = this.sets.lister.get(key)
    if (!set || this.writes.stale(key)) return
    const selector = selectorFromLabelSelector(set.spec.selector)
    if (selector.empty) return
    const candidates = claimable(this.pods.lister, set)
    const pods = await claim(candidates, {
      client: this.context.client,
      owner: set,
      ownerHandle: resources.appsv1.statefulsets,
      handle: resources.corev1.pods,
      selector,
      accepts: (pod) => ordinalOf(set, pod) !== undefined,
    })
    const revisions = await this.revisions.of(set)
    let error: unknown
    let failed = false
    if (!set.metadata.deletionTimestamp) {
      try {
        await this.step(key, set, revisions, pods)
      } catch (e) {
        failed = true
        error = e
      }
    }
    await this.writeStatus(set, revisions, pods)
    await this.revisions.truncate(set, revisions, new Set(pods.map(revisionOf)))
    if (failed) throw error
    const minReady = set.spec.minReadySeconds ?? 0
    const waiting = minReady > 0 && pods.some((p) => isPodReady(p) && !this.isAvailable(set, p))
    return waiting ? { requeueAfterMs: minReady * 1000 } : undefined
  }

  private isAvailable(set: StatefulSet, pod: Pod): boolean {
    return pod.status?.phase === 'Running' && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, this.context.clock.now())
  }

  /** One step towards the wanted state; the next event brings the next. */
  private async step(key: string, set: StatefulSet, revisions: Revisions, pods: readonly Pod[]): Promise<void> {
    const byOrdinal = new Map(pods.map((p) => [ordinalOf(set, p) as number, p]))
    const ordered = set.spec.podManagementPolicy !== 'Parallel'
    const start = startOrdinal(set)
    const missing: number[] = []
    for (let ordinal = start; ordinal < start + replicasOf(set); ordinal++) {
      const pod = byOrdinal.get(ordinal)
      if (!pod) {
        if (ordered) {
          await this.make(key, set, revisions, ordinal)
          return
        }
        missing.push(ordinal)
        continue
      }
      const { phase } = pod.status ?? {}
      if ((phase === 'Failed' || phase === 'Succeeded') && !pod.metadata.deletionTimestamp) {
        // A name can be given again only when its old Pod is gone.
        await this.control.delete(set, pod)
        if (ordered) return
        continue
      }
      if (pod.metadata.deletionTimestamp) {
        if (ordered) return
        continue
      }
      await this.control.correct(set, pod)
      if (ordered && !this.isAvailable(set, pod)) return
    }
    if (missing.length > 0) {
      const { error } = await slowStartBatch(missing.length, (i) => this.make(key, set, revisions, missing[i] as number))
      if (error !== undefined) throw error
    }
    const condemned = [...byOrdinal].filter(([ordinal]) => !inRange(set, ordinal)).sort(([a], [b]) => b - a)
    if (condemned.length > 0) {
      await this.condemn(set, condemned, byOrdinal, ordered)
      if (ordered) return
    }
    await this.roll(set, revisions, byOrdinal)
  }

  private async make(key: string, set: StatefulSet, revisions: Revisions, ordinal: number): Promise<void> {
    const revision = this.revisionFor(set, revisions, ordinal)
    const pod = statefulPod(setAtRevision(set, revision), ordinal, revision.metadata.name ?? '')
    this.writes.written(key, await this.control.create(set, pod))
  }

  /** Ordinals below the partition stay at the current revision, also when they are made anew. */
  private revisionFor(set: StatefulSet, { current, update }: Revisions, ordinal: number) {
    const { type, rollingUpdate } = set.spec.updateStrategy
    if (type !== 'RollingUpdate' || current.metadata.name === update.metadata.name) return type === 'OnDelete' ? update : current
    const bound = rollingUpdate ? (rollingUpdate.partition ?? 0) : (set.status.currentReplicas ?? 0)
    return ordinal < startOrdinal(set) + bound ? current : update
  }

  private async condemn(set: StatefulSet, condemned: readonly (readonly [number, Pod])[], all: ReadonlyMap<number, Pod>, ordered: boolean): Promise<void> {
    const unhealthy = [...all].filter(([, p]) => !isPodReady(p) || p.metadata.deletionTimestamp).sort(([a], [b]) => a - b)[0]?.[1]
    for (const [ordinal, pod] of condemned) {
      await this.control.retain(set, pod, ordinal)
      if (pod.metadata.deletionTimestamp) {
        if (ordered) return
        continue
      }
      if (ordered && !isPodReady(pod) && pod !== unhealthy) return
      await this.control.delete(set, pod)
      if (ordered) return
    }
  }

  private async roll(set: StatefulSet, revisions: Revisions, byOrdinal: ReadonlyMap<number, Pod>): Promise<void> {
    if (set.spec.updateStrategy.type === 'OnDelete') return
    const start = startOrdinal(set)
    const lowest = start + (set.spec.updateStrategy.rollingUpdate?.partition ?? 0)
    for (let ordinal = start + replicasOf(set) - 1; ordinal >= lowest; ordinal--) {
      const pod = byOrdinal.get(ordinal)
      if (!pod) return
      if (revisionOf(pod) !== revisions.update.metadata.name && !pod.metadata.deletionTimestamp) {
        await this.control.delete(set, pod)
        return
      }
      if (!this.isAvailable(set, pod) || pod.metadata.deletionTimestamp) return
    }
  }

  private async writeStatus(set: StatefulSet, revisions: Revisions, pods: readonly Pod[]): Promise<void> {
    const { current, update, collisionCount } = revisions
    const created = pods.filter((p) => p.status?.phase)
    const ready = created.filter((p) => p.status?.phase === 'Running' && isPodReady(p))
    const available = ready.filter((p) => this.isAvailable(set, p))
    const living = created.filter((p) => !p.metadata.deletionTimestamp)
    let currentReplicas = living.filter((p) => revisionOf(p) === current.metadata.name).length
    const updated = living.filter((p) => revisionOf(p) === update.metadata.name).length
    let currentRevision = current.metadata.name ?? ''
    const updateRevision = update.metadata.name ?? ''
    const wanted = replicasOf(set)
    if (set.spec.updateStrategy.type === 'RollingUpdate' && updated === wanted && ready.length === wanted && created.length === wanted) {
      currentRevision = updateRevision
      currentReplicas = updated
    }
    const { generation } = set.metadata
    const status: StatefulSetStatus = {
      ...(generation ? { observedGeneration: generation } : {}),
      replicas: created.length,
      ...(ready.length ? { readyReplicas: ready.length } : {}),
      ...(currentReplicas ? { currentReplicas } : {}),
      ...(updated ? { updatedReplicas: updated } : {}),
      currentRevision,
      updateRevision,
      collisionCount,
      availableReplicas: available.length,
      ...(set.status.conditions?.length ? { conditions: set.status.conditions } : {}),
    } as StatefulSetStatus
    if (deepEqual(status, set.status)) return
    const client = this.context.client.resource(resources.appsv1.statefulsets).namespace(set.metadata.namespace)
    try {
      await client.updateStatus({ ...deepCopy(set), status })
    } catch (error) {
      if (!isConflict(error)) throw error
      const fresh = await client.get(set.metadata.name ?? '')
      await client.updateStatus({ ...deepCopy(fresh), status })
    }
  }
}
