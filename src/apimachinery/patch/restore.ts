import type { ScalarSchema, Schema } from '../schema/schema.ts'
import { goTypeName, isMap } from './values.ts'

/**
 * Why a patched object cannot become the typed object again, in the words clients get for a strategic merge patch
 * (`cannot restore slice from string`); undefined when shapes fit. Forms inside strings (times, quantities) are the
 * decoder's to judge.
 */
export function restoreError(value: unknown, schema: Schema): string | undefined {
  if (value === null || value === undefined || schema.kind === 'any') return undefined
  switch (schema.kind) {
    case 'scalar':
      return scalarError(value, schema)
    case 'list': {
      if (!Array.isArray(value)) return `cannot restore slice from ${goKind(value)}`
      return first(value, (item) => restoreError(item, schema.elem))
    }
    case 'map': {
      if (!isMap(value)) return `cannot restore map from ${goKind(value)}`
      return first(Object.keys(value), (key) => restoreError(value[key], schema.elem))
    }
    case 'struct': {
      if (!isMap(value)) return `cannot restore struct from: ${goKind(value)}`
      return first(schema.fields, (field) => (Object.hasOwn(value, field.name) ? restoreError(value[field.name], field.schema) : undefined))
    }
  }
}

function first<T>(items: readonly T[], error: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = error(item)
    if (found !== undefined) return found
  }
  return undefined
}

function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'slice'
  return isMap(value) ? 'map' : goTypeName(value)
}

function scalarError(value: unknown, schema: ScalarSchema): string | undefined {
  const kind = goKind(value)
  switch (schema.scalar) {
    case 'string':
      if (kind === 'string') return undefined
      return kind === 'int64' ? `cannot convert int64 to ${schema.typeName ? `v1.${schema.typeName}` : 'string'}` : 'unrecognized type: string'
    case 'bool':
      return kind === 'bool' ? undefined : 'unrecognized type: bool'
    case 'int32':
    case 'int64':
      if (kind === 'int64') return undefined
      return kind === 'float64' ? `cannot convert float64 to ${schema.scalar}` : `unrecognized type: ${schema.scalar}`
    case 'float64':
      return kind === 'int64' || kind === 'float64' ? undefined : 'unrecognized type: float64'
    case 'bytes':
      return kind === 'string' ? undefined : `cannot restore slice from ${kind}`
    default:
      return undefined
  }
}
