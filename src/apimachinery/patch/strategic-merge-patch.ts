import { deepEqual, setOwn } from '../../base/deep-freeze.ts'
import { newBadRequest, StatusError } from '../errors.ts'
import type { FieldSchema, Schema, StructSchema } from '../schema/schema.ts'
import { discardNulls, mergeOrdered, orderBy, removeDirectives } from './strategic-lists.ts'
import { goFormat, goTypeName, isMap, type JsonMap, jsonTypeName } from './values.ts'

const DELETE_LIST = '$deleteFromPrimitiveList'
const ELEMENT_ORDER = '$setElementOrder'
const RETAIN_KEYS = '$retainKeys'

/** Formats of directives that are the client's mistake: 400. */
const badFormat = {
  primitiveList: () => newBadRequest('invalid patch format of primitive list'),
  retainKeys: () => newBadRequest('invalid patch format of retainKeys'),
  elementOrder: () => newBadRequest('invalid patch format of setElementOrder list'),
}

/** Upstream answers most other mistakes with 500 and no reason; clients know the texts. */
function failure(message: string): StatusError {
  return new StatusError({ code: 500, reason: '', message })
}

export function missingMergeKey(item: JsonMap, mergeKey: string): StatusError {
  return failure(`map: ${goFormat(item)} does not contain declared merge key: ${mergeKey}`)
}

function wrongType(expected: string, actual: unknown): StatusError {
  return failure(`expected a ${expected}, but received a ${goTypeName(actual)}`)
}

/**
 * Applies a strategic merge patch: objects merge, lists replace, unless the schema's patchStrategy says `merge` (by
 * patchMergeKey, or as a set of scalars); directives `$patch`, `$deleteFromPrimitiveList/…`, `$setElementOrder/…` and
 * `$retainKeys` steer it.
 *
 * @param doc a decoded object; never changed, the result may share parts with it
 * @param patch the decoded patch; null changes nothing; never changed
 * @throws StatusError 400, 422 or 500 as upstream; the result is not checked against the schema (see `restoreError`)
 */
export function applyStrategicMergePatch(doc: unknown, patch: unknown, schema: StructSchema): unknown {
  if (patch === null) return doc
  if (!isMap(patch)) throw newBadRequest(`json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`)
  return mergeMap(isMap(doc) ? doc : {}, patch, schema)
}

function mergeMap(doc: JsonMap, givenPatch: JsonMap, schema: Schema): JsonMap {
  if (Object.hasOwn(givenPatch, '$patch')) {
    const directive = givenPatch['$patch']
    if (directive === 'delete') return {}
    if (directive !== 'replace') throw unknownDirective(directive, givenPatch)
    const { $patch: _, ...rest } = givenPatch
    return rest
  }
  const out = copyMap(doc)
  const patch = copyMap(givenPatch)
  retainKeys(out, patch)
  setElementOrders(out, patch, schema)
  for (const name of Object.keys(patch)) {
    const change = patch[name]
    const isDeleteList = name.startsWith(DELETE_LIST)
    const key = isDeleteList ? directiveTarget(name, DELETE_LIST, badFormat.primitiveList) : name
    if (change === null) {
      delete out[key]
      continue
    }
    const current = Object.hasOwn(out, key) ? out[key] : undefined
    if (current === undefined || current === null || goTypeName(current) !== goTypeName(change)) {
      if (!isDeleteList) take(out, key, discardNulls(change))
    } else if (isMap(current)) {
      const field = fieldOf(schema, key)
      const merged = isMap(change) && strategyOf(field) !== 'replace' ? mergeMap(current, change, field?.schema ?? elementOf(schema)) : change
      setOwn(out, key, merged)
    } else if (Array.isArray(current)) {
      setOwn(out, key, mergeList(current, change as unknown[], fieldOf(schema, key), isDeleteList))
    } else take(out, key, change)
  }
  return out
}

/** Takes the patch's value as it is, without directives; a value that is nothing but a directive leaves no key. */
function take(out: JsonMap, key: string, value: unknown): void {
  const kept = removeDirectives(value)
  if (kept === undefined) delete out[key]
  else setOwn(out, key, kept)
}

function copyMap(map: JsonMap): JsonMap {
  const out: JsonMap = {}
  for (const key of Object.keys(map)) setOwn(out, key, map[key])
  return out
}

function unknownDirective(directive: unknown, map: JsonMap): StatusError {
  const shown = typeof directive === 'string' ? directive : `%!s(${goTypeName(directive)}=${goFormat(directive)})`
  return failure(`unknown patch type: ${shown} in map: ${goFormat(map)}`)
}

