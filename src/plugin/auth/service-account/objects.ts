import { type corev1, resources } from '../../../api/index.ts'
import { isNotFound } from '../../../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../../../apimachinery/object.ts'
import type { Lister } from '../../../client/cache/store.ts'
import type { Client } from '../../../client/client.ts'

/** The live objects a token may be bound to. Undefined: there is none. */
export interface BoundObjects {
  serviceAccount(namespace: string, name: string): Promise<corev1.ServiceAccount | undefined>
  pod(namespace: string, name: string): Promise<corev1.Pod | undefined>
  secret(namespace: string, name: string): Promise<corev1.Secret | undefined>
  node(name: string): Promise<corev1.Node | undefined>
}

export interface BoundObjectListers {
  readonly serviceAccounts?: Pick<Lister<corev1.ServiceAccount>, 'get'>
  readonly pods?: Pick<Lister<corev1.Pod>, 'get'>
  readonly nodes?: Pick<Lister<corev1.Node>, 'get'>
}

/** Looks into the caches first and asks the server for what they do not hold, since they may be a moment behind. */
export function boundObjects(client: Client, listers: BoundObjectListers = {}): BoundObjects {
  const find = async <T extends KubeObject>(
    lister: Pick<Lister<T>, 'get'> | undefined,
    handle: ResourceHandle<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> => {
    const cached = lister?.get(namespace ? `${namespace}/${name}` : name)
    if (cached) return cached
    try {
      return await client.resource(handle).namespace(namespace).get(name)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }
  const { serviceaccounts, pods, secrets, nodes } = resources.corev1
  return {
    serviceAccount: (namespace, name) => find(listers.serviceAccounts, serviceaccounts, namespace, name),
    pod: (namespace, name) => find(listers.pods, pods, namespace, name),
    secret: (namespace, name) => find(undefined, secrets, namespace, name),
    node: (name) => find(listers.nodes, nodes, undefined, name),
  }
}
