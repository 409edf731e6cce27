import type { CustomResourceColumnDefinition, CustomResourceSubresourceScale, SelectableField } from '../api/apiextensions/v1/types.generated.ts'
import type { ErrorList, FieldPath } from '../apimachinery/field.ts'
import * as field from '../apimachinery/field.ts'
import { type Props, propertyOf } from './structural.ts'

const SIMPLE_PATH = /^(\.[a-zA-Z_][a-zA-Z0-9_-]*|\[[^\]]*\])+$/
const SIMPLE_TEXT = 'must be a simple json path starting with .'

export function validateScale(scale: CustomResourceSubresourceScale | undefined, path: FieldPath): ErrorList {
  if (!scale) return []
  const errors: ErrorList = []
  const check = (name: string, value: string | undefined, roots: readonly string[], where: string, isRequired: boolean) => {
    const at = path.child(name)
    if (!value) {
      if (isRequired) errors.push(field.required(at))
      return
    }
    if (!value.startsWith('.') || !SIMPLE_PATH.test(value)) errors.push(field.invalid(at, value, SIMPLE_TEXT))
    else if (!roots.some((r) => value.startsWith(r))) errors.push(field.invalid(at, value, `should be a json path under ${where}`))
  }
  check('specReplicasPath', scale.specReplicasPath, ['.spec.'], '.spec', true)
  check('statusReplicasPath', scale.statusReplicasPath, ['.status.'], '.status', true)
  check('labelSelectorPath', scale.labelSelectorPath, ['.spec.', '.status.'], 'either .spec or .status', false)
  return errors
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

export function validateColumns(columns: readonly CustomResourceColumnDefinition[] | undefined, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  for (const [i, column] of (columns ?? []).entries()) {
    const at = path.index(i)
    if (!column.name) errors.push(field.required(at.child('name')))
    if (!column.type) errors.push(field.required(at.child('type'), `must be one of ${COLUMN_TYPES.join(',')}`))
    else if (!COLUMN_TYPES.includes(column.type)) errors.push(field.invalid(at.child('type'), column.type, `must be one of ${COLUMN_TYPES.join(',')}`))
    if (column.format && !COLUMN_FORMATS.includes(column.format)) {
      errors.push(field.invalid(at.child('format'), column.format, `must be one of ${COLUMN_FORMATS.join(',')}`))
    }
    if (!column.jsonPath) errors.push(field.required(at.child('JSONPath')))
    else if (!column.jsonPath.startsWith('.')) errors.push(field.invalid(at.child('JSONPath'), column.jsonPath, SIMPLE_TEXT))
  }
  return errors
}

const MAX_SELECTABLE = 8

export function validateSelectableFields(fields: readonly SelectableField[] | undefined, schema: Props, path: FieldPath): ErrorList {
  const errors: ErrorList = []
  const seen = new Set<string>()
  for (const [i, { jsonPath }] of (fields ?? []).entries()) {
    const at = path.index(i).child('jsonPath')
    if (!jsonPath) {
      errors.push(field.required(at))
      continue
    }
    const problem = pathProblem(jsonPath, schema)
    if (problem) errors.push(field.invalid(at, jsonPath, problem))
    if (seen.has(jsonPath)) errors.push(field.duplicate(at, jsonPath))
    seen.add(jsonPath)
  }
  if ((fields?.length ?? 0) > MAX_SELECTABLE) errors.push(field.tooMany(path, fields?.length ?? 0, MAX_SELECTABLE))
  return errors
}

function pathProblem(path: string, schema: Props): string | undefined {
  if (!path.startsWith('.') && !path.startsWith('[')) return `is an invalid path: expected [ or . but got: ${path.split('.')[0]}`
  if (/\[\s*[\d*]/.test(path)) return 'is an invalid path: array notation is not allowed'
  let at: Props | undefined = schema
  for (const name of path.slice(1).split('.')) at = at && propertyOf(at, name)
  if (!at) return 'is an invalid path: does not refer to a valid field'
  if (path.startsWith('.metadata')) return 'must not point to fields in metadata'
  if (at.type === 'string' || at.type === 'boolean' || at.type === 'integer') return undefined
  return 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
}
