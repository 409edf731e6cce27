import { RE2JS } from 're2js'
import type { ErrorList, FieldPath } from '../apimachinery/field.ts'
import * as field from '../apimachinery/field.ts'
import { deepCopy } from '../base/deep-freeze.ts'
import { coerce } from './coerce.ts'
import { isEmbedded, isIntOrString, itemsOf, type Props, preserves, valuesOf } from './structural.ts'
import { validateLists, validateValue } from './validate-value.ts'

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const MAP_TYPES = ['atomic', 'granular']
const LIST_TYPES = ['atomic', 'set', 'map']

/** A version's schema: what it may say at all, and that it is structural. */
export function validateSchema(schema: Props, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  if (schema.nullable) errors.push(field.forbidden(path.child('nullable'), 'nullable cannot be true at the root'))
  keywords(schema, path, errors, undefined)
  if (errors.length === 0) structural(schema, path, errors, 'root')
  if (errors.length === 0) {
    if (schema.default !== null && typeof schema.default === 'object') {
      for (const name of ['apiVersion', 'kind']) if (!Object.hasOwn(schema.default, name)) errors.push(field.required(path.child('default', name)))
    }
    defaults(schema, path, errors)
  }
  return errors
}

/** Every sub-schema with its path; `kind` says how it hangs on its parent. */
function children(props: Props, path: FieldPath): [Props, FieldPath, 'value' | 'logical'][] {
  const out: [Props, FieldPath, 'value' | 'logical'][] = []
  const items = itemsOf(props)
  if (items) out.push([items, path.child('items'), 'value'])
  for (const name of Object.keys(props.properties ?? {}).sort()) out.push([props.properties?.[name] as Props, path.child('properties').key(name), 'value'])
  const values = valuesOf(props)
  if (values) out.push([values, path.child('additionalProperties'), 'value'])
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [i, p] of (props[name] ?? []).entries()) out.push([p, path.child(name).index(i), 'logical'])
  }
  if (props.not) out.push([props.not, path.child('not'), 'logical'])
  return out
}

const UNSUPPORTED = ['definitions', 'dependencies', 'id', 'patternProperties', '$ref'] as const

