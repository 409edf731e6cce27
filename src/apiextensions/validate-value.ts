import { RE2JS } from 're2js'
import * as field from '../apimachinery/field.ts'
import { type ErrorList, FieldPath } from '../apimachinery/field.ts'
import { parseApiVersion } from '../apimachinery/object.ts'
import { quote } from '../apimachinery/quote.ts'
import { deepEqual, isObject } from '../base/deep-freeze.ts'
import { fitsFormat } from './formats.ts'
import { isEmbedded, isIntOrString, itemsOf, type Props, preserves, propertyOf, valuesOf } from './structural.ts'

type Json = Record<string, unknown>

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'object' ? 'object' : typeof value
}

/** Patterns, compiled once per schema; RE2 as upstream, so no pattern can hang. */
const patterns = new WeakMap<Props, RE2JS | null>()

function patternOf(props: Props): RE2JS | undefined {
  let pattern = patterns.get(props)
  if (pattern === undefined) {
    try {
      pattern = RE2JS.compile(props.pattern as string)
    } catch {
      pattern = null
    }
    patterns.set(props, pattern)
  }
  return pattern ?? undefined
}

/** Checks a custom resource against its schema, in upstream's order and words. */
export function validateValue(value: unknown, props: Props, path: FieldPath | undefined): ErrorList {
  const errors: ErrorList = []
  check(value, props, path, errors, true)
  return errors
}

function child(path: FieldPath | undefined, name: string): FieldPath {
  return path ? path.child(name) : FieldPath.root(name)
}

/** `path in body`, where the root has no path. */
function label(path: FieldPath | undefined): string {
  return path ? String(path) : ''
}

const NIL = FieldPath.nil

function check(value: unknown, props: Props, path: FieldPath | undefined, errors: ErrorList, isResource = false): void {
  const at = path ?? NIL
  const name = label(path)
  if (value === null) {
    if (props.nullable || props.type === undefined) return
    errors.push(field.typeInvalid(at, 'null', `${name} in body must be of type ${props.type}: "null"`))
    return
  }
  const fits = checkType(value, props, at, name, errors)
  checkCombinations(value, props, path, errors)
  if (typeof value === 'string') checkString(value, props, at, name, errors)
  if (typeof value === 'number') checkNumber(value, props, at, name, errors)
  if (Array.isArray(value)) checkList(value, props, at, name, errors)
  if (props.enum && !props.enum.some((e) => deepEqual(e, value))) errors.push(unsupported(at, value, props.enum))
  if (isObject(value) && (fits || props.type === undefined)) checkObject(value, props, path, errors, isResource)
}

function checkType(value: unknown, props: Props, at: FieldPath, name: string, errors: ErrorList): boolean {
  const actual = typeName(value)
  if (isIntOrString(props)) {
    if (actual === 'integer' || actual === 'string') return true
    errors.push(field.typeInvalid(at, actual, `${name} in body must be of type integer,string: "${actual}"`))
    return false
  }
  const { type } = props
  if (type === undefined || type === '' || actual === type || (type === 'number' && actual === 'integer')) {
    if (type === 'string' && typeof value === 'string' && props.format && !fitsFormat(props.format, value)) {
      errors.push(field.invalid(at, value, `${name} in body must be of type ${props.format}: ${quote(value)}`))
    }
    return true
  }
  errors.push(field.typeInvalid(at, actual, `${name} in body must be of type ${type}: "${actual}"`))
  return false
}

function unsupported(at: FieldPath, value: unknown, values: readonly unknown[]): ErrorList[number] {
  return field.notSupported(
    at,
    value,
    values.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))),
  )
}

function checkString(value: string, props: Props, at: FieldPath, name: string, errors: ErrorList): void {
  const length = [...value].length
  if (props.maxLength !== undefined && length > props.maxLength) errors.push(field.tooLong(at, props.maxLength))
  if (props.minLength !== undefined && length < props.minLength) {
    errors.push(field.invalid(at, value, `${name} in body should be at least ${props.minLength} chars long`))
  }
  if (props.pattern) {
    const pattern = patternOf(props)
    if (!pattern?.matcher(value).find()) errors.push(field.invalid(at, value, `${name} in body should match '${props.pattern}'`))
  }
}

const INT32 = 2 ** 31

