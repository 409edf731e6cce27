import type { Node, Pod, Taint } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { objectKey, splitKey } from '../../apimachinery/object.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepEqual } from '../../base/index.ts'
import { type EventRecorder, type Informer, NODE_NAME_INDEX } from '../../client/index.ts'
import { matchingTolerations, minTolerationSeconds } from '../../component-helpers/taints.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

interface Scheduled {
  createdAt: number
  fireAt: number
}

const MESSAGE = 'Taint manager: deleting due to NoExecute taint'

/** Deletes Pods from nodes with NoExecute taints they do not tolerate, at once or when their tolerance ends. */
export class TaintEvictionController {
  private readonly context: ControllerContext
  private readonly pods: Informer<Pod>
  private readonly nodes: Informer<Node>
  private readonly recorder: EventRecorder
  private readonly scheduled = new Map<string, Scheduled>()
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.pods = context.informers.informer(resources.corev1.pods)
    this.nodes = context.informers.informer(resources.corev1.nodes)
    this.pods.addIndex(NODE_NAME_INDEX, (pod) => [pod.spec.nodeName ?? ''])
    this.recorder = context.events.recorder('taint-eviction-controller')
    this.controller = new Controller(context, {
      name: 'taint-eviction-controller',
      workers: 8,
      informers: [this.pods, this.nodes],
      reconcile: (key) => this.reconcile(key),
    })
    const { queue } = this.controller
    this.pods.addHandler({
      onAdd: (pod) => queue.add(objectKey(pod)),
      onUpdate: (before, after) => {
        if (before.spec.nodeName !== after.spec.nodeName || !deepEqual(before.spec.tolerations, after.spec.tolerations)) queue.add(objectKey(after))
      },
      onDelete: (pod) => this.cancel(objectKey(pod), pod, false),
    })
    const nodeChanged = (node: Node) => {
      for (const pod of this.pods.lister.byIndex(NODE_NAME_INDEX, node.metadata.name ?? '')) queue.add(objectKey(pod))
    }
    this.nodes.addHandler({
      onAdd: nodeChanged,
      onUpdate: (before, after) => {
        if (!deepEqual(noExecute(before), noExecute(after))) nodeChanged(after)
      },
      onDelete: nodeChanged,
    })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private async reconcile(key: string): Promise<{ requeueAfterMs: number } | undefined> {
    const pod = this.pods.lister.get(key)
    if (!pod?.spec.nodeName || pod.metadata.deletionTimestamp) {
      this.scheduled.delete(key)
      return
    }
    const node = this.nodes.lister.get(pod.spec.nodeName)
    const taints = node ? noExecute(node) : []
    if (taints.length === 0) {
      this.cancel(key, pod, true)
      return
    }
    const { all, used } = matchingTolerations(taints, pod.spec.tolerations)
    if (!all) {
      this.scheduled.delete(key)
      await this.evict(key, pod)
      return
    }
    const seconds = minTolerationSeconds(used)
    if (seconds === undefined) {
      this.cancel(key, pod, true)
      return
    }
    const now = this.context.clock.now()
    const before = this.scheduled.get(key)
    // A shorter wait than the one under way starts with the first taint; a longer one never prolongs it.
    const createdAt = before?.createdAt ?? now
    const fireAt = Math.min(before?.fireAt ?? Number.POSITIVE_INFINITY, createdAt + seconds * 1000)
    if (fireAt <= now) {
      this.scheduled.delete(key)
      await this.evict(key, pod)
      return
    }
    this.scheduled.set(key, { createdAt, fireAt })
    return { requeueAfterMs: fireAt - now }
  }

  private cancel(key: string, pod: Pod, tell: boolean): void {
    if (!this.scheduled.delete(key) || !tell) return
    this.podEvent(key, pod.metadata.uid, `Cancelling deletion of Pod ${key}`)
  }

  private podEvent(key: string, uid: string | undefined, message: string): void {
    const { namespace, name } = splitKey(key)
    this.recorder.event({ kind: 'Pod', apiVersion: 'v1', namespace, name, ...(uid ? { uid } : {}) }, 'Normal', 'TaintManagerEviction', message)
  }

  private async evict(key: string, pod: Pod): Promise<void> {
    const { client, clock } = this.context
    this.podEvent(key, pod.metadata.uid, `Marking for deletion Pod ${key}`)
    const pods = client.resource(resources.corev1.pods).namespace(pod.metadata.namespace)
    const name = pod.metadata.name ?? ''
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: MESSAGE,
      lastTransitionTime: formatTime(clock.now()),
      ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
    }
    try {
      await pods.patch(name, 'strategic', { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } }, { subresource: 'status' })
      await pods.delete(name)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

function noExecute(node: Node): Taint[] {
  return (node.spec?.taints ?? []).filter((t) => t.effect === 'NoExecute')
}
