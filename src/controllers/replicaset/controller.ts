import type { ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict, isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { deepEqual } from '../../base/index.ts'
import { type Informer, NODE_NAME_INDEX, type ResourceEventHandler, referenceTo } from '../../client/index.ts'
import { findPodCondition, isPodActive, isPodAvailable, isPodReady, isPodTerminating } from '../../component-helpers/pod-conditions.ts'
import {
  allOf,
  Controller,
  type ControllerContext,
  claim,
  claimable,
  controlledBy,
  controllerOf,
  controllerRef,
  Expectations,
  indexByController,
  ownerIn,
  slowStartBatch,
} from '../../controller-runtime/index.ts'
import { compareForDeletion } from '../../controller-runtime/pods/deletion-order.ts'
import { PodControl, podFromTemplate } from '../../controller-runtime/pods/pod-control.ts'
import type { ReplicaSetFlavour } from '../../controller-runtime/pods/replica-set-flavour.ts'
import { replicaSetStatus } from './status.ts'

const BURST = 500

export const replicaSetFlavour: ReplicaSetFlavour = {
  name: 'replicaset-controller',
  handle: resources.appsv1.replicasets,
  component: 'replicaset-controller',
  terminatingReplicas: true,
  fromApi: (o) => o,
  toApi: (o) => o,
}

/** Keeps as many active Pods of a template as asked for. */
export class ReplicaSetController {
  private readonly context: ControllerContext
  private readonly flavour: ReplicaSetFlavour
  private readonly sets: Informer<ReplicaSet>
  private readonly pods: Informer<Pod>
  private readonly expectations: Expectations
  private readonly control: PodControl
  private readonly controller: Controller

  constructor(context: ControllerContext, flavour: ReplicaSetFlavour = replicaSetFlavour) {
    this.context = context
    this.flavour = flavour
    this.sets = context.informers.informer(flavour.handle)
    this.pods = context.informers.informer(resources.corev1.pods)
    indexByController(this.sets)
    indexByController(this.pods)
    this.pods.addIndex(NODE_NAME_INDEX, (pod) => [pod.spec.nodeName ?? ''])
    this.expectations = new Expectations(context.clock)
    this.control = new PodControl(context.client, context.events.recorder(flavour.component))
    this.controller = new Controller(context, {
      name: flavour.name,
      informers: [this.sets, this.pods],
      reconcile: (key) => this.reconcile(key),
    })
    this.sets.addHandler(this.setHandler())
    this.pods.addHandler(this.podHandler())
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private setHandler(): ResourceEventHandler<ReplicaSet> {
    const { queue } = this.controller
    return {
      onAdd: (set) => queue.add(objectKey(set)),
      onUpdate: (before, after) => {
        if (before.metadata.uid !== after.metadata.uid) this.expectations.forget(objectKey(before))
        queue.add(objectKey(after))
      },
      onDelete: (set) => {
        this.expectations.forget(objectKey(set))
        queue.add(objectKey(set))
      },
    }
  }

  private podHandler(): ResourceEventHandler<Pod> {
    const { queue } = this.controller
    const deleted = (pod: Pod) => {
      const owner = this.ownerOf(pod)
      if (!owner) return
      const key = objectKey(owner)
      this.expectations.deletionSeen(key, objectKey(pod))
      queue.add(key)
    }
    return {
      onAdd: (pod) => {
        if (pod.metadata.deletionTimestamp) return deleted(pod)
        if (controllerOf(pod)) {
          const owner = this.ownerOf(pod)
          if (!owner) return
          this.expectations.creationSeen(objectKey(owner))
          queue.add(objectKey(owner))
        } else this.enqueueMatching(pod)
      },
      onUpdate: (before, after) => {
        const ref = controllerOf(after)
        const oldRef = controllerOf(before)
        if (after.metadata.deletionTimestamp) {
          deleted(after)
          if (!deepEqual(before.metadata.labels, after.metadata.labels)) deleted(before)
          return
        }
        if (oldRef && oldRef.uid !== ref?.uid) {
          const old = this.ownerOf(before)
          if (old) queue.add(objectKey(old))
        }
        if (ref) {
          const owner = this.ownerOf(after)
          if (!owner) return
          queue.add(objectKey(owner))
          // Availability comes with time alone: no further event will tell of it.
          const minReady = this.flavour.fromApi(owner).spec.minReadySeconds ?? 0
          if (minReady > 0 && !isPodReady(before) && isPodReady(after)) queue.addAfter(objectKey(owner), minReady * 1000 + 1000)
          return
        }
        if (oldRef || !deepEqual(before.metadata.labels, after.metadata.labels)) this.enqueueMatching(after)
      },
      onDelete: deleted,
    }
  }

  private ownerOf(pod: Pod): ReplicaSet | undefined {
    return ownerIn(this.sets.lister, this.flavour.handle.kind, pod)
  }

  private enqueueMatching(pod: Pod): void {
    for (const set of this.sets.lister.inNamespace(pod.metadata.namespace)) {
      const selector = selectorOf(this.flavour.fromApi(set))
      if (selector && !selector.empty && selector.matches(pod.metadata.labels)) this.controller.queue.add(objectKey(set))
    }
  }

  private async reconcile(key: string): Promise<{ requeueAfterMs?: number } | undefined> {
    const { client, clock } = this.context
    const found = this.sets.lister.get(key)
    if (!found) {
      this.expectations.forget(key)
      return
    }
    const set = this.flavour.fromApi(found)
    const needsSync = this.expectations.satisfied(key)
    const selector = selectorOf(set)
    if (!selector) return
    const candidates = claimable(this.pods.lister, set)
    const active = candidates.filter(isPodActive)
    const options = { client, owner: found, ownerHandle: this.flavour.handle, handle: resources.corev1.pods, selector }
    const claimed = await claim(active, options)
    const terminating = this.flavour.terminatingReplicas ? await claim(candidates.filter(isPodTerminating), options) : undefined
    let error: unknown
    if (needsSync && !set.metadata.deletionTimestamp) error = await this.manage(key, set, claimed)
    const difference = claimed.length - (set.spec.replicas ?? 1)
    const status = replicaSetStatus({ set, active: claimed, terminating, difference, error, now: clock.now() })
    const written = await this.writeStatus(set, status)
    if (error !== undefined) throw error
    return this.nextAvailability(written, claimed)
  }

  /** Waits for the moment at which the next ready Pod becomes available. */
  private nextAvailability(set: ReplicaSet, pods: readonly Pod[]): { requeueAfterMs?: number } | undefined {
    const minReady = set.spec.minReadySeconds ?? 0
    if (minReady <= 0) return
    const now = this.context.clock.now()
    let next = Number.POSITIVE_INFINITY
    for (const pod of pods) {
      if (!isPodReady(pod) || isPodAvailable(pod, minReady, now)) continue
      const since = timeMs(findPodCondition(pod, 'Ready')?.lastTransitionTime)
      if (since !== undefined) next = Math.min(next, since + minReady * 1000 - now)
    }
    return next === Number.POSITIVE_INFINITY ? undefined : { requeueAfterMs: Math.max(1, next) }
  }

  /** Creates what is missing or deletes what is too much; returns the error instead of throwing, since the status tells of it. */
  private async manage(key: string, set: ReplicaSet, pods: readonly Pod[]): Promise<unknown> {
    const difference = pods.length - (set.spec.replicas ?? 1)
    const owner = referenceTo(this.flavour.handle, set)
    if (difference < 0) {
      const count = Math.min(-difference, BURST)
      this.expectations.expect(key, count)
      const ref = controllerRef(this.flavour.handle, set)
      const { succeeded, error } = await slowStartBatch(count, async () => {
        try {
          await this.control.create(podFromTemplate(set.spec.template, { name: set.metadata.name ?? '', namespace: set.metadata.namespace }, ref), owner)
        } catch (e) {
          if (!isNamespaceTerminating(e)) throw e
        }
      })
      // What was not made will not be seen.
      if (succeeded < count) this.expectations.creationSeen(key, count - succeeded)
      return error
    }
    if (difference > 0) {
      const count = Math.min(difference, BURST)
      const victims = this.victims(set, pods, count)
      this.expectations.expect(key, 0, victims.map(objectKey))
      return allOf(victims, async (pod) => {
        try {
          await this.control.delete(pod.metadata.name ?? '', owner)
        } catch (e) {
          this.expectations.deletionSeen(key, objectKey(pod))
          if (!isNotFound(e)) throw e
        }
      })
    }
    return undefined
  }

  private victims(set: ReplicaSet, pods: readonly Pod[], count: number): Pod[] {
    if (count >= pods.length) return [...pods]
    const onNode = new Map<string, number>()
    for (const related of this.relatedPods(set)) {
      const node = related.spec.nodeName ?? ''
      onNode.set(node, (onNode.get(node) ?? 0) + 1)
    }
    const now = this.context.clock.now()
    return pods
      .map((pod) => ({ pod, rank: onNode.get(pod.spec.nodeName ?? '') ?? 0 }))
      .sort((a, b) => compareForDeletion(a, b, now))
      .slice(0, count)
      .map((r) => r.pod)
  }

  /** Active Pods of all sets with the same controller, this one included. */
  private relatedPods(set: ReplicaSet): Pod[] {
    const ref = controllerOf(set)
    const sets = ref ? controlledBy(this.sets.lister, ref.uid) : [set]
    return sets.flatMap((s) => controlledBy(this.pods.lister, s.metadata.uid)).filter(isPodActive)
  }

  private async writeStatus(set: ReplicaSet, status: ReplicaSet['status']): Promise<ReplicaSet> {
    if (deepEqual(set.status, status)) return set
    const sets = this.context.client.resource(this.flavour.handle).namespace(set.metadata.namespace)
    const write = (current: ReplicaSet) => sets.updateStatus(this.flavour.toApi({ ...current, status }))
    try {
      return this.flavour.fromApi(await write(set))
    } catch (error) {
      if (!isConflict(error)) throw error
      const fresh = this.flavour.fromApi(await sets.get(set.metadata.name ?? ''))
      if (fresh.metadata.uid !== set.metadata.uid) throw error
      return this.flavour.fromApi(await write(fresh))
    }
  }
}

function selectorOf(set: ReplicaSet) {
  try {
    return selectorFromLabelSelector(set.spec.selector)
  } catch {
    return undefined
  }
}
