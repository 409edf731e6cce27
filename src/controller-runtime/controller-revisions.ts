import type { ControllerRevision } from '../api/apps/v1/types.generated.ts'
import type { PodTemplateSpec } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/handles.generated.ts'
import { isAlreadyExists, isNotFound } from '../apimachinery/errors.ts'
import type { KubeObject, ResourceHandle } from '../apimachinery/object.ts'
import { deepCopy } from '../base/deep-freeze.ts'
import type { Client } from '../client/client.ts'
import { controllerRef } from './owner-references.ts'
import { stableJson } from './template-hash.ts'

interface Revisioned extends KubeObject {
  spec: { template: PodTemplateSpec }
}

/** What applied to the set brings its present template back. */
export function templatePatch(set: Revisioned): Record<string, unknown> {
  return { spec: { template: { ...deepCopy(set.spec.template), $patch: 'replace' } } }
}

export interface NewRevision {
  name: string
  /** The label that tells the revision's Pods, and its value. */
  hashLabel: string
  hash: string
  data: Record<string, unknown>
  revision: number
}

/** Makes a revision of a set. @returns that of the name which is there already if it holds the same; undefined if it holds something else */
export async function createRevision(client: Client, owner: Revisioned, ownerHandle: ResourceHandle, r: NewRevision): Promise<ControllerRevision | undefined> {
  const { namespace, annotations } = owner.metadata
  const revisions = client.resource(resources.appsv1.controllerrevisions).namespace(namespace)
  try {
    return await revisions.create({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: r.name,
        namespace,
        labels: { ...owner.spec.template.metadata?.labels, [r.hashLabel]: r.hash },
        ...(annotations ? { annotations: { ...annotations } } : {}),
        ownerReferences: [controllerRef(ownerHandle, owner)],
      },
      data: r.data,
      revision: r.revision,
    } as unknown as ControllerRevision)
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const existing = await revisions.get(r.name)
    return stableJson(existing.data) === stableJson(r.data) ? existing : undefined
  }
}

/** Deletes a revision; one that is gone is fine. */
export async function deleteRevision(client: Client, { metadata }: ControllerRevision): Promise<void> {
  try {
    await client
      .resource(resources.appsv1.controllerrevisions)
      .namespace(metadata.namespace)
      .delete(metadata.name ?? '')
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
