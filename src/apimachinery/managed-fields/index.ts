/**
 * Field ownership: who set which field of an object (managedFields), and server-side apply on top of it. Pure functions
 * over decoded objects and schemas; sets of fields are kept in the very form in which they are stored (FieldsV1).
 */
export { type ApplyOptions, type ApplyResult, applyPatch } from './apply.ts'
export { ANCIENT_CHANGES, BEFORE_FIRST_APPLY } from './entries.ts'
export { excludeFilter, type FieldFilter, onlyFilter } from './reset-fields.ts'
export { type UpdateOptions, updateManagedFields, type VersionView } from './update.ts'
