import { type ErrorList, type FieldPath, forbidden, invalid, required, tooLong } from '../field.ts'
import type { ObjectMeta, OwnerReference } from '../meta/v1/types.generated.ts'
import { parseApiVersion } from '../object.ts'
import { quote } from '../quote.ts'
import { sortedKeys, validateLabels } from './labels.ts'
import { byteLength, IMMUTABLE, NON_NEGATIVE } from './messages.ts'
import { isDNS1123Label, isQualifiedName, nameIsDNSSubdomain, type ObjectNameRule } from './names.ts'

/** All annotation keys and values of one object together, in bytes. */
export const TOTAL_ANNOTATION_SIZE_LIMIT = 256 * 1024

const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

export interface ObjectMetaOptions {
  namespaced: boolean
  /** @default nameIsDNSSubdomain */
  nameRule?: ObjectNameRule
  /**
   * Finalizers without a domain must be one of the standard ones; holds for all built-in kinds, not for custom
   * resources and not for the checks the generic store makes on its own. @default true
   */
  standardFinalizers?: boolean
}

/** The rules for metadata of a new object. */
export function validateObjectMeta(meta: ObjectMeta, options: ObjectMetaOptions, path: FieldPath): ErrorList {
  const rule = options.nameRule ?? nameIsDNSSubdomain
  const errs: ErrorList = []
  if (meta.generateName) for (const m of rule(meta.generateName, true)) errs.push(invalid(path.child('generateName'), meta.generateName, m))
  if (meta.name) for (const m of rule(meta.name, false)) errs.push(invalid(path.child('name'), meta.name, m))
  else errs.push(required(path.child('name'), 'name or generateName is required'))
  if (options.namespaced) {
    if (meta.namespace) for (const m of isDNS1123Label(meta.namespace)) errs.push(invalid(path.child('namespace'), meta.namespace, m))
    else errs.push(required(path.child('namespace')))
  } else if (meta.namespace) errs.push(forbidden(path.child('namespace'), 'not allowed on this type'))
  if ((meta.generation ?? 0) < 0) errs.push(invalid(path.child('generation'), meta.generation, NON_NEGATIVE))
  errs.push(...validateLabels(meta.labels, path.child('labels')))
  errs.push(...validateAnnotations(meta.annotations, path.child('annotations')))
  errs.push(...validateOwnerReferences(meta.ownerReferences, path.child('ownerReferences')))
  errs.push(...validateFinalizers(meta.finalizers, path.child('finalizers')))
  if (options.standardFinalizers ?? true) errs.push(...validateStandardFinalizers(meta.finalizers, path.child('finalizers')))
  return errs
}

/**
 * The rules for metadata of an update, without those for a new object.
 * @param options standardFinalizers as for `validateObjectMeta`
 */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  path: FieldPath,
  options: Pick<ObjectMetaOptions, 'standardFinalizers'> = {},
): ErrorList {
  const errs: ErrorList = []
  if (old.deletionTimestamp) errs.push(...validateNoNewFinalizers(meta.finalizers, old.finalizers, path.child('finalizers')))
  if (!meta.resourceVersion) errs.push(invalid(path.child('resourceVersion'), meta.resourceVersion ?? '', 'must be specified for an update'))
  if ((meta.generation ?? 0) < (old.generation ?? 0)) errs.push(invalid(path.child('generation'), meta.generation ?? 0, 'must not be decremented'))
  const immutable = (name: string, now: unknown, before: unknown) => {
    if (now !== before) errs.push(invalid(path.child(name), now ?? null, IMMUTABLE))
  }
  immutable('name', meta.name ?? '', old.name ?? '')
  immutable('namespace', meta.namespace ?? '', old.namespace ?? '')
  immutable('uid', meta.uid ?? '', old.uid ?? '')
  immutable('creationTimestamp', meta.creationTimestamp ?? undefined, old.creationTimestamp ?? undefined)
  immutable('deletionTimestamp', meta.deletionTimestamp ?? undefined, old.deletionTimestamp ?? undefined)
  immutable('deletionGracePeriodSeconds', meta.deletionGracePeriodSeconds, old.deletionGracePeriodSeconds)
  errs.push(...validateLabels(meta.labels, path.child('labels')))
  errs.push(...validateAnnotations(meta.annotations, path.child('annotations')))
  errs.push(...validateOwnerReferences(meta.ownerReferences, path.child('ownerReferences')))
  if (options.standardFinalizers ?? true) errs.push(...validateStandardFinalizers(meta.finalizers, path.child('finalizers')))
  return errs
}

export function validateAnnotations(annotations: Readonly<Record<string, string>> | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  let size = 0
  for (const key of sortedKeys(annotations)) {
    for (const m of isQualifiedName(key.toLowerCase())) errs.push(invalid(path, key, m))
    size += byteLength(key) + byteLength((annotations as Record<string, string>)[key] as string)
  }
  if (size > TOTAL_ANNOTATION_SIZE_LIMIT) errs.push(tooLong(path, TOTAL_ANNOTATION_SIZE_LIMIT))
  return errs
}

function printedReference(ref: OwnerReference): Record<string, unknown> {
  return {
    apiVersion: ref.apiVersion ?? '',
    kind: ref.kind ?? '',
    name: ref.name ?? '',
    uid: ref.uid ?? '',
    ...(ref.controller === undefined || ref.controller === null ? {} : { controller: ref.controller }),
    ...(ref.blockOwnerDeletion === undefined || ref.blockOwnerDeletion === null ? {} : { blockOwnerDeletion: ref.blockOwnerDeletion }),
  }
}

export function validateOwnerReferences(refs: readonly OwnerReference[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  let first = ''
  for (const ref of refs ?? []) {
    const gv = parseApiVersion(ref.apiVersion ?? '')
    if (!gv?.version) errs.push(invalid(path.child('apiVersion'), ref.apiVersion ?? '', 'version must not be empty'))
    for (const name of ['kind', 'name', 'uid'] as const) if (!ref[name]) errs.push(invalid(path.child(name), '', 'must not be empty'))
    if (gv?.group === '' && gv.version === 'v1' && ref.kind === 'Event') {
      errs.push(invalid(path, printedReference(ref), '/v1, Kind=Event is disallowed from being an owner'))
    }
    if (!ref.controller) continue
    const current = `${ref.kind}/${ref.name}`
    if (first === '') first = current
    else {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${current}`
      errs.push(invalid(path, (refs ?? []).map(printedReference), text))
    }
  }
  return errs
}

export function validateFinalizers(finalizers: readonly string[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!finalizers) return errs
  for (const f of finalizers) for (const m of isQualifiedName(f)) errs.push(invalid(path, f, m))
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errs.push(invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'))
  }
  return errs
}

function validateStandardFinalizers(finalizers: readonly string[] | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  finalizers?.forEach((f, i) => {
    if (!f.includes('/') && !STANDARD_FINALIZERS.has(f)) {
      errs.push(invalid(path.index(i), f, 'name is neither a standard finalizer name nor is it fully qualified'))
    }
  })
  return errs
}

/** Finalizers of an object that is being deleted may only go. */
export function validateNoNewFinalizers(finalizers: readonly string[] | undefined, old: readonly string[] | undefined, path: FieldPath): ErrorList {
  const known = new Set(old)
  const added = [...new Set((finalizers ?? []).filter((f) => !known.has(f)))].sort()
  if (added.length === 0) return []
  return [forbidden(path, `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map(quote).join(', ')}}`)]
}
