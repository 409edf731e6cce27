import { isObject } from '../../base/deep-freeze.ts'
import { goFormat } from '../patch/values.ts'
import type { Schema, StructSchema } from '../schema/schema.ts'
import { elementText } from './fields.ts'
import { type ItemsNode, itemElement } from './list-items.ts'
import { DEDUCED_NODE, type TypedNode, typedNode } from './typed-node.ts'

/**
 * What keeps an applied object from being a value of its type, in upstream's words; undefined when nothing does. Several
 * complaints make one text with a line each.
 */
export function validateApplied(schema: StructSchema, object: unknown): string | undefined {
  const errors: string[] = []
  visit(schema, typedNode(schema), object, '', errors)
  if (errors.length === 0) return undefined
  return errors.length === 1 ? errors[0] : `errors:\n${errors.map((e) => `  ${e}`).join('\n')}`
}

function visit(schema: Schema, node: TypedNode, value: unknown, path: string, errors: string[]): void {
  if (value === null || value === undefined) return
  switch (schema.kind) {
    case 'scalar': {
      const problem = scalarProblem(schema.scalar, value)
      if (problem !== undefined) errors.push(`${path}: ${problem}`)
      return
    }
    case 'any':
      return
    case 'list':
      return visitList(schema.elem, node, value, path, errors)
    case 'map':
      if (!isObject(value)) errors.push(`${path}: expected map, got &{${goFormat(value)}}`)
      else for (const key of Object.keys(value).sort()) visit(schema.elem, node.kind === 'map' ? node.elem : DEDUCED_NODE, value[key], `${path}.${key}`, errors)
      return
    case 'struct':
      return visitStruct(schema, node, value, path, errors)
  }
}

function visitStruct(schema: StructSchema, node: TypedNode, value: unknown, path: string, errors: string[]): void {
  if (!isObject(value)) {
    errors.push(`${path}: expected map, got &{${goFormat(value)}}`)
    return
  }
  for (const key of Object.keys(value).sort()) {
    const field = schema.byName.get(key)
    if (!field) {
      if (schema.preserveUnknown) continue
      errors.push(`${path}.${key}: field not declared in schema`)
      return
    }
    const at = node.kind === 'struct' ? node.index.get(key) : undefined
    const child = at === undefined ? DEDUCED_NODE : ((node as { nodes: readonly TypedNode[] }).nodes[at] as TypedNode)
    visit(field.schema, child, value[key], `${path}.${key}`, errors)
  }
}

function visitList(elem: Schema, node: TypedNode, value: unknown, path: string, errors: string[]): void {
  if (!Array.isArray(value)) {
    errors.push(`${path}: expected list, got &{${goFormat(value)}}`)
    return
  }
  const items: ItemsNode | undefined = node.kind === 'keyed' || node.kind === 'set' ? node : undefined
  const seen = new Set<string>()
  for (const [i, item] of value.entries()) {
    let element = `i:${i}`
    if (items) {
      try {
        element = itemElement(items, item)
      } catch (e) {
        errors.push(`${path}: element ${i}: ${(e as Error).message}`)
        return
      }
      if (seen.has(element)) errors.push(`${path}: duplicate entries for key ${elementText(element)}`)
      seen.add(element)
    }
    visit(elem, node.kind === 'keyed' ? node.elem : DEDUCED_NODE, item, path + elementText(element), errors)
  }
}

function scalarProblem(scalar: string, value: unknown): string | undefined {
  switch (scalar) {
    case 'int32':
    case 'int64':
    case 'float64':
      return typeof value === 'number' ? undefined : `expected numeric (int or float), got ${goType(value)}`
    case 'bool':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goFormat(value)}}`
    case 'string':
    case 'bytes':
    case 'duration':
      return typeof value === 'string' ? undefined : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
    default:
      return typeof value === 'object' ? `expected any scalar, got &{${goFormat(value)}}` : undefined
  }
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'map[string]interface {}'
}

/** A decoded value as Go's `%#v` prints it. */
function goSyntax(value: unknown): string {
  if (value === null) return 'interface {}(nil)'
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (typeof value === 'object') {
    const map = value as Record<string, unknown>
    return `map[string]interface {}{${Object.keys(map)
      .sort()
      .map((k) => `${JSON.stringify(k)}:${goSyntax(map[k])}`)
      .join(', ')}}`
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