function keywords(props: Props, path: FieldPath, errors: ErrorList, parent: Props | undefined): void {
  if (props.uniqueItems)
    errors.push(field.forbidden(path.child('uniqueItems'), 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'))
  if (props.additionalProperties !== undefined && props.properties && Object.keys(props.properties).length > 0 && props.additionalProperties !== false) {
    errors.push(field.forbidden(path.child('additionalProperties'), 'additionalProperties and properties are mutual exclusive'))
  }
  for (const name of UNSUPPORTED)
    if (props[name] !== undefined && props[name] !== '') errors.push(field.forbidden(path.child(name), `${name} is not supported`))
  if (Array.isArray(props.items)) errors.push(field.forbidden(path.child('items'), 'items must be a schema object and not an array'))
  if (props.type && !TYPES.includes(props.type)) {
    errors.push(field.notSupported(path.child('type'), props.type, TYPES))
    if (props.type === 'null') errors.push(field.forbidden(path.child('type'), 'type cannot be set to null, use nullable as an alternative'))
  }
  if (props.pattern) {
    try {
      RE2JS.compile(props.pattern)
    } catch (error) {
      const text = (error as Error).message
      errors.push(
        field.invalid(
          path.child('pattern'),
          props.pattern,
          `must be a valid regular expression, but isn't: ${text.startsWith('error parsing regexp') ? text : `error parsing regexp: ${text}`}`,
        ),
      )
    }
  }
  extensions(props, path, errors, parent)
  for (const [child, at] of children(props, path)) keywords(child, at, errors, props)
}

function extensions(props: Props, path: FieldPath, errors: ErrorList, parent: Props | undefined): void {
  if (props['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(field.invalid(path.child('x-kubernetes-preserve-unknown-fields'), false, 'must be true or undefined'))
  }
  const mapType = props['x-kubernetes-map-type']
  if (mapType !== undefined) {
    if (props.type !== 'object') {
      errors.push(
        props.type
          ? field.invalid(path.child('type'), props.type, 'must be object if x-kubernetes-map-type is specified')
          : field.required(path.child('type'), 'must be object if x-kubernetes-map-type is specified'),
      )
    }
    if (!MAP_TYPES.includes(mapType)) errors.push(field.notSupported(path.child('x-kubernetes-map-type'), mapType, MAP_TYPES))
  }
  const listType = props['x-kubernetes-list-type']
  const items = itemsOf(props)
  if (listType !== undefined) {
    if (props.type !== 'array') {
      errors.push(
        props.type
          ? field.invalid(path.child('type'), props.type, 'must be array if x-kubernetes-list-type is specified')
          : field.required(path.child('type'), 'must be array if x-kubernetes-list-type is specified'),
      )
    }
    if (!LIST_TYPES.includes(listType)) errors.push(field.notSupported(path.child('x-kubernetes-list-type'), listType, LIST_TYPES))
    if (listType === 'set' && items) {
      if (items.nullable) errors.push(field.forbidden(path.child('items', 'nullable'), 'cannot be nullable when x-kubernetes-list-type is set'))
      if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
        errors.push(
          field.invalid(
            path.child('items', 'x-kubernetes-map-type'),
            items['x-kubernetes-map-type'],
            'must be atomic as item of a list with x-kubernetes-list-type=set',
          ),
        )
      }
      if (items.type === 'array' && items['x-kubernetes-list-type'] !== undefined && items['x-kubernetes-list-type'] !== 'atomic') {
        errors.push(
          field.invalid(
            path.child('items', 'x-kubernetes-list-type'),
            items['x-kubernetes-list-type'],
            'must be atomic as item of a list with x-kubernetes-list-type=set',
          ),
        )
      }
    }
  }
  const keys = props['x-kubernetes-list-map-keys'] ?? []
  if (keys.length > 0 && listType !== 'map') {
    const at = path.child('x-kubernetes-list-type')
    const text = 'must be map if x-kubernetes-list-map-keys is non-empty'
    errors.push(listType === undefined ? field.required(at, text) : field.invalid(at, listType, text))
  }
  if (listType === 'map') mapKeys(keys, items, path, errors)
  void parent
}

function mapKeys(keys: readonly string[], items: Props | undefined, path: FieldPath, errors: ErrorList): void {
  const at = path.child('x-kubernetes-list-map-keys')
  if (keys.length === 0) errors.push(field.required(at, 'must not be empty if x-kubernetes-list-type is map'))
  if (!items) return
  const itemsPath = path.child('items')
  if (items.type !== 'object') {
    errors.push(
      items.type
        ? field.invalid(itemsPath.child('type'), items.type, "must be object if parent array's x-kubernetes-list-type is map")
        : field.required(itemsPath.child('type'), "must be object if parent array's x-kubernetes-list-type is map"),
    )
  }
  if (items.nullable) errors.push(field.forbidden(itemsPath.child('nullable'), 'cannot be nullable when x-kubernetes-list-type is map'))
  if (new Set(keys).size !== keys.length) errors.push(field.invalid(at, keys, 'must not contain duplicate entries'))
  for (const key of new Set(keys)) {
    const own = items.properties && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined
    const keyPath = itemsPath.child('properties').key(key)
    if (!own) {
      errors.push(field.invalid(at, keys, 'entries must all be names of item properties'))
      continue
    }
    if (own.type === 'object' || own.type === 'array') {
      errors.push(field.invalid(keyPath.child('type'), own.type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
    }
    if (own.nullable) errors.push(field.forbidden(keyPath.child('nullable'), 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'))
    if (own.default === undefined && !items.required?.includes(key)) {
      errors.push(
        field.required(keyPath.child('default'), 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'),
      )
    }
  }
}

function structural(props: Props, path: FieldPath, errors: ErrorList, role: 'root' | 'field' | 'item'): void {
  const isRoot = role === 'root'
  if (!props.type && !isIntOrString(props) && !preserves(props)) {
    errors.push(
      field.required(
        path.child('type'),
        isRoot
          ? 'must not be empty at the root'
          : role === 'field'
            ? 'must not be empty for specified object fields'
            : 'must not be empty for specified array items',
      ),
    )
  } else if (isRoot && props.type !== 'object') errors.push(field.invalid(path.child('type'), props.type, 'must be object at the root'))
  if (isRoot && props.additionalProperties !== undefined) errors.push(field.forbidden(path.child('additionalProperties'), 'must not be used at the root'))
  if (isEmbedded(props)) {
    if (!preserves(props) && Object.keys(props.properties ?? {}).length === 0) {
      errors.push(
        field.required(path.child('properties'), 'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'),
      )
    }
    if (props.type !== 'object') {
      errors.push(
        props.type
          ? field.invalid(path.child('type'), props.type, 'must be object if x-kubernetes-embedded-resource is true')
          : field.required(path.child('type'), 'must be object if x-kubernetes-embedded-resource is true'),
      )
    }
  }
  if (props.type === 'array' && !itemsOf(props)) errors.push(field.required(path.child('items'), 'must be specified'))
  if (isRoot || isEmbedded(props)) typeMeta(props, path, errors)
  const items = itemsOf(props)
  if (items) structural(items, path.child('items'), errors, 'item')
  for (const name of Object.keys(props.properties ?? {}).sort()) {
    if (isRoot && name === 'metadata') continue
    structural(props.properties?.[name] as Props, path.child('properties').key(name), errors, 'field')
  }
  const values = valuesOf(props)
  if (values) structural(values, path.child('additionalProperties'), errors, 'field')
  for (const [child, at, kind] of children(props, path)) if (kind === 'logical') logical(child, at, errors, isIntOrShape(props))
}

function typeMeta(props: Props, path: FieldPath, errors: ErrorList): void {
  for (const name of ['apiVersion', 'kind'] as const) {
    const own = props.properties?.[name]
    if (own?.type && own.type !== 'string') errors.push(field.invalid(path.child('properties').key(name).child('type'), own.type, 'must be string'))
  }
  const metadata = props.properties?.['metadata']
  if (!metadata) return
  const at = path.child('properties').key('metadata')
  if (metadata.type !== 'object') errors.push(field.invalid(at.child('type'), metadata.type ?? '', 'must be object'))
  const { type: _, properties, default: preset, ...rest } = metadata
  if (preset !== undefined) errors.push(field.forbidden(at.child('default'), 'must not be set in top-level metadata'))
  const named = Object.keys(properties ?? {}).every((n) => n === 'name' || n === 'generateName')
  if (!named || Object.keys(rest).length > 0) {
    errors.push(field.forbidden(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified'))
  }
}

/** The two forms of anyOf that say "integer or string". */
function isIntOrShape(props: Props): boolean {
  const pair = (list: readonly Props[] | undefined) =>
    list?.length === 2 && list[0]?.type === 'integer' && list[1]?.type === 'string' && list.every((p) => Object.keys(p).length === 1)
  return isIntOrString(props) && (pair(props.anyOf) || (props.allOf?.[0] !== undefined && pair(props.allOf[0].anyOf)))
}

const EMPTY = ['type', 'title', 'description'] as const
const UNDEFINED = ['default', 'additionalProperties'] as const
const FALSE = ['nullable', 'x-kubernetes-embedded-resource', 'x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields'] as const

/** Inside allOf, anyOf, oneOf and not, a schema only restricts. */
function logical(props: Props, path: FieldPath, errors: ErrorList, mayType: boolean): void {
  for (const name of EMPTY) if (props[name] && !(mayType && name === 'type')) errors.push(field.forbidden(path.child(name), 'must be empty to be structural'))
  for (const name of UNDEFINED) if (props[name] !== undefined) errors.push(field.forbidden(path.child(name), 'must be undefined to be structural'))
  for (const name of FALSE) if (props[name]) errors.push(field.forbidden(path.child(name), 'must be false to be structural'))
  for (const [child, at] of children(props, path)) logical(child, at, errors, mayType)
}

/** Defaults fit the schema they are in. */
function defaults(props: Props, path: FieldPath, errors: ErrorList): void {
  if (props.default !== undefined) {
    const at = path.child('default')
    const probe = deepCopy({ value: props.default })
    const unknown = coerce(probe, { type: 'object', properties: { value: { ...props, default: undefined } as Props } })
    if (unknown.length > 0) errors.push(field.invalid(at, props.default, 'must not have unknown fields'))
    else {
      for (const e of [...validateValue(props.default, props, undefined), ...validateLists(props.default, props, undefined)]) {
        const inner = e.field === '<nil>' ? '' : e.field
        errors.push({
          type: e.type,
          field: inner === '' ? String(at) : `${at}.${inner}`,
          body: inner === '' || inner.startsWith('[') ? e.body : e.body.replace(`: ${inner} in body`, `: .${inner} in body`),
        })
      }
    }
  }
  for (const [child, at, kind] of children(props, path)) if (kind === 'value') defaults(child, at, errors)
}
