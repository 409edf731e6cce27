import type { CustomResourceDefinitionVersion } from '../api/apiextensions/v1/types.generated.ts'
import { deepEqual } from '../base/deep-freeze.ts'

/** Versions as messages print them: the internal type's JSON. What all versions share is held outside of them there. */
export function internalVersions(versions: readonly CustomResourceDefinitionVersion[] | null | undefined): unknown {
  if (versions === null || versions === undefined) return null
  const first = versions[0]
  const shared = versions.every(
    (v) =>
      deepEqual(v.schema, first?.schema) &&
      deepEqual(v.subresources, first?.subresources) &&
      deepEqual(v.additionalPrinterColumns, first?.additionalPrinterColumns) &&
      deepEqual(v.selectableFields, first?.selectableFields),
  )
  return versions.map((v) => ({
    Name: v.name,
    Served: v.served,
    Storage: v.storage,
    Deprecated: v.deprecated ?? false,
    DeprecationWarning: v.deprecationWarning ?? null,
    Schema: shared ? null : (v.schema ?? null),
    Subresources: shared ? null : (v.subresources ?? null),
    AdditionalPrinterColumns: shared ? null : (v.additionalPrinterColumns ?? null),
    SelectableFields: shared ? null : (v.selectableFields ?? null),
  }))
}
