import type { ObjectMeta } from '../../apimachinery/meta/v1/types.generated.ts'
import { NAME_ALPHABET, type Random, randomString } from '../../base/random.ts'

const ORDER = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const

/** The same metadata with fields in declared order and without empty ones, so that stored bytes read like upstream's. */
export function orderedMetadata(meta: ObjectMeta): ObjectMeta {
  const out: Record<string, unknown> = {}
  for (const name of ORDER) {
    const value = meta[name]
    if (value !== undefined && value !== null && value !== '' && value !== 0) out[name] = value
  }
  if (meta.deletionGracePeriodSeconds === 0) out.deletionGracePeriodSeconds = 0
  return out as ObjectMeta
}

/** Takes away what only the server says about a new object. */
export function wipeSystemFields(meta: ObjectMeta): void {
  delete meta.creationTimestamp
  delete meta.uid
  delete meta.deletionTimestamp
  delete meta.deletionGracePeriodSeconds
  delete meta.selfLink
}

/** metadata.name out of metadata.generateName: 58 bytes of it and five random letters. */
export function generateName(random: Random, base: string): string {
  return base.slice(0, 58) + randomString(random, 5, NAME_ALPHABET)
}

/** Drops repeated owner references (the last of each uid stays out); returns the uids seen twice. */
export function dedupOwnerReferences(meta: ObjectMeta): string[] {
  const references = meta.ownerReferences
  if (!references || references.length < 2) return []
  const duplicates: string[] = []
  const kept: typeof references = []
  for (const reference of references) {
    const twin = kept.find(
      (k) =>
        k.uid === reference.uid &&
        k.name === reference.name &&
        k.kind === reference.kind &&
        k.apiVersion === reference.apiVersion &&
        k.controller === reference.controller &&
        k.blockOwnerDeletion === reference.blockOwnerDeletion,
    )
    if (twin) {
      if (!duplicates.includes(reference.uid)) duplicates.push(reference.uid)
    } else kept.push(reference)
  }
  if (duplicates.length) meta.ownerReferences = kept
  return duplicates
}
