import { deepEqual } from '../../base/deep-freeze.ts'
import { newApplyConflict, newBadRequest, StatusError } from '../errors.ts'
import type { ManagedFieldsEntry } from '../meta/v1/types.generated.ts'
import { type KubeObject, parseApiVersion } from '../object.ts'
import type { StructSchema } from '../schema/schema.ts'
import { type Comparison, compare } from './compare.ts'
import { BEFORE_FIRST_APPLY, identity, type Owner, ownerText, readEntries, sameOwner, writeEntries } from './entries.ts'
import { difference, type Fields, intersection, isNothing, NOTHING, paths, union } from './fields.ts'
import { ItemError } from './list-items.ts'
import { mergeValues } from './merge.ts'
import { ensureNamedMembers, objectSet, removeItems } from './object-set.ts'
import { excludeFields, type FieldFilter } from './reset-fields.ts'
import { trackedNode, typedNode, zeroObject } from './typed-node.ts'
import { excluded, trackUpdate, type VersionView, withoutSystemFields } from './update.ts'
import { validateApplied } from './validate.ts'

export interface ApplyOptions {
  /** The kind in the version of the request. */
  readonly schema: StructSchema
  readonly kind: string
  /** `v1`, `apps/v1` */
  readonly apiVersion: string
  /** The stored object in the version of the request; undefined when the apply creates it. */
  readonly liveObject: KubeObject | undefined
  /** The body as decoded from YAML, not yet against the schema. */
  readonly appliedObject: unknown
  readonly manager: string
  readonly force: boolean
  /** @default '' for the main resource */
  readonly subresource?: string
  /** RFC 3339 in UTC, whole seconds. */
  readonly time: string
  readonly resetFields?: FieldFilter
  readonly versions?: (apiVersion: string) => VersionView | undefined
}