function directiveTarget(name: string, prefix: string, error: () => StatusError): string {
  const slash = name.indexOf('/')
  if (slash < 0 || name.slice(0, slash) !== prefix) throw error()
  return name.slice(slash + 1)
}

/** `$retainKeys`: what it does not list leaves the object; the patch may set only what it lists. */
function retainKeys(out: JsonMap, patch: JsonMap): void {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return
  const list = patch[RETAIN_KEYS]
  delete patch[RETAIN_KEYS]
  if (!Array.isArray(list)) throw badFormat.retainKeys()
  const kept = new Set(list)
  for (const key of Object.keys(patch)) {
    if (patch[key] === null || key.startsWith(DELETE_LIST) || key.startsWith(ELEMENT_ORDER)) continue
    if (!kept.has(key)) throw badFormat.retainKeys()
  }
  for (const key of Object.keys(out)) if (!kept.has(key)) delete out[key]
}

/** `$setElementOrder/field`: merges that field's list and brings it into the given order; both leave the patch. */
function setElementOrders(out: JsonMap, patch: JsonMap, schema: Schema): void {
  for (const name of Object.keys(patch)) {
    if (!name.startsWith(ELEMENT_ORDER)) continue
    const order = patch[name]
    delete patch[name]
    if (!Array.isArray(order)) throw wrongType('[]interface {}', order)
    const key = directiveTarget(name, ELEMENT_ORDER, badFormat.elementOrder)
    const current = Object.hasOwn(out, key) ? out[key] : undefined
    const change = Object.hasOwn(patch, key) ? patch[key] : undefined
    if (current !== undefined && !Array.isArray(current)) throw wrongType('[]interface {}', current)
    if (change !== undefined && !Array.isArray(change)) throw wrongType('[]interface {}', change)
    const field = fieldOf(schema, key)
    const mergeKey = field?.patchMergeKey ?? ''
    checkOrder(change ?? [], order, mergeKey)
    if (!current && !change) continue
    const merged = current && change ? mergeList(current, change, field, false) : (current ?? change ?? [])
    checkElementTypes(current ?? [], change ?? [])
    const inOrder: unknown[] = []
    const others: unknown[] = []
    for (const item of merged) (isListed(item, order, mergeKey) ? inOrder : others).push(item)
    setOwn(out, key, mergeOrdered(orderBy(others, current ?? [], mergeKey), orderBy(inOrder, order, mergeKey), current ?? [], mergeKey))
    delete patch[key]
  }
}

/** The patch's items must come in the order of the order list, and all be in it (deletions apart). */
function checkOrder(list: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (list.length === 0 || order.length === 0) return
  const items = list.filter((item) => !(isMap(item) && Object.hasOwn(item, '$patch')))
  let next = 0
  for (let i = 0; i < order.length && next < items.length; i++) if (sameKey(items[next], order[i], mergeKey)) next++
  if (next < items.length) throw failure(`The order in patch list:\n${goFormat(list)}\n doesn't match $setElementOrder list:\n${goFormat(order)}\n`)
}

function sameKey(left: unknown, right: unknown, mergeKey: string): boolean {
  if (mergeKey === '') return deepEqual(left, right)
  return deepEqual(keyOf(left, mergeKey), keyOf(right, mergeKey))
}

function keyOf(item: unknown, mergeKey: string): unknown {
  if (!isMap(item)) throw wrongType('map[string]interface {}', item)
  if (!Object.hasOwn(item, mergeKey)) throw missingMergeKey(item, mergeKey)
  return item[mergeKey]
}

/** Whether `list` has an element of the item's key; elements without the key never match. */
function isListed(item: unknown, list: readonly unknown[], mergeKey: string): boolean {
  if (mergeKey === '') return list.some((x) => deepEqual(x, item))
  return findByKey(list, mergeKey, keyOf(item, mergeKey)) >= 0
}

function findByKey(list: readonly unknown[], mergeKey: string, key: unknown): number {
  return list.findIndex((item, i) => {
    if (!isMap(item)) throw failure(`value for key ${i} is not a map.`)
    return Object.hasOwn(item, mergeKey) && item[mergeKey] === key
  })
}

function checkElementTypes(...lists: (readonly unknown[])[]): string {
  let type: string | undefined
  for (const item of lists.flat()) {
    const own = goTypeName(item)
    if (type === undefined && own === '[]interface {}') {
      throw new StatusError({
        code: 422,
        reason: 'Invalid',
        message: 'the server rejected our request due to an error in our request',
        details: {},
        cause: 'lists of lists are not supported',
      })
    }
    if (type !== undefined && own !== type) throw failure(`list element types are not identical: ${goFormat(lists)}`)
    type = own
  }
  if (type === undefined) throw failure('no elements in any of the given slices')
  return type
}

