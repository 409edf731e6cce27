import { isInvalid, isNotFound } from '../apimachinery/errors.ts'
import type { Selector } from '../apimachinery/labels.ts'
import { type KubeObject, objectKey, type ResourceHandle } from '../apimachinery/object.ts'
import type { Client } from '../client/client.ts'
import { controllerOf, controllerRef } from './owner-references.ts'

export interface ClaimOptions<O extends KubeObject, T extends KubeObject> {
  client: Client
  owner: O
  ownerHandle: ResourceHandle<O>
  handle: ResourceHandle<T>
  selector: Selector
  /** A further condition on orphans, and on what is ours. */
  accepts?: (object: T) => boolean
  /** A further condition on orphans alone. */
  adoptable?: (object: T) => boolean
  /** Finalizers added with the adoption. */
  finalizers?: readonly string[]
}

/**
 * Sorts out what belongs to an owner: keeps what is its own and matches, releases its own that no longer match, adopts orphans
 * that match. Before the first adoption the owner is read live, so that one that is already gone adopts nothing. Everything is tried; the
 * first error is thrown at the end.
 */
export async function claim<O extends KubeObject, T extends KubeObject>(objects: readonly T[], options: ClaimOptions<O, T>): Promise<T[]> {
  const { owner, selector, accepts = () => true, adoptable = () => true } = options
  const claimed: T[] = []
  let failed = false
  let error: unknown
  let canAdopt: Promise<void> | undefined
  for (const object of objects) {
    try {
      const ref = controllerOf(object)
      const matches = () => selector.matches(object.metadata.labels ?? {}) && accepts(object)
      if (ref) {
        if (ref.uid !== owner.metadata.uid) continue
        if (matches()) claimed.push(object)
        else if (!owner.metadata.deletionTimestamp) await release(object, options)
        continue
      }
      if (owner.metadata.deletionTimestamp || object.metadata.deletionTimestamp || !matches() || !adoptable(object)) continue
      if (owner.metadata.namespace !== object.metadata.namespace) continue
      canAdopt ??= checkAdoption(options)
      await adopt(object, options, canAdopt)
      claimed.push(object)
    } catch (e) {
      if (!failed) error = e
      failed = true
    }
  }
  if (failed) throw error
  return claimed
}

async function checkAdoption<O extends KubeObject, T extends KubeObject>({ client, owner, ownerHandle }: ClaimOptions<O, T>): Promise<void> {
  const fresh = await client
    .resource(ownerHandle)
    .namespace(owner.metadata.namespace)
    .get(owner.metadata.name ?? '')
  if (fresh.metadata.uid !== owner.metadata.uid) {
    throw new Error(`original ${ownerHandle.kind} ${objectKey(owner)} is gone: got uid ${fresh.metadata.uid}, wanted ${owner.metadata.uid}`)
  }
  if (fresh.metadata.deletionTimestamp) throw new Error(`${objectKey(owner)} has just been deleted at ${fresh.metadata.deletionTimestamp}`)
}

async function adopt<O extends KubeObject, T extends KubeObject>(object: T, options: ClaimOptions<O, T>, canAdopt: Promise<void>): Promise<void> {
  const { client, handle, owner, ownerHandle, finalizers } = options
  try {
    await canAdopt
  } catch (error) {
    throw new Error(`can't adopt ${handle.kind} ${objectKey(object)} (${object.metadata.uid}): ${(error as Error).message}`, { cause: error })
  }
  try {
    await client
      .resource(handle)
      .namespace(object.metadata.namespace)
      .patch(object.metadata.name ?? '', 'strategic', {
        metadata: {
          ownerReferences: [controllerRef(ownerHandle, owner)],
          uid: object.metadata.uid,
          ...(finalizers?.length ? { finalizers } : {}),
        },
      })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

async function release<O extends KubeObject, T extends KubeObject>(object: T, { client, handle, owner, finalizers }: ClaimOptions<O, T>): Promise<void> {
  try {
    await client
      .resource(handle)
      .namespace(object.metadata.namespace)
      .patch(object.metadata.name ?? '', 'strategic', {
        metadata: {
          ownerReferences: [{ $patch: 'delete', uid: owner.metadata.uid }],
          uid: object.metadata.uid,
          ...(finalizers?.length ? { '$deleteFromPrimitiveList/finalizers': finalizers } : {}),
        },
      })
  } catch (error) {
    // Gone, or another object of the same name: nothing of ours is left to release.
    if (!isNotFound(error) && !isInvalid(error)) throw error
  }
}
