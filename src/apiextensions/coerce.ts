import * as field from '../apimachinery/field.ts'
import { canonicalize, DecodeError } from '../apimachinery/json/index.ts'
import type { StructSchema } from '../apimachinery/schema/schema.ts'
import { deepCopy, isObject, setOwn } from '../base/deep-freeze.ts'
import { isEmbedded, itemsOf, type Props, preserves, propertyOf, valuesOf } from './structural.ts'

type Json = Record<string, unknown>

const TYPE_FIELDS = new Set(['apiVersion', 'kind', 'metadata'])

/**
 * Brings a decoded custom resource, which it owns, into the form that is stored: unknown fields go (their paths are
 * returned), nulls of fields that may not be null go, defaults are filled in.
 * @param objectMeta given: embedded resources' metadata is brought into form too
 * @throws CoerceError for embedded metadata that is none
 */
export function coerce(object: Json, props: Props | undefined, objectMeta?: StructSchema): string[] {
  if (!props) return []
  const unknown: string[] = []
  if (objectMeta) embedded(object, props, '', objectMeta, unknown)
  prune(object, props, '', true, unknown)
  dropNulls(object, props, true)
  fillDefaults(object, props)
  return unknown.sort()
}

/** Drops what a schema does not know, and no more. */
export function pruneTo(object: Json, props: Props | undefined): void {
  if (props) prune(object, props, '', true, [])
}

/** Why an object cannot be one of its kind; the text is upstream's. */
export class CoerceError extends Error {}

function embedded(value: unknown, props: Props, path: string, objectMeta: StructSchema, unknown: string[]): void {
  if (Array.isArray(value)) {
    const items = itemsOf(props)
    if (items) for (const [i, item] of value.entries()) embedded(item, items, `${path}[${i}]`, objectMeta, unknown)
    return
  }
  if (!isObject(value)) return
  if (path !== '' && isEmbedded(props)) {
    for (const name of ['apiVersion', 'kind']) {
      const own = Object.hasOwn(value, name) ? value[name] : ''
      if (typeof own !== 'string') throw new CoerceError(`${path}.${name}: Invalid value: ${field.showValue(own)}: must be a string`)
    }
    if (Object.hasOwn(value, 'metadata') && value['metadata'] !== null) {
      try {
        const { object, strictErrors } = canonicalize(value['metadata'], objectMeta, { strict: true })
        for (const text of strictErrors) unknown.push(`${path}.metadata.${/"(.*)"/.exec(text)?.[1] ?? ''}`)
        value['metadata'] = object
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
        throw new CoerceError(`${path}.metadata: Invalid value: ${field.showValue(value['metadata'])}: ${error.message}`)
      }
    }
  }
  for (const key of Object.keys(value)) {
    const child = propertyOf(props, key) ?? valuesOf(props)
    if (child) embedded(value[key], child, path === '' ? key : `${path}.${key}`, objectMeta, unknown)
  }
}

function prune(value: unknown, props: Props, path: string, isResource: boolean, unknown: string[]): void {
  if (Array.isArray(value)) {
    const items = itemsOf(props)
    if (items) for (const [i, item] of value.entries()) prune(item, items, `${path}[${i}]`, isEmbedded(items), unknown)
    return
  }
  if (!isObject(value)) return
  const values = valuesOf(props)
  const keepAll = preserves(props) || props.additionalProperties === true
  for (const key of Object.keys(value)) {
    if (isResource && TYPE_FIELDS.has(key)) continue
    const child = propertyOf(props, key) ?? values
    const at = path === '' ? key : `${path}.${key}`
    if (child) prune(value[key], child, at, isEmbedded(child), unknown)
    else if (!keepAll) {
      unknown.push(at)
      delete value[key]
    }
  }
}

/** Null is no value for a field that is not nullable: the field is absent then. */
function dropNulls(value: unknown, props: Props, isResource = false): void {
  if (Array.isArray(value)) {
    const items = itemsOf(props)
    if (items) for (const item of value) dropNulls(item, items)
    return
  }
  if (!isObject(value)) return
  const values = valuesOf(props)
  for (const key of Object.keys(value)) {
    if (isResource && TYPE_FIELDS.has(key)) continue
    const child = propertyOf(props, key) ?? values
    if (!child) continue
    if (value[key] === null && !child.nullable) delete value[key]
    else dropNulls(value[key], child)
  }
}

/** Fills defaults in place, outer ones first, so that a defaulted object gets its own. */
export function fillDefaults(value: unknown, props: Props): void {
  if (Array.isArray(value)) {
    const items = itemsOf(props)
    if (items) for (const item of value) fillDefaults(item, items)
    return
  }
  if (!isObject(value)) return
  for (const [key, child] of Object.entries(props.properties ?? {})) {
    if (child.default !== undefined && !Object.hasOwn(value, key)) setOwn(value, key, deepCopy(child.default))
    if (Object.hasOwn(value, key)) fillDefaults(value[key], child)
  }
  const values = valuesOf(props)
  if (values) for (const key of Object.keys(value)) if (!propertyOf(props, key)) fillDefaults(value[key], values)
}
