import type { corev1 } from '../api/index.ts'
import { resources } from '../api/index.ts'
import type { KubeObject, ResourceHandle } from '../apimachinery/object.ts'
import { deepEqual } from '../base/index.ts'
import type { InformerFactory } from '../client/cache/informer-factory.ts'
import type { ClusterCache } from './cache/cluster-cache.ts'
import type { Action, EventResource } from './framework/plugin.ts'
import { podInfo } from './framework/pod-info.ts'
import type { Nominations } from './nominations.ts'
import type { SchedulingQueue } from './queue/scheduling-queue.ts'

/** Pods that are over count as gone. */
export const POD_SCOPE = { fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' } as const

export interface WatchClusterOptions {
  informers: InformerFactory
  cache: ClusterCache
  queue: SchedulingQueue
  nominations: Nominations
  isWaiting(pod: corev1.Pod): boolean
}

/** Keeps cache and queue true to the cluster. */
export function watchCluster(options: WatchClusterOptions): { synced(signal: AbortSignal): Promise<void>; remove(): void } {
  const { informers, cache, queue, nominations, isWaiting } = options
  const pods = informers.informer(resources.corev1.pods, POD_SCOPE)
  const nodes = informers.informer(resources.corev1.nodes)
  const uid = (pod: corev1.Pod) => pod.metadata.uid ?? ''

  const assigned = (old: corev1.Pod | undefined, pod: corev1.Pod) => {
    const bound = old === undefined || !old.spec.nodeName
    if (!old || changesAccounting(old, pod) || bound) cache.addPod(pod)
    if (bound) {
      queue.remove(uid(pod))
      nominations.remove(uid(pod))
      queue.onEvent({ resource: 'AssignedPod', action: 'Add', new: pod })
      return
    }
    if (!deepEqual(old.metadata.labels ?? {}, pod.metadata.labels ?? {})) queue.onEvent({ resource: 'AssignedPod', action: 'UpdatePodLabel', old, new: pod })
    if (changesAccounting(old, pod)) queue.onEvent({ resource: 'AssignedPod', action: 'UpdatePodScaleDown', old, new: pod })
  }
  const waiting = (old: corev1.Pod | undefined, pod: corev1.Pod) => {
    if (pod.status.nominatedNodeName) nominations.set(podInfo(pod), pod.status.nominatedNodeName)
    else if (old?.status.nominatedNodeName && nominations.remove(uid(pod))) queue.onEvent({ resource: 'AssignedPod', action: 'Delete', old })
    // An assumed Pod is on its way to its node: it does not wait.
    if (cache.isAssumed(uid(pod))) return
    if (!old) queue.add(pod)
    else if (old.metadata.resourceVersion !== pod.metadata.resourceVersion && !onlyStatusChanged(old, pod)) queue.update(old, pod)
  }
  const gone = (pod: corev1.Pod) => {
    if (pod.spec.nodeName) {
      cache.removePod(uid(pod))
      queue.onEvent({ resource: 'AssignedPod', action: 'Delete', old: pod })
      return
    }
    queue.remove(uid(pod))
    if (cache.isAssumed(uid(pod))) {
      cache.forget(uid(pod))
      queue.onEvent({ resource: 'AssignedPod', action: 'Delete', old: pod })
    }
    if (nominations.remove(uid(pod))) queue.onEvent({ resource: 'AssignedPod', action: 'Delete', old: pod })
  }

  const podHandler = pods.addHandler({
    onAdd(pod) {
      if (pod.spec.nodeName) assigned(undefined, pod)
      else if (isWaiting(pod)) waiting(undefined, pod)
    },
    onUpdate(old, pod) {
      if (old.metadata.uid !== pod.metadata.uid) {
        gone(old)
        if (pod.spec.nodeName) assigned(undefined, pod)
        else if (isWaiting(pod)) waiting(undefined, pod)
        return
      }
      if (pod.spec.nodeName) assigned(old, pod)
      else if (isWaiting(pod)) waiting(old, pod)
    },
    onDelete: gone,
  })
  const nodeHandler = nodes.addHandler({
    onAdd(node) {
      cache.setNode(node)
      queue.onEvent({ resource: 'Node', action: 'Add', new: node })
    },
    onUpdate(old, node) {
      const actions = nodeActions(old, node)
      if (actions.length === 0 && old.metadata.uid === node.metadata.uid && deepEqual(old.status.images ?? [], node.status.images ?? [])) return
      cache.setNode(node)
      for (const action of actions) queue.onEvent({ resource: 'Node', action, old, new: node })
    },
    onDelete(node) {
      cache.removeNode(node.metadata.name ?? '')
      queue.onEvent({ resource: 'Node', action: 'Delete', old: node })
    },
  })
  /** Objects that only plugins look at: what happens to them is told to the queue as it is. */
  const tell = <T extends KubeObject>(handle: ResourceHandle<T>, resource: EventResource) => {
    const informer = informers.informer(handle)
    const registration = informer.addHandler({
      onAdd: (object) => queue.onEvent({ resource, action: 'Add', new: object }),
      onUpdate(old, object) {
        if (old.metadata.resourceVersion !== object.metadata.resourceVersion) queue.onEvent({ resource, action: 'Update', old, new: object })
      },
      onDelete: (object) => queue.onEvent({ resource, action: 'Delete', old: object }),
    })
    return { informer, registration }
  }
  const told = [
    tell(resources.corev1.persistentvolumes, 'PersistentVolume'),
    tell(resources.corev1.persistentvolumeclaims, 'PersistentVolumeClaim'),
    tell(resources.storagev1.storageclasses, 'StorageClass'),
    tell(resources.storagev1.csinodes, 'CSINode'),
    tell(resources.storagev1.csidrivers, 'CSIDriver'),
    tell(resources.storagev1.csistoragecapacities, 'CSIStorageCapacity'),
    tell(resources.storagev1.volumeattachments, 'VolumeAttachment'),
  ]
  return {
    async synced(signal) {
      await Promise.all([pods.waitForSync(signal), nodes.waitForSync(signal), ...told.map((t) => t.informer.waitForSync(signal))])
    },
    remove() {
      podHandler.remove()
      nodeHandler.remove()
      for (const t of told) t.registration.remove()
    },
  }
}

function nodeActions(old: corev1.Node, node: corev1.Node): Action[] {
  const actions: Action[] = []
  if (!deepEqual(old.status.allocatable ?? {}, node.status.allocatable ?? {})) actions.push('UpdateNodeAllocatable')
  if (!deepEqual(old.metadata.labels ?? {}, node.metadata.labels ?? {})) actions.push('UpdateNodeLabel')
  if (!deepEqual(old.spec.taints ?? [], node.spec.taints ?? []) || (old.spec.unschedulable ?? false) !== (node.spec.unschedulable ?? false))
    actions.push('UpdateNodeTaint')
  const statuses = (n: corev1.Node) => (n.status.conditions ?? []).map((c) => `${c.type}=${c.status}`).join()
  if (statuses(old) !== statuses(node)) actions.push('UpdateNodeCondition')
  if (!deepEqual(old.metadata.annotations ?? {}, node.metadata.annotations ?? {})) actions.push('UpdateNodeAnnotation')
  return actions
}

/** What the cache counts of a bound Pod: resources, ports, labels, terms, and whether it is on its way out. */
function changesAccounting(old: corev1.Pod, pod: corev1.Pod): boolean {
  if (old.spec !== pod.spec && !deepEqual(old.spec, pod.spec)) return true
  if ((old.metadata.deletionTimestamp ?? '') !== (pod.metadata.deletionTimestamp ?? '')) return true
  if (!deepEqual(old.metadata.labels ?? {}, pod.metadata.labels ?? {})) return true
  const held = (p: corev1.Pod) => (p.status.containerStatuses ?? []).map((s) => s.resources?.requests ?? s.allocatedResources ?? null)
  return !deepEqual(held(old), held(pod))
}

function onlyStatusChanged(old: corev1.Pod, pod: corev1.Pod): boolean {
  return (
    deepEqual(old.spec, pod.spec) &&
    deepEqual(old.metadata.labels ?? {}, pod.metadata.labels ?? {}) &&
    deepEqual(old.metadata.annotations ?? {}, pod.metadata.annotations ?? {}) &&
    (old.metadata.deletionTimestamp ?? '') === (pod.metadata.deletionTimestamp ?? '')
  )
}