function checkNumber(value: number, props: Props, at: FieldPath, name: string, errors: ErrorList): void {
  if (props.type === 'integer') {
    const checked = (what: string) => errors.push(field.invalid(NIL, '', `Checked value must be of type integer ${what} in ${name}`))
    if (!Number.isInteger(value)) {
      checked(props.format ? `with format ${props.format}` : '(default format)')
      return
    }
    if (props.format === 'int32' && (value >= INT32 || value < -INT32)) checked('with format int32')
  }
  if (props.multipleOf !== undefined) {
    // Whole values are divided by the factor's whole part, as upstream does.
    const factor = Number.isInteger(value) ? Math.trunc(props.multipleOf) : props.multipleOf
    if (factor <= 0) errors.push(field.invalid(at, value, `factor MultipleOf declared for ${name} must be positive: ${factor}`))
    else {
      const ratio = factor < 1 ? (1 / factor) * value : value / factor
      if (!Number.isInteger(ratio)) errors.push(field.invalid(at, value, `${name} in body should be a multiple of ${factor}`))
    }
  }
  // Whole values are compared with whole bounds, as upstream does.
  const bound = (n: number | undefined) => (n === undefined || !Number.isInteger(value) ? n : Math.trunc(n))
  const maximum = bound(props.maximum)
  const minimum = bound(props.minimum)
  if (maximum !== undefined && (props.exclusiveMaximum ? value >= maximum : value > maximum)) {
    errors.push(field.invalid(at, value, `${name} in body should be less than ${props.exclusiveMaximum ? '' : 'or equal to '}${maximum}`))
  }
  if (minimum !== undefined && (props.exclusiveMinimum ? value <= minimum : value < minimum)) {
    errors.push(field.invalid(at, value, `${name} in body should be greater than ${props.exclusiveMinimum ? '' : 'or equal to '}${minimum}`))
  }
}

function checkList(value: readonly unknown[], props: Props, at: FieldPath, name: string, errors: ErrorList): void {
  const items = itemsOf(props)
  const base = at === NIL ? FieldPath.root('') : at
  if (items) for (const [i, item] of value.entries()) check(item, items, base.index(i), errors, isEmbedded(items))
  if (props.minItems !== undefined && value.length < props.minItems) {
    errors.push(field.invalid(at, value.length, `${name} in body should have at least ${props.minItems} items`))
  }
  if (props.maxItems !== undefined && value.length > props.maxItems) errors.push(field.tooMany(at, value.length, props.maxItems))
}

function checkObject(value: Json, props: Props, path: FieldPath | undefined, errors: ErrorList, isResource: boolean): void {
  const at = path ?? NIL
  const name = label(path)
  const keys = Object.keys(value)
  if (props.minProperties !== undefined && keys.length < props.minProperties) {
    errors.push(field.invalid(at, keys.length, `${name} in body should have at least ${props.minProperties} properties`))
  }
  if (props.maxProperties !== undefined && keys.length > props.maxProperties) errors.push(field.tooMany(at, keys.length, props.maxProperties))
  for (const required of props.required ?? []) if (!Object.hasOwn(value, required)) errors.push(field.required(child(path, required)))
  const values = valuesOf(props)
  for (const key of keys.sort()) {
    const own = propertyOf(props, key)
    if (isResource && !path && key === 'metadata') continue
    if (own) check(value[key], own, child(path, key), errors, isEmbedded(own))
    else if (values) check(value[key], values, child(path, key), errors, isEmbedded(values))
    else if (props.additionalProperties === false && !preserves(props))
      errors.push(field.invalid(at, '', `${label(child(path, key))} in body is a forbidden property`))
  }
}

