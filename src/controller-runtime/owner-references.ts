import type { ObjectMeta, OwnerReference } from '../apimachinery/meta/v1/types.generated.ts'
import { apiVersionOf, type KubeObject, type ResourceHandle } from '../apimachinery/object.ts'

/** The owner that manages the object; an object has at most one. */
export function controllerOf(object: { metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((r) => r.controller === true)
}

/** The reference a controller puts on what it makes. */
export function controllerRef(handle: ResourceHandle, owner: KubeObject): OwnerReference {
  const { name = '', uid = '' } = owner.metadata
  return { apiVersion: apiVersionOf(handle), kind: handle.kind, name, uid, controller: true, blockOwnerDeletion: true }
}

export function isControlledBy(object: { metadata: ObjectMeta }, owner: { metadata: ObjectMeta }): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid
}

/** Values of the controller index: the uid of the controller, or `orphan/<namespace>` for objects without one. */
export function controllerIndex(object: KubeObject): string[] {
  const ref = controllerOf(object)
  return [ref ? ref.uid : orphanIndexValue(object.metadata.namespace)]
}

export function orphanIndexValue(namespace: string | undefined): string {
  return `orphan/${namespace ?? ''}`
}
