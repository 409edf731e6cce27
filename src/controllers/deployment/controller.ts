import type { Deployment, ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, type Informer, referenceTo } from '../../client/index.ts'
import { isPodTerminal } from '../../component-helpers/pod-conditions.ts'
import { Controller, type ControllerContext, claim, claimable, controlledBy, controllerOf, indexByController, ownerIn } from '../../controller-runtime/index.ts'
import { Rollout } from './rollout.ts'

const MAX_RETRIES = 15
const SELECTING_ALL = 'This deployment is selecting all pods. A non-empty selector is required.'

/** Rolls ReplicaSets forward (and back) to what a Deployment's template asks for. */
export class DeploymentController {
  private readonly context: ControllerContext
  private readonly deployments: Informer<Deployment>
  private readonly sets: Informer<ReplicaSet>
  private readonly pods: Informer<Pod>
  private readonly recorder: EventRecorder
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.deployments = context.informers.informer(resources.appsv1.deployments)
    this.sets = context.informers.informer(resources.appsv1.replicasets)
    this.pods = context.informers.informer(resources.corev1.pods)
    indexByController(this.sets)
    indexByController(this.pods)
    this.recorder = context.events.recorder('deployment-controller')
    this.controller = new Controller(context, {
      name: 'deployment-controller',
      informers: [this.deployments, this.sets, this.pods],
      maxRetries: MAX_RETRIES,
      reconcile: (key) => this.reconcile(key),
    })
    const { queue } = this.controller
    const enqueue = (d: Deployment) => queue.add(objectKey(d))
    this.deployments.addHandler({ onAdd: enqueue, onUpdate: (_, d) => enqueue(d), onDelete: enqueue })
    this.sets.addHandler({
      onAdd: (set) => this.setChanged(set),
      onUpdate: (before, after) => {
        const [old, now] = [controllerOf(before), controllerOf(after)]
        if (old && old.uid !== now?.uid) this.enqueueOwner(before)
        if (now) this.enqueueOwner(after)
        else if (old || !deepEqual(before.metadata.labels, after.metadata.labels)) this.enqueueMatching(after)
      },
      onDelete: (set) => this.enqueueOwner(set),
    })
    this.pods.addHandler({ onDelete: (pod) => this.podDeleted(pod) })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private setChanged(set: ReplicaSet): void {
    if (controllerOf(set)) this.enqueueOwner(set)
    else this.enqueueMatching(set)
  }

  private ownerOf(set: ReplicaSet): Deployment | undefined {
    return ownerIn(this.deployments.lister, 'Deployment', set)
  }

  private enqueueOwner(set: ReplicaSet): void {
    const owner = this.ownerOf(set)
    if (owner) this.controller.queue.add(objectKey(owner))
  }

  private enqueueMatching(set: ReplicaSet): void {
    for (const d of this.deployments.lister.inNamespace(set.metadata.namespace)) {
      try {
        const selector = selectorFromLabelSelector(d.spec.selector)
        if (!selector.empty && selector.matches(set.metadata.labels)) this.controller.queue.add(objectKey(d))
      } catch {
        // A selector that cannot be read selects nothing.
      }
    }
  }

  /** Recreate waits for the last Pod to be gone; nobody else needs to hear of Pods. */
  private podDeleted(pod: Pod): void {
    const ref = controllerOf(pod)
    if (ref?.kind !== 'ReplicaSet') return
    const set = this.sets.lister.get(`${pod.metadata.namespace}/${ref.name}`)
    const owner = set?.metadata.uid === ref.uid ? this.ownerOf(set) : undefined
    if (owner?.spec.strategy.type !== 'Recreate') return
    const left = controlledBy(this.sets.lister, owner.metadata.uid).some((s) => controlledBy(this.pods.lister, s.metadata.uid).length > 0)
    if (!left) this.controller.queue.add(objectKey(owner))
  }

  private async reconcile(key: string): Promise<{ requeueAfterMs: number } | undefined> {
    const { client } = this.context
    const deployment = this.deployments.lister.get(key)
    if (!deployment) return
    const { selector } = deployment.spec
    if (!selector?.matchLabels && !selector?.matchExpressions?.length) {
      await this.refuse(deployment)
      return
    }
    const candidates = claimable(this.sets.lister, deployment)
    const sets = await claim(candidates, {
      client,
      owner: deployment,
      ownerHandle: resources.appsv1.deployments,
      handle: resources.appsv1.replicasets,
      selector: selectorFromLabelSelector(selector),
    })
    const rollout = new Rollout(this.context, this.recorder, {
      deployment,
      sets,
      setsWithPods: () => sets.map((s) => s.metadata.uid ?? ''),
      hasLivePods: (setUid) => controlledBy(this.pods.lister, setUid).some((pod) => !isPodTerminal(pod)),
    })
    const after = await rollout.run()
    return after === undefined ? undefined : { requeueAfterMs: after }
  }

  private async refuse(deployment: Deployment): Promise<void> {
    this.recorder.event(referenceTo(resources.appsv1.deployments, deployment), 'Warning', 'SelectingAll', SELECTING_ALL)
    const { generation } = deployment.metadata
    if ((deployment.status.observedGeneration ?? 0) >= (generation ?? 0)) return
    const copy = deepCopy(deployment)
    if (generation !== undefined) copy.status.observedGeneration = generation
    await this.context.client.resource(resources.appsv1.deployments).namespace(deployment.metadata.namespace).updateStatus(copy)
  }
}