export interface ApplyResult {
  /** The merged object, to be decoded like a request's body (it may hold nulls and other than canonical forms), or the live one when the apply changes nothing. Its managedFields are not set. */
  readonly object: KubeObject
  readonly managedFields: readonly ManagedFieldsEntry[]
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
const MAX_ANNOTATIONS = 256 * 1024

interface Conflict {
  readonly owner: Owner
  readonly fields: Fields
}

class Conflicts extends Error {
  readonly list: readonly Conflict[]
  constructor(list: readonly Conflict[]) {
    super('conflicts')
    this.list = list
  }
}

/**
 * Server-side apply. Inputs are not changed; the result may share parts with them.
 * @throws StatusError 400 for another type or version and for managedFields in the body, 409 for conflicts, 500 for a body that does not fit its type
 */
export function applyPatch(options: ApplyOptions): ApplyResult {
  const { schema, appliedObject: applied, liveObject } = options
  checkType(options, applied)
  const metadata = (applied as KubeObject).metadata as KubeObject['metadata'] | null | undefined
  if (metadata?.managedFields !== undefined && metadata.managedFields !== null) throw newBadRequest('metadata.managedFields must be nil')
  const problem = validateApplied(schema, applied)
  if (problem !== undefined) throw failure(`failed to create typed patch object (${describe(options, metadata)}): ${problem}`)
  try {
    let owners = readEntries(liveObject?.metadata.managedFields, true)
    if (owners.length === 0 && liveObject) {
      owners = trackUpdate({ ...withoutFilter(options), schema, oldObject: undefined, newObject: liveObject, manager: BEFORE_FIRST_APPLY }, []).owners
    }
    const result = applyAllowingLastApplied(options, owners)
    return { object: withLastApplied(options, result.object), managedFields: writeEntries(result.owners) }
  } catch (error) {
    if (error instanceof Conflicts) throw conflictError(error.list)
    if (error instanceof ItemError) throw failure(`failed to create typed live object (${describe(options, liveObject?.metadata)}): ${error.message}`)
    throw error
  }
}

function withoutFilter(options: ApplyOptions): Omit<ApplyOptions, 'resetFields'> {
  return options
}

function failure(message: string): StatusError {
  return new StatusError({ code: 500, reason: '', message })
}

function checkType(options: ApplyOptions, applied: unknown): void {
  const object = (applied ?? {}) as { apiVersion?: unknown; kind?: unknown }
  const apiVersion = typeof object.apiVersion === 'string' ? object.apiVersion : ''
  const kind = typeof object.kind === 'string' ? object.kind : ''
  if (apiVersion === options.apiVersion && kind === options.kind) return
  const gv = parseApiVersion(apiVersion) ?? { group: '', version: '' }
  throw newBadRequest(`invalid object type: ${gv.group}/${gv.version}, Kind=${kind}`)
}

/** `namespace/name; apps/v1, Kind=Deployment` */
function describe(options: ApplyOptions, metadata: { namespace?: string; name?: string } | null | undefined): string {
  const version = options.apiVersion.includes('/') ? options.apiVersion : `/${options.apiVersion}`
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}; ${version}, Kind=${options.kind}`
}

/** One run of the algorithm over given owners. */
function run(options: ApplyOptions, owners: readonly Owner[], force: boolean): { object: KubeObject; owners: Owner[] } {
  const { schema, apiVersion, resetFields } = options
  const node = typedNode(schema)
  const live = options.liveObject ?? (zeroObject(schema) as unknown as KubeObject)
  const self: Owner = { manager: options.manager, operation: 'Apply', apiVersion, subresource: options.subresource ?? '', time: undefined, fields: NOTHING }
  const last = owners.find((o) => sameOwner(o, self))
  let own = objectSet(node, options.appliedObject)
  if (resetFields) own = excludeFields(own, resetFields)
  const others = owners.filter((o) => o !== last)
  const current: Owner[] = [...others, { ...self, fields: own }]
  const merged = prune(options, mergeValues(node, live, options.appliedObject) as KubeObject, current, last)
  const left = takeFromOthers(options, live, merged, others, force)
  own = withoutSystemFields(own)
  const changed = !options.liveObject || !equalObjects(live, merged)
  if (!isNothing(own)) {
    const unchanged = last?.entry && last.apiVersion === apiVersion && !changed && JSON.stringify(last.fields) === JSON.stringify(own)
    left.push(unchanged ? last : { ...self, fields: own, time: changed ? options.time : last?.time })
  }
  return { object: changed ? merged : (options.liveObject as KubeObject), owners: left }
}

/** Equality without managedFields, which are no part of what is applied. */
function equalObjects(a: KubeObject, b: KubeObject): boolean {
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const x = (a as unknown as Record<string, unknown>)[key]
    const y = (b as unknown as Record<string, unknown>)[key]
    if (key !== 'metadata' ? !deepEqual(x, y) : !deepEqual({ ...(x as object), managedFields: 0 }, { ...(y as object), managedFields: 0 })) return false
  }
  return true
}

/** Removes what the manager applied last time and neither applies now nor shares with anybody. */
function prune(options: ApplyOptions, merged: KubeObject, owners: readonly Owner[], last: Owner | undefined): KubeObject {
  if (!last || isNothing(last.fields)) return merged
  const there = viewIn(options, last.apiVersion)
  if (!there) return merged
  const mergedThere = there.to(merged)
  const lastNode = typedNode(there.schema)
  const lastSet = ensureNamedMembers(lastNode, last.fields)
  let pruned = removeItems(lastNode, mergedThere, lastSet) as KubeObject | null
  let prunedObject = there.from((pruned ?? {}) as KubeObject)
  for (const version of [last.apiVersion, ...owners.map((o) => o.apiVersion)].filter((v, i, all) => all.indexOf(v) === i)) {
    const view = viewIn(options, version)
    if (!view) continue
    const node = typedNode(view.schema)
    const whole = view.to(merged)
    const managed = owners.filter((o) => o.apiVersion === version).reduce<Fields>((set, o) => union(set, o.fields), NOTHING)
    const kept = union(ensureNamedMembers(node, objectSet(node, view.to(prunedObject))), ensureNamedMembers(node, managed))
    pruned = removeItems(node, whole, difference(ensureNamedMembers(node, objectSet(node, whole)), kept)) as KubeObject | null
    prunedObject = view.from((pruned ?? {}) as KubeObject)
  }
  // Nothing goes that the manager did not own.
  const prunedSet = ensureNamedMembers(lastNode, objectSet(lastNode, there.to(prunedObject)))
  const mergedSet = ensureNamedMembers(lastNode, objectSet(lastNode, mergedThere))
  return there.from((removeItems(lastNode, mergedThere, intersection(difference(mergedSet, prunedSet), lastSet)) ?? {}) as KubeObject)
}

interface View {
  readonly schema: StructSchema
  to(object: KubeObject): KubeObject
  from(object: KubeObject): KubeObject
}

function viewIn(options: ApplyOptions, apiVersion: string): View | undefined {
  if (apiVersion === options.apiVersion) return { schema: options.schema, to: (o) => o, from: (o) => o }
  const there = options.versions?.(apiVersion)
  const back = options.versions?.(options.apiVersion)
  return there && back ? { schema: there.schema, to: (o) => there.convert(o), from: (o) => back.convert(o) } : undefined
}

/** Takes changed and removed fields from the other owners. Without force, changing what somebody else owns is a conflict. */
function takeFromOthers(options: ApplyOptions, live: KubeObject, merged: KubeObject, owners: readonly Owner[], force: boolean): Owner[] {
  const comparisons = new Map<string, Comparison | undefined | null>()
  const conflicts: Conflict[] = []
  const left: Owner[] = []
  for (const owner of owners) {
    let c = comparisons.get(owner.apiVersion)
    if (!comparisons.has(owner.apiVersion)) {
      const view = viewIn(options, owner.apiVersion)
      c = view ? excluded(compare(trackedNode(view.schema), view.to(live), view.to(merged)), options.resetFields) : null
      comparisons.set(owner.apiVersion, c)
    }
    if (c === null) continue
    if (!c) {
      left.push(owner)
      continue
    }
    const touched = union(c.modified ?? NOTHING, c.added ?? NOTHING)
    const fields = intersection(owner.fields, touched)
    if (!isNothing(fields)) conflicts.push({ owner, fields })
    const rest = difference(owner.fields, union(touched, c.removed ?? NOTHING))
    if (rest === owner.fields) left.push(owner)
    else if (!isNothing(rest)) {
      const { entry: _, ...kept } = owner
      left.push({ ...kept, fields: rest })
    }
  }
  if (conflicts.length > 0 && !force) throw new Conflicts(conflicts)
  return left
}

function conflictError(conflicts: readonly Conflict[]): StatusError {
  const sorted = [...conflicts].sort((a, b) => (identity(a.owner) < identity(b.owner) ? -1 : 1))
  const named = sorted.map(({ owner, fields }) => ({ who: ownerText(owner), paths: paths(fields) }))
  const causes = named.flatMap(({ who, paths }) => paths.map((field) => ({ reason: 'FieldManagerConflict' as const, message: `conflict with ${who}`, field })))
  const text =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${causes[0]?.message}: ${causes[0]?.field}`
      : `Apply failed with ${causes.length} conflicts: ${named.map(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((p) => `- ${p}`)].join('\n')).join('\n')}`
  return newApplyConflict(causes, text)
}

