/**
 * The three patch formats as pure functions over decoded JSON. None changes its inputs; results share unchanged parts with
 * them, so copy before changing a result in place.
 */
export { applyJSONPatch, MAX_JSON_PATCH_OPERATIONS } from './json-patch.ts'
export { applyMergePatch } from './merge-patch.ts'
export { restoreError } from './restore.ts'
export { applyStrategicMergePatch } from './strategic-merge-patch.ts'
export { goFormat } from './values.ts'
