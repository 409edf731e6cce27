import { updateManagedFields } from '../../apimachinery/managed-fields/index.ts'
import { apiVersionOf, type KubeObject } from '../../apimachinery/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { formatTime } from '../registry/timestamp.ts'
import type { ManagedFields } from './managed-fields.ts'
import { resetFieldsOf } from './reset-fields.ts'

/** Field ownership on every write. */
export class TrackedFields implements ManagedFields {
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  update(endpoint: Endpoint, old: KubeObject | undefined, object: KubeObject, manager: string, subresource: string): KubeObject {
    const resetFields = resetFieldsOf(endpoint, subresource)
    const entries = updateManagedFields({
      schema: endpoint.info.schema(),
      oldObject: old && endpoint.fromStorage(old),
      newObject: endpoint.fromStorage(object),
      manager,
      apiVersion: apiVersionOf(endpoint.info),
      subresource,
      time: formatTime(this.clock.now()),
      ...(resetFields ? { resetFields } : {}),
    })
    if (entries.length > 0) object.metadata.managedFields = entries as never
    else delete object.metadata.managedFields
    return object
  }

  apply(_endpoint: Endpoint, _old: KubeObject | undefined, applied: KubeObject): KubeObject {
    return applied
  }
}
