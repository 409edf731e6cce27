import type { ObjectReference } from '../../api/core/v1/types.generated.ts'
import { apiVersionOf, type KubeObject, type ResourceHandle } from '../../apimachinery/object.ts'

export type { ObjectReference }

/** A full reference to an object, as events and bindings carry it. The handle gives the kind: typed objects may come without. */
export function referenceTo(handle: ResourceHandle, object: KubeObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = object.metadata
  return {
    kind: handle.kind,
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
    ...(uid ? { uid } : {}),
    apiVersion: apiVersionOf(handle),
    ...(resourceVersion ? { resourceVersion } : {}),
  }
}
