import type { ReplicaSet } from '../../../api/apps/v1/types.generated.ts'
import { type ErrorList, FieldPath, invalid } from '../../../apimachinery/field.ts'
import { IMMUTABLE } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { containerTexts, formatSelector } from '../../columns.ts'
import { setPodTemplateDefaults } from '../../core/pod/defaults.ts'
import { templateWarnings } from '../../core/pod/warnings.ts'
import { REPLICA_COLUMNS } from '../../replica-columns.ts'
import { validateCounts, validateParts } from '../../replica-status.ts'
import {
  dropDisabledTemplateFields,
  nonNegative,
  shownSelector,
  templateOptions,
  validateSelectorAndTemplate,
  validateWorkloadTemplate,
} from '../../workload-template.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const TEMPLATE = SPEC.child('template')

/** The template may be missing where the type makes it optional. */
const templateOf = (set: ReplicaSet) => set.spec.template ?? { metadata: {}, spec: { containers: [] } }

function validateSpec(set: ReplicaSet, context: StrategyContext): ErrorList {
  const { spec } = set
  const errs = [...nonNegative(spec.replicas, SPEC.child('replicas')), ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds'))]
  return [
    ...errs,
    ...validateSelectorAndTemplate(spec.selector, SPEC, {
      kind: 'deployment',
      template: () => validateWorkloadTemplate(templateOf(set), spec.selector, 'ReplicaSet', TEMPLATE, templateOptions(context)),
    }),
  ]
}

export function validateReplicaStatus(status: object | undefined): ErrorList {
  const counts = { ...status }
  return [
    ...validateCounts(counts, ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration', 'terminatingReplicas'], STATUS),
    ...validateParts(counts, ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'], 'replicas', 'cannot be greater than status.replicas', STATUS),
    ...validateParts(counts, ['availableReplicas'], 'readyReplicas', 'cannot be greater than readyReplicas', STATUS),
  ]
}

const columns: TableColumns<ReplicaSet> = {
  columns: REPLICA_COLUMNS,
  cells({ metadata, spec, status }, now) {
    return [
      metadata.name ?? '',
      spec.replicas ?? 0,
      status?.replicas ?? 0,
      status?.readyReplicas ?? 0,
      ageOf(metadata.creationTimestamp, now),
      ...containerTexts(spec.template?.spec),
      formatSelector(spec.selector),
    ]
  },
}

export const replicaSetKind: KindRegistration<ReplicaSet> = {
  group: 'apps',
  resource: 'replicasets',
  storage: { group: 'apps', version: 'v1', kind: 'ReplicaSet' },
  strategy: {
    defaults({ spec }) {
      setPodTemplateDefaults(spec.template)
      spec.replicas ??= 1
    },
    prepareForCreate: ({ spec }, context) => dropDisabledTemplateFields(spec.template, undefined, context),
    validate: validateSpec,
    warningsOnCreate: ({ spec }) => templateWarnings(spec.template, undefined, TEMPLATE),
    prepareForUpdate: ({ spec }, old, context) => dropDisabledTemplateFields(spec.template, old.spec.template, context),
    validateUpdate(set, old, context) {
      const errs = validateSpec(set, context)
      if (!deepEqual(set.spec.selector, old.spec.selector)) errs.push(invalid(SPEC.child('selector'), shownSelector(set.spec.selector), IMMUTABLE))
      return errs
    },
    warningsOnUpdate: ({ spec }, old) => templateWarnings(spec.template, old.spec.template, TEMPLATE),
  },
  status: {
    prepareForUpdate(set, old) {
      set.spec = old.spec
    },
    validateUpdate: (set) => validateReplicaStatus(set.status),
  },
  scale: { specReplicasPath: 'spec.replicas', statusReplicasPath: 'status.replicas', labelSelectorPath: 'spec.selector' },
  columns,
}
