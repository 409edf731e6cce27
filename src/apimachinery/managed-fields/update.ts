import type { ManagedFieldsEntry } from '../meta/v1/types.generated.ts'
import type { KubeObject } from '../object.ts'
import type { StructSchema } from '../schema/schema.ts'
import { type Comparison, compare } from './compare.ts'
import { capUpdaters, type Owner, readEntries, sameOwner, writeEntries } from './entries.ts'
import { difference, type Fields, isNothing, LEAF, NOTHING, union } from './fields.ts'
import { ItemError } from './list-items.ts'
import { excludeFields, type FieldFilter } from './reset-fields.ts'
import { SYSTEM_METADATA, trackedNode, zeroObject } from './typed-node.ts'

/** How objects look in another version of their API; undefined when that version is not served. */
export interface VersionView {
  readonly schema: StructSchema
  convert(object: KubeObject): KubeObject
}

export interface UpdateOptions {
  /** The kind in the version of the request. */
  readonly schema: StructSchema
  /** The stored object in the version of the request; undefined on create. */
  readonly oldObject: KubeObject | undefined
  /** What is about to be stored: decoded and defaulted, `metadata.managedFields` as the request had it (an empty list is no absent one). */
  readonly newObject: KubeObject
  readonly manager: string
  /** `v1`, `apps/v1` */
  readonly apiVersion: string
  /** @default '' for the main resource */
  readonly subresource?: string
  /** RFC 3339 in UTC, whole seconds. */
  readonly time: string
  /** Fields this endpoint does not write, so nobody comes to own them by it. */
  readonly resetFields?: FieldFilter
  /** Entries of other versions; without it they are dropped. */
  readonly versions?: (apiVersion: string) => VersionView | undefined
}

/** Never owned: who made an object, and when, is the server's. */
const SYSTEM_FIELDS: Fields = {
  'f:apiVersion': LEAF,
  'f:kind': LEAF,
  'f:metadata': { '.': LEAF, ...Object.fromEntries(SYSTEM_METADATA.map((name) => [`f:${name}`, LEAF])) },
}

const NO_ENTRIES: readonly ManagedFieldsEntry[] = Object.freeze([])

export function withoutSystemFields(fields: Fields): Fields {
  return difference(fields, SYSTEM_FIELDS)
}

/**
 * The `metadata.managedFields` of an object that is created, replaced or patched (apply apart). Inputs are not changed;
 * the list is empty when nobody owns anything, and the stored one itself when nothing changes.
 */
export function updateManagedFields(options: UpdateOptions): readonly ManagedFieldsEntry[] {
  const { oldObject, newObject } = options
  const sent = newObject.metadata.managedFields
  const stored = oldObject?.metadata.managedFields
  let owners: Owner[]
  try {
    owners = ownersOf(options, sent, stored)
  } catch {
    owners = []
  }
  if (owners.length === 0 && oldObject?.metadata.uid) return NO_ENTRIES
  try {
    const { changed, owners: updated } = trackUpdate(options, owners)
    if (!changed && stored && owners.every((o, i) => o.entry === stored[i]) && owners.length === stored.length) return stored
    return writeEntries(updated)
  } catch (error) {
    // Upstream stores no entries at all rather than wrong ones.
    if (error instanceof ItemError) return NO_ENTRIES
    throw error
  }
}

/** The request's entries when it has sensible ones, else the stored ones; an empty list, or one of an empty entry, resets. */
function ownersOf(options: UpdateOptions, sent: ManagedFieldsEntry[] | null | undefined, stored: ManagedFieldsEntry[] | undefined): Owner[] {
  if (sent === stored || options.subresource) return readEntries(stored, true)
  if (sent && isReset(sent)) return []
  if (sent) {
    try {
      const owners = readEntries(sent, false)
      if (owners.length > 0) return owners.map((o) => reuseStored(o, stored))
    } catch {
      // what makes no sense is as good as absent
    }
  }
  return readEntries(stored, true)
}

