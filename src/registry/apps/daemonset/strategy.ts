import type { DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy } from '../../../api/apps/v1/types.generated.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { IMMUTABLE } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column, containerTexts, formatSelector, labelsText } from '../../columns.ts'
import { setPodTemplateDefaults } from '../../core/pod/defaults.ts'
import { templateWarnings } from '../../core/pod/warnings.ts'
import { internalForm } from '../../internal-form.ts'
import { validateCollisionCount, validateCounts } from '../../replica-status.ts'
import {
  dropDisabledTemplateFields,
  intOrPercentValue,
  nonNegative,
  shownSelector,
  templateOptions,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateSelectorAndTemplate,
  validateWorkloadTemplate,
} from '../../workload-template.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const TEMPLATE = SPEC.child('template')

/** Counts changes of the template; nodes' Pods of older releases were labelled with it. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

function setDefaults({ spec }: DaemonSet): void {
  setPodTemplateDefaults(spec.template)
  spec.updateStrategy ??= {}
  spec.updateStrategy.type ||= 'RollingUpdate'
  if (spec.updateStrategy.type === 'RollingUpdate') spec.updateStrategy.rollingUpdate ??= {}
  const rolling = spec.updateStrategy.rollingUpdate
  if (rolling) {
    rolling.maxUnavailable ??= 1
    rolling.maxSurge ??= 0
  }
  spec.revisionHistoryLimit ??= 10
}

function validateUpdateStrategy(strategy: DaemonSetUpdateStrategy, path: FieldPath): ErrorList {
  if (strategy.type === 'OnDelete') return []
  if (strategy.type !== 'RollingUpdate') return [notSupported(path, internalForm('DaemonSetUpdateStrategy', strategy), ['RollingUpdate', 'OnDelete'])]
  const at = path.child('rollingUpdate')
  const rolling = strategy.rollingUpdate
  if (!rolling) return [required(at)]
  const unavailable = intOrPercentValue(rolling.maxUnavailable) !== 0
  const surge = intOrPercentValue(rolling.maxSurge) !== 0
  const errs: ErrorList = []
  if (unavailable && surge) errs.push(invalid(at.child('maxSurge'), rolling.maxSurge, 'may not be set when maxUnavailable is non-zero'))
  else if (!unavailable && !surge) errs.push(required(at.child('maxUnavailable'), 'cannot be 0 when maxSurge is 0'))
  for (const name of ['maxUnavailable', 'maxSurge'] as const) {
    errs.push(...validateIntOrPercent(rolling[name], at.child(name)), ...validateAtMost100Percent(rolling[name], at.child(name)))
  }
  return errs
}

function validateSpec(spec: DaemonSetSpec, context: StrategyContext): ErrorList {
  return [
    ...validateSelectorAndTemplate(spec.selector, SPEC, {
      kind: 'daemonset',
      required: false,
      template: () => validateWorkloadTemplate(spec.template, spec.selector, 'DaemonSet', TEMPLATE, templateOptions(context)),
    }),
    ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')),
    ...validateUpdateStrategy(spec.updateStrategy, SPEC.child('updateStrategy')),
    ...nonNegative(spec.revisionHistoryLimit, SPEC.child('revisionHistoryLimit')),
  ]
}

const COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
]

function validateStatus({ status }: DaemonSet, old: DaemonSet): ErrorList {
  const errs = validateCounts({ ...status }, COUNTS, STATUS)
  errs.push(...nonNegative(status?.collisionCount, STATUS.child('collisionCount')))
  return [...errs, ...validateCollisionCount({ ...status }, { ...old.status }, STATUS)]
}

const columns: TableColumns<DaemonSet> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the DaemonSet.' }),
    column('Desired', { type: 'integer', description: 'Nodes that should run a Pod of it.' }),
    column('Current', { type: 'integer', description: 'Nodes that run a Pod and should.' }),
    column('Ready', { type: 'integer', description: 'Nodes whose Pod is ready.' }),
    column('Up-to-date', { type: 'integer', description: 'Nodes whose Pod is made from the present template.' }),
    column('Available', { type: 'integer', description: 'Nodes whose Pod has been ready long enough.' }),
    column('Node Selector', { description: 'Labels a node must have.' }),
    column('Age', { description: 'Time since creation.' }),
    column('Containers', { priority: 1, description: 'Names of the containers of the template.' }),
    column('Images', { priority: 1, description: 'Images of the containers of the template.' }),
    column('Selector', { priority: 1, description: 'Label selector of the Pods.' }),
  ],
  cells({ metadata, spec, status }, now) {
    return [
      metadata.name ?? '',
      status?.desiredNumberScheduled ?? 0,
      status?.currentNumberScheduled ?? 0,
      status?.numberReady ?? 0,
      status?.updatedNumberScheduled ?? 0,
      status?.numberAvailable ?? 0,
      labelsText(spec.template.spec?.nodeSelector),
      ageOf(metadata.creationTimestamp, now),
      ...containerTexts(spec.template.spec),
      formatSelector(spec.selector),
    ]
  },
}

const generationOf = (set: DaemonSet): number => Number.parseInt(set.metadata.annotations?.[TEMPLATE_GENERATION] ?? '0', 10) || 0

export const daemonSetKind: KindRegistration<DaemonSet> = {
  group: 'apps',
  resource: 'daemonsets',
  storage: { group: 'apps', version: 'v1', kind: 'DaemonSet' },
  strategy: {
    defaults: setDefaults,
    prepareForCreate(set, context) {
      dropDisabledTemplateFields(set.spec.template, undefined, context)
      set.metadata.annotations = { ...set.metadata.annotations, [TEMPLATE_GENERATION]: String(Math.max(1, generationOf(set))) }
    },
    validate: ({ spec }, context) => validateSpec(spec, context),
    warningsOnCreate: ({ spec }) => templateWarnings(spec.template, undefined, TEMPLATE),
    prepareForUpdate(set, old, context) {
      dropDisabledTemplateFields(set.spec.template, old.spec.template, context)
      const changed = !deepEqual(set.spec.template, old.spec.template)
      set.metadata.annotations = { ...set.metadata.annotations, [TEMPLATE_GENERATION]: String(generationOf(old) + (changed ? 1 : 0)) }
    },
    validateUpdate(set, old, context) {
      const errs: ErrorList = deepEqual(set.spec.selector, old.spec.selector)
        ? []
        : [invalid(SPEC.child('selector'), shownSelector(set.spec.selector), IMMUTABLE)]
      return [...errs, ...validateSpec(set.spec, context)]
    },
    warningsOnUpdate: ({ spec }, old) => templateWarnings(spec.template, old.spec.template, TEMPLATE),
  },
  status: {
    prepareForUpdate(set, old) {
      set.spec = old.spec
    },
    validateUpdate: validateStatus,
  },
  columns,
}