function checkCombinations(value: unknown, props: Props, path: FieldPath | undefined, errors: ErrorList): void {
  const quoted = `"${label(path)}"`
  const run = (p: Props): ErrorList => {
    const own: ErrorList = []
    check(value, p, path, own)
    return own
  }
  const isShape = (list: readonly Props[]) => isIntOrString(props) && list.every((p) => Object.keys(p).length === 1 && p.type !== undefined)
  if (props.anyOf?.length && !isShape(props.anyOf)) {
    const results = props.anyOf.map(run)
    if (results.every((r) => r.length > 0)) {
      errors.push(field.invalid(NIL, '', `${quoted} must validate at least one schema (anyOf)`))
      errors.push(...best(results))
    }
  }
  if (props.oneOf?.length) {
    const results = props.oneOf.map(run)
    const fitting = results.filter((r) => r.length === 0).length
    if (fitting !== 1) {
      const found = fitting === 0 ? 'Found none valid' : `Found ${fitting} valid alternatives`
      errors.push(field.invalid(NIL, '', `${quoted} must validate one and only one schema (oneOf). ${found}`))
      if (fitting === 0) errors.push(...best(results))
    }
  }
  if (props.allOf?.length) {
    const results = props.allOf.map(run)
    const fitting = results.filter((r) => r.length === 0).length
    if (fitting < results.length) {
      for (const r of results) errors.push(...r)
      errors.push(field.invalid(NIL, '', `${quoted} must validate all the schemas (allOf)${fitting === 0 ? '. None validated' : ''}`))
    }
  }
  if (props.not && run(props.not).length === 0) errors.push(field.invalid(NIL, '', `${quoted} must not validate the schema (not)`))
}

/** The complaints of the alternative that came closest. */
function best(results: readonly ErrorList[]): ErrorList {
  return results.reduce((a, b) => (b.length < a.length ? b : a))
}

/** Lists that are sets or maps hold no duplicates. */
export function validateLists(value: unknown, props: Props, path: FieldPath | undefined): ErrorList {
  const errors: ErrorList = []
  visitLists(value, props, path, errors)
  return errors
}

function visitLists(value: unknown, props: Props, path: FieldPath | undefined, errors: ErrorList): void {
  if (Array.isArray(value)) {
    const type = props['x-kubernetes-list-type']
    if (path && (type === 'set' || type === 'map')) {
      const keys = props['x-kubernetes-list-map-keys'] ?? []
      const seen: unknown[] = []
      for (const [i, item] of value.entries()) {
        const identity =
          type === 'set' ? item : isObject(item) ? Object.fromEntries(keys.filter((k) => Object.hasOwn(item, k)).map((k) => [k, item[k]])) : undefined
        if (identity === undefined) continue
        if (seen.some((s) => deepEqual(s, identity))) errors.push(field.duplicate(path.index(i), identity))
        else seen.push(identity)
      }
    }
    const items = itemsOf(props)
    if (items && path) for (const [i, item] of value.entries()) visitLists(item, items, path.index(i), errors)
    return
  }
  if (!isObject(value)) return
  const values = valuesOf(props)
  for (const key of Object.keys(value)) {
    const own = propertyOf(props, key) ?? values
    if (own) visitLists(value[key], own, child(path, key), errors)
  }
}

/** Embedded resources are objects with a type of their own. */
export function validateEmbedded(value: unknown, props: Props, path: FieldPath | undefined): ErrorList {
  const errors: ErrorList = []
  visitEmbedded(value, props, path, errors)
  return errors
}

function visitEmbedded(value: unknown, props: Props, path: FieldPath | undefined, errors: ErrorList): void {
  if (path && isEmbedded(props) && isObject(value)) {
    const { apiVersion, kind } = value as { apiVersion?: unknown; kind?: unknown }
    if (apiVersion === undefined) errors.push(field.required(path.child('apiVersion')))
    else if (apiVersion === '') errors.push(field.invalid(path.child('apiVersion'), apiVersion, 'must not be empty'))
    else if (typeof apiVersion === 'string' && !parseApiVersion(apiVersion)) {
      errors.push(field.invalid(path.child('apiVersion'), apiVersion, `unexpected GroupVersion string: ${apiVersion}`))
    }
    if (kind === undefined) errors.push(field.required(path.child('kind')))
    else if (kind === '') errors.push(field.invalid(path.child('kind'), kind, 'must not be empty'))
  }
  if (Array.isArray(value)) {
    const items = itemsOf(props)
    if (items && path) for (const [i, item] of value.entries()) visitEmbedded(item, items, path.index(i), errors)
    return
  }
  if (!isObject(value)) return
  for (const key of Object.keys(value)) {
    const own = propertyOf(props, key) ?? valuesOf(props)
    if (own) visitEmbedded(value[key], own, child(path, key), errors)
  }
}