/** Entries that came back as they were keep their stored form. */
function reuseStored(owner: Owner, stored: ManagedFieldsEntry[] | undefined): Owner {
  const match = stored?.find(
    (e) =>
      e.manager === owner.manager &&
      e.operation === owner.operation &&
      e.apiVersion === owner.apiVersion &&
      (e.subresource ?? '') === owner.subresource &&
      (e.time ?? undefined) === owner.time,
  )
  return match?.fieldsV1 && sameSets(match.fieldsV1 as unknown as Fields, owner.fields)
    ? { ...owner, fields: match.fieldsV1 as unknown as Fields, entry: match }
    : owner
}

/** Equal and in the same order, as canonical sets are. */
function sameSets(a: Fields, b: Fields): boolean {
  const keys = Object.keys(a)
  const others = Object.keys(b)
  if (keys.length !== others.length) return false
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    if (key !== others[i] || !sameSets(a[key] as Fields, b[key] as Fields)) return false
  }
  return true
}

function isReset(entries: readonly ManagedFieldsEntry[]): boolean {
  return entries.length === 0 || (entries.length === 1 && Object.keys(entries[0] as object).length === 0)
}

/** Gives the changed fields to the manager and takes them, and removed ones, from everybody else. */
export function trackUpdate(options: UpdateOptions, owners: readonly Owner[]): { changed: boolean; owners: Owner[] } {
  const { schema, oldObject, newObject, resetFields } = options
  const node = trackedNode(schema)
  const main = excluded(compare(node, oldObject ?? zeroObject(schema), newObject), resetFields)
  const { changed, owners: left } = release(options, owners, main)
  const own = main ? union(main.added ?? NOTHING, main.modified ?? NOTHING) : NOTHING
  if (isNothing(own)) return { changed, owners: left }
  const self = {
    manager: options.manager,
    operation: 'Update' as const,
    apiVersion: options.apiVersion,
    subresource: options.subresource ?? '',
    time: options.time,
  }
  const at = left.findIndex((o) => sameOwner(o, self))
  if (at < 0) left.push({ ...self, fields: own })
  else left[at] = { ...self, fields: union(own, (left[at] as Owner).fields) }
  return { changed: true, owners: capUpdaters(left) }
}

export function excluded(comparison: Comparison | undefined, filter: FieldFilter | undefined): Comparison | undefined {
  if (!comparison || !filter) return comparison
  const out: Comparison = {}
  for (const part of ['added', 'removed', 'modified'] as const) {
    const fields = comparison[part] && excludeFields(comparison[part], filter)
    if (fields && !isNothing(fields)) out[part] = fields
  }
  return out
}

/** Takes what was touched or removed from all owners, each compared in its own version. */
function release(options: UpdateOptions, owners: readonly Owner[], main: Comparison | undefined): { changed: boolean; owners: Owner[] } {
  if (owners.length === 0) return { changed: false, owners: [] }
  const gone = new Map<string, Fields | undefined>([[options.apiVersion, touched(main)]])
  const out: Owner[] = []
  let changed = false
  for (const owner of owners) {
    const { apiVersion } = owner
    if (!gone.has(apiVersion)) gone.set(apiVersion, touchedIn(options, apiVersion))
    const set = gone.get(apiVersion)
    const fields = set === undefined ? NOTHING : isNothing(set) ? owner.fields : difference(owner.fields, set)
    if (fields === owner.fields) {
      if (!isNothing(fields)) out.push(owner)
      else changed = true
      continue
    }
    changed = true
    if (isNothing(fields)) continue
    const { entry: _, ...rest } = owner
    out.push({ ...rest, fields })
  }
  return { changed, owners: out }
}

function touched(c: Comparison | undefined): Fields {
  if (!c) return NOTHING
  return union(union(c.added ?? NOTHING, c.modified ?? NOTHING), c.removed ?? NOTHING)
}

/** undefined: the version is not served any more. */
function touchedIn(options: UpdateOptions, apiVersion: string): Fields | undefined {
  const view = options.versions?.(apiVersion)
  if (!view) return undefined
  const left = options.oldObject ? view.convert(options.oldObject) : zeroObject(view.schema)
  return touched(excluded(compare(trackedNode(view.schema), left, view.convert(options.newObject)), options.resetFields))
}
