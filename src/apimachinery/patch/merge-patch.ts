import { setOwn } from '../../base/deep-freeze.ts'
import { newBadRequest } from '../errors.ts'
import { isMap, type JsonMap, jsonTypeName } from './values.ts'

/**
 * Applies a JSON merge patch (RFC 7386; as upstream, nulls inside objects of a replaced list vanish too).
 *
 * @param doc an object; never changed, the result may share parts with it and with the patch
 * @throws StatusError 400 when the patch is no object
 */
export function applyMergePatch(doc: unknown, patch: unknown): unknown {
  if (patch === null) throw newBadRequest('Invalid JSON Patch')
  if (!isMap(patch)) throw newBadRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`)
  return isMap(doc) ? mergeMaps(doc, patch) : withoutNulls(patch)
}

/** Keys come out sorted, as the patched text in messages shows them. */
function mergeMaps(doc: JsonMap, patch: JsonMap): JsonMap {
  const out: JsonMap = {}
  const patchKeys = Object.keys(patch)
  const keys = patchKeys.length === 0 ? Object.keys(doc) : [...new Set([...Object.keys(doc), ...patchKeys])]
  for (const key of keys.sort()) {
    if (!Object.hasOwn(patch, key)) {
      setOwn(out, key, doc[key])
      continue
    }
    const change = patch[key]
    if (change === null) continue
    const current = Object.hasOwn(doc, key) ? doc[key] : null
    if (!isMap(current)) setOwn(out, key, withoutNulls(change))
    else if (isMap(change)) setOwn(out, key, mergeMaps(current, change))
    else setOwn(out, key, change)
  }
  return out
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((v) => withoutNulls(v))
  if (!isMap(value)) return value
  const out: JsonMap = {}
  for (const key of Object.keys(value).sort()) if (value[key] !== null) setOwn(out, key, withoutNulls(value[key]))
  return out
}