function mergeList(current: unknown[], change: unknown[], field: FieldSchema | undefined, isDeleteList: boolean): unknown[] {
  if (strategyOf(field) !== 'merge') return change
  if (current.length === 0 && change.length === 0) return current
  const type = checkElementTypes(current, change)
  const mergeKey = field?.patchMergeKey ?? ''
  if (type !== 'map[string]interface {}') {
    if (isDeleteList) {
      const gone = new Set(change)
      return current.filter((x) => !gone.has(x))
    }
    return arrange([...new Set([...current, ...change])], change, current, '')
  }
  if (mergeKey === '') throw failure('cannot merge lists without merge key for type struct')
  const { base, items } = listDirectives(current, change as JsonMap[], mergeKey)
  const merged = [...base]
  const elem = field ? elementOf(field.schema) : { kind: 'any', any: 'json' as const }
  for (const item of items) {
    if (!Object.hasOwn(item, mergeKey)) throw missingMergeKey(item, mergeKey)
    const at = findByKey(merged, mergeKey, item[mergeKey])
    if (at >= 0) merged[at] = mergeMap(merged[at] as JsonMap, item, elem as Schema)
    else merged.push(item)
  }
  return arrange(merged, items, base, mergeKey)
}

/** Items of the patch in the patch's order, others in the current order; new ones before those they cannot be compared with. */
function arrange(merged: unknown[], patchItems: readonly unknown[], current: readonly unknown[], mergeKey: string): unknown[] {
  const fromPatch: unknown[] = []
  const others: unknown[] = []
  for (const item of merged) (isListed(item, patchItems, mergeKey) ? fromPatch : others).push(item)
  return mergeOrdered(orderBy(others, current, mergeKey), orderBy(fromPatch, patchItems, mergeKey), current, mergeKey)
}

/** Takes `{$patch: delete}` and `{$patch: replace}` elements out of a list patch. */
function listDirectives(current: unknown[], change: JsonMap[], mergeKey: string): { base: unknown[]; items: JsonMap[] } {
  let base = current
  let replace = false
  const items: JsonMap[] = []
  for (const item of change) {
    if (!Object.hasOwn(item, '$patch')) {
      items.push(item)
      continue
    }
    switch (item['$patch']) {
      case 'delete': {
        if (!Object.hasOwn(item, mergeKey)) throw missingMergeKey(item, mergeKey)
        const key = item[mergeKey]
        base = base.filter((x) => !(isMap(x) && Object.hasOwn(x, mergeKey) && x[mergeKey] === key))
        break
      }
      case 'replace':
        replace = true
        break
      case 'merge':
        throw failure('merging lists cannot yet be specified in the patch')
      default:
        throw unknownDirective(item['$patch'], item)
    }
  }
  return replace ? { base: items, items: [] } : { base, items }
}

/** The field of a struct; undefined inside maps of anything, an error where the type knows no such field. */
function fieldOf(schema: Schema, key: string): FieldSchema | undefined {
  if (schema.kind === 'struct') {
    const field = schema.byName.get(key)
    if (field) return field
    if (schema.preserveUnknown) return undefined
    throw failure(`unable to find api field in struct ${schema.name.slice(schema.name.lastIndexOf('.') + 1)} for the json field ${JSON.stringify(key)}`)
  }
  if (schema.kind === 'any') {
    throw failure(`unable to find api field in struct ${anyNames[schema.any]} for the json field ${JSON.stringify(key)}`)
  }
  throw failure(
    `merging an object in json but data type is not struct, instead is: ${schema.kind === 'list' ? 'slice' : schema.kind === 'map' ? 'map' : 'string'}`,
  )
}

const anyNames = {
  raw: 'RawExtension',
  fieldsV1: 'FieldsV1',
  json: 'JSON',
  propsOrBool: 'JSONSchemaPropsOrBool',
  propsOrArray: 'JSONSchemaPropsOrArray',
  propsOrStrings: 'JSONSchemaPropsOrStringArray',
} as const

function elementOf(schema: Schema): Schema {
  return schema.kind === 'list' || schema.kind === 'map' ? schema.elem : schema
}

/** `retainKeys` only tells clients what to send; the server knows `merge`, `replace` and neither. */
function strategyOf(field: FieldSchema | undefined): string | undefined {
  return field?.patchStrategy?.find((s) => s !== 'retainKeys')
}
