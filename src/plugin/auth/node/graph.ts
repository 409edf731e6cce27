import { type corev1, resources, type resourcev1, type storagev1 } from '../../../api/index.ts'
import type { InformerFactory } from '../../../client/cache/informer-factory.ts'
import { type Lister, NODE_NAME_INDEX } from '../../../client/cache/store.ts'
import { type PodReferences, podReferences, volumeSecrets } from './references.ts'

export type Vertex =
  | 'secrets'
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'serviceaccounts'
  | 'resourceclaims'
  | 'volumeattachments'
  | 'resourceslices'
  | 'pods'

export interface GraphListers {
  readonly pods: Pick<Lister<corev1.Pod>, 'byIndex' | 'get'>
  readonly claims: Pick<Lister<corev1.PersistentVolumeClaim>, 'get'>
  readonly volumes: Pick<Lister<corev1.PersistentVolume>, 'get'>
  readonly attachments: Pick<Lister<storagev1.VolumeAttachment>, 'get'>
  readonly slices: Pick<Lister<resourcev1.ResourceSlice>, 'get'>
}

/**
 * Which objects have to do with a node: those its Pods need, and what those lead to. Nothing is kept but a note per Pod object of
 * what it refers to; a question walks the Pods of the node, a hundred or so.
 */
export class NodeGraph {
  private readonly listers: GraphListers
  private readonly references = new WeakMap<corev1.Pod, PodReferences>()

  constructor(listers: GraphListers) {
    this.listers = listers
  }

  isRelated(node: string, vertex: Vertex, namespace: string, name: string): boolean {
    switch (vertex) {
      case 'pods':
        return this.listers.pods.get(`${namespace}/${name}`)?.spec.nodeName === node
      case 'secrets':
        return this.anyPod(node, namespace, (r) => r.secrets.has(name)) || this.anyVolume(node, (v) => volumeSecrets(v).has(`${namespace}/${name}`))
      case 'configmaps':
        return this.anyPod(node, namespace, (r) => r.configMaps.has(name))
      case 'persistentvolumeclaims':
        return this.anyPod(node, namespace, (r) => r.claims.has(name))
      case 'serviceaccounts':
        return this.anyPod(node, namespace, (r) => r.serviceAccount === name)
      case 'resourceclaims':
        return this.anyPod(node, namespace, (r) => r.resourceClaims.has(name))
      case 'persistentvolumes':
        return this.anyVolume(node, (v) => v.metadata.name === name)
      case 'volumeattachments':
        return this.listers.attachments.get(name)?.spec.nodeName === node
      case 'resourceslices':
        return this.listers.slices.get(name)?.spec.nodeName === node
    }
  }

  private referencesOf(pod: corev1.Pod): PodReferences {
    let found = this.references.get(pod)
    if (!found) {
      found = podReferences(pod)
      this.references.set(pod, found)
    }
    return found
  }

  private anyPod(node: string, namespace: string, test: (references: PodReferences) => boolean): boolean {
    for (const pod of this.listers.pods.byIndex(NODE_NAME_INDEX, node)) {
      if (pod.metadata.namespace === namespace && test(this.referencesOf(pod))) return true
    }
    return false
  }

  /** Volumes that are bound to claims of the node's Pods. */
  private anyVolume(node: string, test: (volume: corev1.PersistentVolume) => boolean): boolean {
    for (const pod of this.listers.pods.byIndex(NODE_NAME_INDEX, node)) {
      const { namespace } = pod.metadata
      for (const claim of this.referencesOf(pod).claims) {
        const volumeName = this.listers.claims.get(`${namespace}/${claim}`)?.spec.volumeName
        const volume = volumeName ? this.listers.volumes.get(volumeName) : undefined
        if (volume?.spec.claimRef?.namespace === namespace && volume?.spec.claimRef?.name === claim && test(volume)) return true
      }
    }
    return false
  }
}

export function informedNodeGraph(informers: InformerFactory): NodeGraph {
  const pods = informers.informer<corev1.Pod>(resources.corev1.pods)
  pods.addIndex(NODE_NAME_INDEX, (pod) => [pod.spec.nodeName ?? ''])
  return new NodeGraph({
    pods: pods.lister,
    claims: informers.informer(resources.corev1.persistentvolumeclaims).lister,
    volumes: informers.informer(resources.corev1.persistentvolumes).lister,
    attachments: informers.informer(resources.storagev1.volumeattachments).lister,
    slices: informers.informer(resources.resourcev1.resourceslices).lister,
  })
}
