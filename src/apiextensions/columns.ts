import type { CustomResourceColumnDefinition } from '../api/apiextensions/v1/types.generated.ts'
import { humanDuration } from '../apimachinery/duration.ts'
import { encodeJSON } from '../apimachinery/json/index.ts'
import type { TableColumnDefinition } from '../apimachinery/meta/v1/types.generated.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import type { TableColumns } from '../apiserver/registry/strategy.ts'
import { parseJsonPath } from './json-path.ts'

const NAME_DESCRIPTION =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names'
const AGE_DESCRIPTION =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata'

const AGE: CustomResourceColumnDefinition = { name: 'Age', type: 'date', description: AGE_DESCRIPTION, jsonPath: '.metadata.creationTimestamp' }

/** The table of a custom resource: its name, then the columns it declares, or its age when it declares none. */
export function customColumns(declared: readonly CustomResourceColumnDefinition[] | undefined): TableColumns {
  const own = declared?.length ? declared : [AGE]
  const paths = own.map((c) => parseJsonPath(c.jsonPath))
  const columns: TableColumnDefinition[] = [
    { name: 'Name', type: 'string', format: 'name', description: NAME_DESCRIPTION, priority: 0 },
    ...own.map((c) => ({
      name: c.name,
      type: c.type,
      format: c.format ?? '',
      description: c.description || `Custom resource definition column (in JSONPath format): ${c.jsonPath}`,
      priority: c.priority ?? 0,
    })),
  ]
  return {
    columns,
    cells: (object: KubeObject, now: number) => [
      object.metadata.name,
      ...own.map((c, i) => {
        const found = paths[i]?.(object)[0]
        return found === undefined || found === null ? null : cell(found, c.type, now)
      }),
    ],
  }
}

function cell(value: unknown, type: string, now: number): unknown {
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date': {
      if (typeof value !== 'string') return null
      const at = Date.parse(value)
      return Number.isNaN(at) ? '<invalid>' : humanDuration(now - at)
    }
    case 'string':
      return typeof value === 'string' ? value : typeof value === 'object' ? encodeJSON(value) : String(value)
    default:
      return null
  }
}