// --- kubectl's move from client-side to server-side apply

/** kubectl may take over what its own client-side apply set and nobody changed since. */
function applyAllowingLastApplied(options: ApplyOptions, owners: readonly Owner[]): { object: KubeObject; owners: Owner[] } {
  try {
    return run(options, owners, options.force)
  } catch (error) {
    if (!(error instanceof Conflicts) || options.manager !== 'kubectl') throw error
    const allowed = lastAppliedSet(options)
    if (!allowed) throw error
    const left = error.list.map((c) => ({ ...c, fields: difference(c.fields, allowed) })).filter((c) => !isNothing(c.fields))
    if (left.length > 0) throw new Conflicts(left)
    return run(options, owners, true)
  }
}

/** The fields of the last-applied annotation that still have their value. */
function lastAppliedSet(options: ApplyOptions): Fields | undefined {
  const text = options.liveObject?.metadata.annotations?.[LAST_APPLIED]
  if (!text || !options.liveObject) return undefined
  let last: unknown
  try {
    last = JSON.parse(text)
  } catch {
    return undefined
  }
  if (last === null || typeof last !== 'object' || (last as KubeObject).apiVersion !== options.apiVersion) return undefined
  if (validateApplied(options.schema, last) !== undefined) return undefined
  const node = typedNode(options.schema)
  const c = compare(node, last, options.liveObject)
  return [c?.modified, c?.added, c?.removed].reduce<Fields>((set, gone) => (gone ? difference(set, gone) : set), objectSet(node, last))
}

/** The annotation, where there is one, follows what kubectl applies. */
function withLastApplied(options: ApplyOptions, object: KubeObject): KubeObject {
  const annotations = object.metadata?.annotations
  if (options.manager !== 'kubectl' || !annotations || !Object.hasOwn(annotations, LAST_APPLIED)) return object
  const value = `${sortedJson(withoutAnnotation(options.appliedObject as KubeObject))}\n`
  const size = Object.entries(annotations).reduce((sum, [k, v]) => sum + k.length + (k === LAST_APPLIED ? value.length : v.length), 0)
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, [LAST_APPLIED]: size > MAX_ANNOTATIONS ? '' : value } } }
}

function withoutAnnotation(object: KubeObject): KubeObject {
  const annotations = object.metadata?.annotations
  if (!annotations || !Object.hasOwn(annotations, LAST_APPLIED)) return object
  const { [LAST_APPLIED]: _, ...rest } = annotations
  return { ...object, metadata: { ...object.metadata, annotations: rest } }
}

function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const map = value as Record<string, unknown>
  return `{${Object.keys(map)
    .sort()
    .map((k) => `${JSON.stringify(k)}:${sortedJson(map[k])}`)
    .join(',')}}`
}
