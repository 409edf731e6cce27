import { applyPatch, updateManagedFields } from '../../apimachinery/managed-fields/index.ts'
import { apiVersionOf, type KubeObject } from '../../apimachinery/object.ts'
import type { Clock } from '../../base/clock.ts'
import { type Codec, expectedOf } from '../codec/codec.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { formatTime } from '../registry/timestamp.ts'
import type { ManagedFields } from './managed-fields.ts'
import { resetFieldsOf } from './reset-fields.ts'

/** Field ownership on every write. */
export class TrackedFields implements ManagedFields {
  private readonly clock: Clock
  private readonly codec: Codec

  constructor(clock: Clock, codec: Codec) {
    this.clock = clock
    this.codec = codec
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

  apply(endpoint: Endpoint, old: KubeObject | undefined, applied: KubeObject, manager: string, force: boolean, subresource: string): KubeObject {
    const resetFields = resetFieldsOf(endpoint, subresource)
    const { object, managedFields } = applyPatch({
      schema: endpoint.info.schema(),
      kind: endpoint.info.kind,
      apiVersion: apiVersionOf(endpoint.info),
      liveObject: old,
      appliedObject: applied,
      manager,
      force,
      subresource,
      time: formatTime(this.clock.now()),
      ...(resetFields ? { resetFields } : {}),
    })
    const { managedFields: _, ...metadata } = object.metadata
    const merged = this.codec.fromValue({ ...object, metadata }, expectedOf(endpoint), 'Ignore', () => {})
    if (managedFields.length > 0) merged.metadata.managedFields = managedFields as never
    return merged
  }
}
