import { resources } from '../../api/handles.generated.ts'
import { isNotFound, StatusError } from '../../apimachinery/errors.ts'
import type { OwnerReference } from '../../apimachinery/meta/v1/types.generated.ts'
import { apiVersionOf, type KubeObject } from '../../apimachinery/object.ts'
import { type DiscoveredResource, discover, type Informer } from '../../client/index.ts'
import { type ControllerContext, controllerOf } from '../../controller-runtime/index.ts'

export interface ScaleOf {
  uid: string
  replicas: number
}

interface Sized extends KubeObject {
  spec: { replicas?: number }
}

/** Finds how many Pods the controller of a Pod is asked for: known kinds from caches, others by their scale subresource. */
export class ScaleReader {
  private readonly context: ControllerContext
  private readonly known: Map<string, Informer<Sized>>
  private kinds: Map<string, DiscoveredResource> | undefined

  constructor(context: ControllerContext) {
    this.context = context
    const { informers } = context
    const entry = (handle: { kind: string }) => [handle.kind, informers.informer(handle as never)] as [string, Informer<Sized>]
    this.known = new Map([
      entry(resources.corev1.replicationcontrollers),
      entry(resources.appsv1.replicasets),
      entry(resources.appsv1.deployments),
      entry(resources.appsv1.statefulsets),
    ])
  }

  get informers(): Informer<Sized>[] {
    return [...this.known.values()]
  }

  onChange(notify: (namespace: string) => void): void {
    for (const informer of this.known.values()) {
      informer.addHandler({
        onUpdate: (before, after) => {
          if (before.spec.replicas !== after.spec.replicas) notify(after.metadata.namespace ?? '')
        },
        onDelete: (o) => notify(o.metadata.namespace ?? ''),
      })
    }
  }

  async scaleOf(namespace: string, ref: OwnerReference): Promise<ScaleOf | undefined> {
    const informer = this.known.get(ref.kind)
    if (informer && apiVersionOf(informer.handle) === ref.apiVersion) {
      const object = informer.lister.get(`${namespace}/${ref.name}`)
      if (object?.metadata.uid !== ref.uid) return undefined
      const owner = ref.kind === 'ReplicaSet' ? controllerOf(object) : undefined
      if (owner) return this.scaleOf(namespace, owner)
      return { uid: ref.uid, replicas: object.spec.replicas ?? 1 }
    }
    const handle = await this.handleOf(ref)
    if (!handle) return undefined
    try {
      const scale = await this.context.client
        .resource(handle)
        .namespace(handle.namespaced ? namespace : undefined)
        .getSubresource<Sized>(ref.name, 'scale')
      return scale.metadata.uid === ref.uid ? { uid: ref.uid, replicas: scale.spec.replicas ?? 0 } : undefined
    } catch (error) {
      if (isNotFound(error) || (error instanceof StatusError && error.code === 405)) return undefined
      throw error
    }
  }

  private async handleOf(ref: OwnerReference): Promise<DiscoveredResource | undefined> {
    const find = () => this.kinds?.get(`${ref.apiVersion} ${ref.kind}`)
    const known = find()
    if (known) return known
    const { resources: all } = await discover(this.context.client, this.context.signal)
    this.kinds = new Map(all.map((r) => [`${apiVersionOf(r)} ${r.kind}`, r]))
    return find()
  }
}
