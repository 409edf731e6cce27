import { applyPatch, updateManagedFields, type VersionView } from '../../apimachinery/managed-fields/index.ts'
import { apiVersionOf, type KubeObject, parseApiVersion } from '../../apimachinery/object.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { Clock } from '../../base/clock.ts'
import { type Codec, expectedOf } from '../codec/codec.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { ManagedFields } from './managed-fields.ts'
import { resetFieldsOf } from './reset-fields.ts'

/** Field ownership on every write. */
export class TrackedFields implements ManagedFields {
  private readonly clock: Clock
  private readonly codec: Codec
  private readonly find: (group: string, version: string, resource: string) => Endpoint | undefined

  /** @param find other served versions of a resource, for owners who wrote in them */
  constructor(clock: Clock, codec: Codec, find: (group: string, version: string, resource: string) => Endpoint | undefined) {
    this.clock = clock
    this.codec = codec
    this.find = find
  }

  private versions(endpoint: Endpoint): (apiVersion: string) => VersionView | undefined {
    return (apiVersion) => {
      const gv = parseApiVersion(apiVersion)
      const there = gv && gv.group === endpoint.info.group ? this.find(gv.group, gv.version, endpoint.info.resource) : undefined
      if (!there) return undefined
      const here = apiVersionOf(endpoint.info)
      return {
        schema: there.info.schema(),
        convert: (object) => {
          if (object.apiVersion === apiVersion) return object
          const from = object.apiVersion === here || object.apiVersion === undefined ? endpoint : (this.findOf(object.apiVersion, endpoint) ?? endpoint)
          return there.fromStorage(from.toStorage(object))
        },
      }
    }
  }

  private findOf(apiVersion: string, endpoint: Endpoint): Endpoint | undefined {
    const gv = parseApiVersion(apiVersion)
    return gv && this.find(gv.group, gv.version, endpoint.info.resource)
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
      versions: this.versions(endpoint),
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
      versions: this.versions(endpoint),
    })
    const { managedFields: _, ...metadata } = object.metadata
    const merged = this.codec.fromValue({ ...object, metadata }, expectedOf(endpoint), 'Ignore', () => {})
    if (managedFields.length > 0) merged.metadata.managedFields = managedFields as never
    return merged
  }
}
