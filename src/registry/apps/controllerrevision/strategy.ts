import type { ControllerRevision } from '../../../api/apps/v1/types.generated.ts'
import { type ErrorList, FieldPath, invalid, required } from '../../../apimachinery/field.ts'
import { parseApiVersion } from '../../../apimachinery/object.ts'
import { IMMUTABLE } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column } from '../../columns.ts'
import { nonNegative } from '../../workload-template.ts'

const DATA = FieldPath.root('data')
const REVISION = FieldPath.root('revision')

function validate({ data, revision }: ControllerRevision): ErrorList {
  const errs: ErrorList = []
  if (data === undefined || data === null) errs.push(required(DATA, 'data is mandatory'))
  else if (typeof data !== 'object' || Array.isArray(data)) errs.push(required(DATA, 'data must be a valid JSON object'))
  return [...errs, ...nonNegative(revision, REVISION)]
}

/** `statefulset.apps/web`. */
function controllerText(revision: ControllerRevision): string {
  const owner = revision.metadata.ownerReferences?.find((r) => r.controller)
  if (!owner) return '<none>'
  const group = parseApiVersion(owner.apiVersion)?.group ?? ''
  return `${owner.kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${owner.name}`
}

const columns: TableColumns<ControllerRevision> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the ControllerRevision.' }),
    column('Controller', { description: 'The object whose past this is.' }),
    column('Revision', { description: 'Number of the revision.' }),
    column('Age', { description: 'Time since creation.' }),
  ],
  cells: (revision, now) => [revision.metadata.name ?? '', controllerText(revision), revision.revision, ageOf(revision.metadata.creationTimestamp, now)],
}

export const controllerRevisionKind: KindRegistration<ControllerRevision> = {
  group: 'apps',
  resource: 'controllerrevisions',
  storage: { group: 'apps', version: 'v1', kind: 'ControllerRevision' },
  strategy: {
    validate,
    validateUpdate(revision, old) {
      const errs = validate(revision)
      if (!deepEqual(revision.data, old.data)) errs.push(invalid(DATA, revision.data ?? null, IMMUTABLE))
      return errs
    },
  },
  columns,
}
