import type { CustomResourceDefinition } from '../api/apiextensions/v1/types.generated.ts'
import { FieldPath } from '../apimachinery/field.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import { formatTime } from '../apimachinery/time.ts'
import type { KindRegistration, Strategy, StrategyContext } from '../apiserver/registry/strategy.ts'
import { deepCopy } from '../base/deep-freeze.ts'
import { keepMetadata, storageVersionOf } from './custom-kind.ts'
import { isKnownFormat } from './formats.ts'
import { withCondition } from './names.ts'
import { itemsOf, type Props, valuesOf } from './structural.ts'
import { validateDefinition, validateDefinitionUpdate } from './validate-definition.ts'

export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io'

type Definition = CustomResourceDefinition & KubeObject

function defaults(definition: Definition): void {
  const { spec } = definition
  if (!spec.names.singular) spec.names.singular = spec.names.kind.toLowerCase()
  if (!spec.names.listKind && spec.names.kind) spec.names.listKind = `${spec.names.kind}List`
  if (spec.names.singular === '') delete spec.names.singular
  spec.conversion ??= { strategy: 'None' }
  const service = spec.conversion.webhook?.clientConfig?.service
  if (service) service.port ??= 443
}

function storeVersion(definition: Definition): void {
  const storage = storageVersionOf(definition)?.name
  const status = (definition.status ??= { conditions: null as never, acceptedNames: { plural: '', kind: '' }, storedVersions: null as never })
  if (storage !== undefined && !status.storedVersions?.includes(storage)) status.storedVersions = [...(status.storedVersions ?? []), storage]
}

const strategy: Strategy<Definition> = {
  generation: 'spec',
  defaults,
  prepareForCreate(definition) {
    definition.status = { conditions: null as never, acceptedNames: { plural: '', kind: '' }, storedVersions: null as never }
    storeVersion(definition)
  },
  prepareForUpdate(definition) {
    definition.status = deepCopy(definition.status) as NonNullable<Definition['status']>
    storeVersion(definition)
  },
  validate: (definition) => validateDefinition(definition),
  validateUpdate: (definition, old) => validateDefinitionUpdate(definition, old),
  warningsOnCreate: formatWarnings,
  warningsOnUpdate: (definition) => formatWarnings(definition),
  interceptDelete(definition, _options, context: StrategyContext) {
    const { metadata } = definition
    if (metadata.deletionTimestamp) return metadata.finalizers?.length ? 'keep' : 'delete'
    const copy = deepCopy(definition)
    copy.metadata.deletionTimestamp = formatTime(context.now())
    copy.metadata.deletionGracePeriodSeconds = 0 as never
    delete copy.metadata.deletionGracePeriodSeconds
    if (!copy.metadata.finalizers?.includes(CLEANUP_FINALIZER)) copy.metadata.finalizers = [...(copy.metadata.finalizers ?? []), CLEANUP_FINALIZER]
    const status = copy.status as NonNullable<Definition['status']>
    status.conditions = withCondition(
      status.conditions,
      {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionPending',
        message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
      },
      formatTime(context.now()),
    )
    return copy
  },
}

/** Formats nobody checks are announced. */
function formatWarnings(definition: Definition): string[] {
  const out: string[] = []
  const visit = (props: Props | undefined, path: FieldPath) => {
    if (!props) return
    if (props.format && !isKnownFormat(props.format)) out.push(`unrecognized format ${JSON.stringify(props.format)}`)
    for (const [name, p] of Object.entries(props.properties ?? {})) visit(p, path.child('properties').key(name))
    visit(itemsOf(props), path.child('items'))
    visit(valuesOf(props), path.child('additionalProperties'))
  }
  for (const v of definition.spec.versions ?? []) visit(v.schema?.openAPIV3Schema, FieldPath.root('spec'))
  return [...new Set(out)]
}

/** CustomResourceDefinitions themselves. */
export const definitionKind: KindRegistration<Definition> = {
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
  storage: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  strategy,
  status: {
    prepareForUpdate(definition, old) {
      definition.spec = old.spec
      keepMetadata(definition, old)
      // What is stored is stored in some version: an empty list means the storage version.
      if (!definition.status?.storedVersions?.length) storeVersion(definition)
    },
  },
  columns: {
    columns: [
      { name: 'Name', type: 'string', format: 'name', description: 'Name must be unique within a namespace.', priority: 0 },
      { name: 'Created At', type: 'date', format: '', description: 'CreationTimestamp is the time when this object was created.', priority: 0 },
    ],
    cells: (definition) => [definition.metadata.name, definition.metadata.creationTimestamp],
  },
}
