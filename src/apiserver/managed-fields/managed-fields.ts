import type { KubeObject } from '../../apimachinery/object.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'

/** Who owns which field: kept in metadata.managedFields on every write. */
export interface ManagedFields {
  /**
   * After a create, update or patch that is no apply: returns `object` with managedFields brought up to date.
   * @param old undefined for a create
   * @param nowSeconds time of the write as the API prints it
   */
  update(endpoint: Endpoint, old: KubeObject | undefined, object: KubeObject, manager: string, subresource: string): KubeObject
  /**
   * Server-side apply: merges `applied` into `old`.
   * @param old undefined when the object is to be made
   */
  apply(endpoint: Endpoint, old: KubeObject | undefined, applied: KubeObject, manager: string, force: boolean, subresource: string): KubeObject
}

/** Leaves managedFields alone. */
export const untracked: ManagedFields = {
  update: (_endpoint, _old, object) => object,
  apply: (_endpoint, _old, applied) => applied,
}
