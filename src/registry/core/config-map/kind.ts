import type { corev1 } from '../../../api/index.ts'
import { type ErrorList, FieldPath, forbidden, invalid, tooLong } from '../../../apimachinery/field.ts'
import { byteLength, isConfigMapKey, sortedKeys } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/index.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column } from '../../columns.ts'

type ConfigMap = corev1.ConfigMap

/** Bytes that all values of a ConfigMap or Secret may have together. */
export const MAX_CONTENT_BYTES = 1024 * 1024

const at = FieldPath.root

function validate(map: ConfigMap): ErrorList {
  const errors: ErrorList = []
  let size = 0
  for (const key of sortedKeys(map.data)) {
    for (const text of isConfigMapKey(key)) errors.push(invalid(at('data').key(key), key, text))
    if (Object.hasOwn(map.binaryData ?? {}, key)) errors.push(invalid(at('data').key(key), key, 'duplicate of key present in binaryData'))
    size += byteLength(map.data?.[key] ?? '')
  }
  for (const key of sortedKeys(map.binaryData)) {
    for (const text of isConfigMapKey(key)) errors.push(invalid(at('binaryData').key(key), key, text))
    size += base64Size(map.binaryData?.[key] ?? '')
  }
  if (size > MAX_CONTENT_BYTES) errors.push(tooLong(at(''), MAX_CONTENT_BYTES))
  return errors
}

/** Bytes that a base64 text stands for. */
export function base64Size(text: string): number {
  return Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
}

/** Refuses changes of an object that was marked immutable. */
export function validateImmutable<T extends { immutable?: boolean }>(now: T, old: T, fields: readonly (keyof T & string)[]): ErrorList {
  if (old.immutable !== true) return []
  const text = 'field is immutable when `immutable` is set'
  const errors: ErrorList = []
  if (now.immutable !== true) errors.push(forbidden(at('immutable'), text))
  for (const field of fields) if (!deepEqual(now[field] ?? {}, old[field] ?? {})) errors.push(forbidden(at(field), text))
  return errors
}

export const configMapKind: KindRegistration<ConfigMap> = {
  group: '',
  resource: 'configmaps',
  storage: { group: '', version: 'v1', kind: 'ConfigMap' },
  strategy: {
    validate,
    validateUpdate: (map, old) => [...validateImmutable(map, old, ['data', 'binaryData']), ...validate(map)],
  },
  columns: {
    columns: [column('Name', { format: 'name' }), column('Data'), column('Age')],
    cells: ({ metadata, data, binaryData }, now) => [
      metadata.name,
      Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
      ageOf(metadata.creationTimestamp, now),
    ],
  },
}
