import type { ManagedFieldsEntry } from '../meta/v1/types.generated.ts'
import { type Fields, isNothing, NOTHING, parseFields, union } from './fields.ts'

/** Who owns what: one entry of managedFields with its set. `entry` is the stored one as long as nothing changed. */
export interface Owner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly fields: Fields
  readonly entry?: ManagedFieldsEntry
}

export const MAX_UPDATE_ENTRIES = 10
export const ANCIENT_CHANGES = 'ancient-changes'
export const BEFORE_FIRST_APPLY = 'before-first-apply'

/** Whether two are the same owner; an applier keeps its entry over versions. */
export function sameOwner(a: Omit<Owner, 'fields' | 'time'>, b: Omit<Owner, 'fields' | 'time'>): boolean {
  return a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource && (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
}

/** The identity by which upstream orders owners. */
export function identity(owner: Owner): string {
  return JSON.stringify({
    ...(owner.manager === '' ? {} : { manager: owner.manager }),
    operation: owner.operation,
    ...(owner.operation === 'Apply' ? {} : { apiVersion: owner.apiVersion }),
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  })
}

/** How messages name an owner. */
export function ownerText(owner: Owner): string {
  const who = `${JSON.stringify(owner.manager)}${owner.subresource === '' ? '' : ` with subresource ${JSON.stringify(owner.subresource)}`}`
  return owner.operation === 'Update' ? `${who} using ${owner.apiVersion}` : who
}

/**
 * Reads stored or sent entries.
 * @param canonical the entries are our own, so their sets need no check
 * @throws Error with upstream's text for entries that make no sense
 */
export function readEntries(entries: readonly ManagedFieldsEntry[] | null | undefined, canonical: boolean): Owner[] {
  const owners: Owner[] = []
  for (const [i, entry] of (entries ?? []).entries()) {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') throw new Error('operation must be `Apply` or `Update`')
    if (!entry.apiVersion) throw new Error('apiVersion must not be empty')
    if (!entry.fieldsType) throw new Error(`missing fieldsType in managed fields entry ${i}`)
    if (entry.fieldsType !== 'FieldsV1') throw new Error(`invalid fieldsType ${JSON.stringify(entry.fieldsType)} in managed fields entry ${i}`)
    const fields = canonical ? ((entry.fieldsV1 as Fields | undefined) ?? NOTHING) : parseFields(entry.fieldsV1)
    const owner: Owner = {
      manager: entry.manager ?? '',
      operation: entry.operation,
      apiVersion: entry.apiVersion,
      subresource: entry.subresource ?? '',
      time: entry.time ?? undefined,
      fields,
      ...(canonical ? { entry } : {}),
    }
    const known = owners.findIndex((o) => sameOwner(o, owner))
    if (known >= 0) owners[known] = owner
    else owners.push(owner)
  }
  return owners
}

/** The entries to store, in upstream's order: Apply before Update, oldest first, then by name, version, subresource. */
export function writeEntries(owners: readonly Owner[]): ManagedFieldsEntry[] {
  return owners
    .filter((o) => !isNothing(o.fields))
    .sort(compareOwners)
    .map((o) => o.entry ?? entryOf(o))
}

function entryOf(o: Owner): ManagedFieldsEntry {
  const entry: Record<string, unknown> = { manager: o.manager, operation: o.operation, apiVersion: o.apiVersion }
  if (o.time !== undefined) entry.time = o.time
  entry.fieldsType = 'FieldsV1'
  entry.fieldsV1 = o.fields
  if (o.subresource !== '') entry.subresource = o.subresource
  return entry as ManagedFieldsEntry
}

const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
/** RFC 3339 in UTC and whole seconds compares as text; no time comes first. */
const times = (a: Owner, b: Owner) => text(a.time ?? '', b.time ?? '')

function compareOwners(a: Owner, b: Owner): number {
  return text(a.operation, b.operation) || times(a, b) || text(a.manager, b.manager) || text(a.apiVersion, b.apiVersion) || text(a.subresource, b.subresource)
}

/** Folds the oldest updaters of a version into one `ancient-changes` while there are more than ten. */
export function capUpdaters(owners: Owner[]): Owner[] {
  const updaters = owners.filter((o) => o.operation === 'Update' && !isNothing(o.fields))
  if (updaters.length <= MAX_UPDATE_ENTRIES) return owners
  updaters.sort((a, b) => times(a, b) || text(identity(a), identity(b)))
  const result = new Set(owners)
  const first = new Map<string, Owner>()
  const bucket = new Map<string, Owner>()
  let count = updaters.length
  for (const updater of updaters) {
    if (count <= MAX_UPDATE_ENTRIES) break
    const { apiVersion } = updater
    const oldest = first.get(apiVersion)
    if (!oldest) {
      first.set(apiVersion, updater)
      continue
    }
    const into =
      bucket.get(apiVersion) ??
      [...result].find((o) => o.manager === ANCIENT_CHANGES && o.operation === 'Update' && o.apiVersion === apiVersion && o.subresource === '') ??
      oldest
    result.delete(into)
    result.delete(oldest)
    result.delete(updater)
    const merged: Owner = {
      manager: ANCIENT_CHANGES,
      operation: 'Update',
      apiVersion,
      subresource: '',
      time: updater.time,
      fields: union(updater.fields, into.fields),
    }
    result.add(merged)
    bucket.set(apiVersion, merged)
    count--
  }
  return [...result]
}
