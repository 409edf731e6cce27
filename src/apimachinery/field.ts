import { quote } from './quote.ts'

/** A path to a field, built outward in: `FieldPath.root('spec').child('containers').index(0).child('name')`. */
export class FieldPath {
  private readonly text: string

  private constructor(text: string) {
    this.text = text
  }

  static root(...names: string[]): FieldPath {
    return new FieldPath(names.join('.'))
  }

  /** The nil path: prints `<nil>`. */
  static readonly nil: FieldPath = new FieldPath('<nil>')

  child(...names: string[]): FieldPath {
    if (this.text === '<nil>') return FieldPath.root(...names)
    return new FieldPath(this.text === '' ? names.join('.') : `${this.text}.${names.join('.')}`)
  }

  index(i: number): FieldPath {
    return new FieldPath(`${this.text}[${i}]`)
  }

  /** Map keys are printed bare: `metadata.annotations[my/key]`. */
  key(k: string): FieldPath {
    return new FieldPath(`${this.text}[${k}]`)
  }

  toString(): string {
    return this.text === '' ? '[]' : this.text
  }
}

export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooShort'
  | 'FieldValueTooMany'
  | 'FieldValueTooFew'
  | 'FieldValueTypeInvalid'
  | 'InternalError'

/** One complaint about one field. `body` is the text after `path: `. */
export interface FieldError {
  readonly type: FieldErrorType
  readonly field: string
  readonly body: string
}

export type ErrorList = FieldError[]

/**
 * Marks a value that Go prints as JSON (named strings, pointers, structs); plain strings, numbers and booleans print the
 * same either way except for escapes, so most callers need not care.
 */
export function showValue(value: unknown): string {
  if (value === undefined) return 'null'
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return JSON.stringify(value)
}

const make = (type: FieldErrorType, path: FieldPath | string, body: string): FieldError => ({ type, field: String(path), body })
const detailed = (head: string, detail: string) => (detail === '' ? head : `${head}: ${detail}`)

export function required(path: FieldPath, detail = ''): FieldError {
  return make('FieldValueRequired', path, detailed('Required value', detail))
}
export function invalid(path: FieldPath, value: unknown, detail: string): FieldError {
  return make('FieldValueInvalid', path, detailed(`Invalid value: ${showValue(value)}`, detail))
}
export function typeInvalid(path: FieldPath, value: unknown, detail: string): FieldError {
  return make('FieldValueTypeInvalid', path, detailed(`Invalid value: ${showValue(value)}`, detail))
}
export function notSupported(path: FieldPath, value: unknown, supported: readonly string[]): FieldError {
  return make(
    'FieldValueNotSupported',
    path,
    detailed(`Unsupported value: ${showValue(value)}`, supported.length ? `supported values: ${supported.map(quote).join(', ')}` : ''),
  )
}
export function duplicate(path: FieldPath, value: unknown): FieldError {
  return make('FieldValueDuplicate', path, `Duplicate value: ${showValue(value)}`)
}
export function notFoundField(path: FieldPath, value: unknown): FieldError {
  return make('FieldValueNotFound', path, `Not found: ${showValue(value)}`)
}
export function forbidden(path: FieldPath, detail: string): FieldError {
  return make('FieldValueForbidden', path, detailed('Forbidden', detail))
}
/** @param max bytes; negative when there is no figure to tell */
export function tooLong(path: FieldPath, max: number): FieldError {
  return make('FieldValueTooLong', path, max < 0 ? 'Too long: value is too long' : `Too long: may not be more than ${max} ${max === 1 ? 'byte' : 'bytes'}`)
}
export function tooLongCharacters(path: FieldPath, max: number): FieldError {
  return make('FieldValueTooLong', path, `Too long: may not be more than ${max} ${max === 1 ? 'character' : 'characters'}`)
}
export function tooShort(path: FieldPath, min: number): FieldError {
  return make('FieldValueTooShort', path, `Too short: must be at least ${min} ${min === 1 ? 'character' : 'characters'}`)
}
export function tooMany(path: FieldPath, actual: number, max: number): FieldError {
  const what = max < 0 ? 'has too many items' : `must have at most ${max} ${max === 1 ? 'item' : 'items'}`
  return make('FieldValueTooMany', path, actual < 0 ? `Too many: ${what}` : `Too many: ${actual}: ${what}`)
}
export function tooFew(path: FieldPath, actual: number, min: number): FieldError {
  return make('FieldValueTooFew', path, `Too few: ${actual}: must have at least ${min} ${min === 1 ? 'item' : 'items'}`)
}
export function internal(path: FieldPath, detail: string): FieldError {
  return make('InternalError', path, `Internal error: ${detail}`)
}

export function fieldErrorText(e: FieldError): string {
  return `${e.field}: ${e.body}`
}

/** Joins as upstream's aggregate does: equal texts once; one bare, several in brackets. */
export function aggregateText(texts: readonly string[]): string {
  const unique = [...new Set(texts)]
  return unique.length === 1 ? (unique[0] as string) : `[${unique.join(', ')}]`
}
