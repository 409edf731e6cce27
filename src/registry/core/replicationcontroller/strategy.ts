import type { ReplicationController } from '../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, required } from '../../../apimachinery/field.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { validateReplicaStatus } from '../../apps/replicaset/strategy.ts'
import { containerTexts, labelsText } from '../../columns.ts'
import { REPLICA_COLUMNS } from '../../replica-columns.ts'
import { dropDisabledTemplateFields, nonNegative, templateOptions, validateWorkloadTemplate } from '../../workload-template.ts'
import { setPodTemplateDefaults } from '../pod/defaults.ts'
import { templateWarnings } from '../pod/warnings.ts'

const SPEC = FieldPath.root('spec')
const TEMPLATE = SPEC.child('template')

/** Labels and selector come from the template where they are not set. */
function setDefaults(controller: ReplicationController): void {
  const { spec, metadata } = controller
  setPodTemplateDefaults(spec.template)
  const labels = spec.template?.metadata?.labels
  if (labels && Object.keys(labels).length > 0) {
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels }
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels }
  }
  spec.replicas ??= 1
}

function validate({ spec }: ReplicationController, context: StrategyContext): ErrorList {
  const errs = nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds'))
  const selector = spec.selector ?? {}
  if (Object.keys(selector).length === 0) errs.push(required(SPEC.child('selector')))
  errs.push(...nonNegative(spec.replicas, SPEC.child('replicas')))
  if (!spec.template) return [...errs, required(TEMPLATE)]
  return [...errs, ...validateWorkloadTemplate(spec.template, { matchLabels: selector }, 'ReplicationController', TEMPLATE, templateOptions(context))]
}

const columns: TableColumns<ReplicationController> = {
  columns: REPLICA_COLUMNS,
  cells: ({ metadata, spec, status }, now) => [
    metadata.name ?? '',
    spec.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    ageOf(metadata.creationTimestamp, now),
    ...containerTexts(spec.template?.spec),
    labelsText(spec.selector),
  ],
}

export const replicationControllerKind: KindRegistration<ReplicationController> = {
  group: '',
  resource: 'replicationcontrollers',
  storage: { group: '', version: 'v1', kind: 'ReplicationController' },
  strategy: {
    defaults: setDefaults,
    prepareForCreate: ({ spec }, context) => dropDisabledTemplateFields(spec.template, undefined, context),
    validate,
    warningsOnCreate: ({ spec }) => templateWarnings(spec.template, undefined, TEMPLATE),
    prepareForUpdate: ({ spec }, old, context) => dropDisabledTemplateFields(spec.template, old.spec.template, context),
    validateUpdate: (controller, _old, context) => validate(controller, context),
    warningsOnUpdate: ({ spec }, old) => templateWarnings(spec.template, old.spec.template, TEMPLATE),
    defaultPropagation: () => 'orphan',
    selectableFieldLabels: ['status.replicas'],
    selectableFields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
  },
  status: {
    prepareForUpdate(controller, old) {
      controller.spec = old.spec
    },
    validateUpdate: (controller) => validateReplicaStatus(controller.status),
  },
  scale: { specReplicasPath: 'spec.replicas', statusReplicasPath: 'status.replicas', labelSelectorPath: 'spec.selector' },
  columns,
}
