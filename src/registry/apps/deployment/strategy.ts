import type { Deployment, DeploymentSpec, DeploymentStrategy } from '../../../api/apps/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { IMMUTABLE } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column, containerTexts, selectorText } from '../../columns.ts'
import { setPodTemplateDefaults } from '../../core/pod/defaults.ts'
import { templateWarnings } from '../../core/pod/warnings.ts'
import { internalForm } from '../../internal-form.ts'
import { validateCollisionCount, validateCounts, validateParts } from '../../replica-status.ts'
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

function setDefaults(deployment: Deployment): void {
  const { spec } = deployment
  setPodTemplateDefaults(spec.template)
  spec.replicas ??= 1
  spec.strategy ??= {}
  spec.strategy.type ||= 'RollingUpdate'
  if (spec.strategy.type === 'RollingUpdate') {
    spec.strategy.rollingUpdate ??= {}
    spec.strategy.rollingUpdate.maxUnavailable ??= '25%'
    spec.strategy.rollingUpdate.maxSurge ??= '25%'
  }
  spec.revisionHistoryLimit ??= 10
  spec.progressDeadlineSeconds ??= 600
}

function validateStrategy(strategy: DeploymentStrategy, path: FieldPath): ErrorList {
  const rolling = strategy.rollingUpdate
  const at = path.child('rollingUpdate')
  switch (strategy.type as string) {
    case 'Recreate':
      return rolling ? [forbidden(at, "may not be specified when strategy `type` is 'Recreate'")] : []
    case 'RollingUpdate': {
      if (!rolling) return [required(at, 'this should be defaulted and never be nil')]
      const errs = [
        ...validateIntOrPercent(rolling.maxUnavailable, at.child('maxUnavailable')),
        ...validateIntOrPercent(rolling.maxSurge, at.child('maxSurge')),
      ]
      if (intOrPercentValue(rolling.maxUnavailable) === 0 && intOrPercentValue(rolling.maxSurge) === 0) {
        errs.push(invalid(at.child('maxUnavailable'), rolling.maxUnavailable, 'may not be 0 when `maxSurge` is 0'))
      }
      return [...errs, ...validateAtMost100Percent(rolling.maxUnavailable, at.child('maxUnavailable'))]
    }
    default:
      return [notSupported(path, internalForm('DeploymentStrategy', strategy), ['Recreate', 'RollingUpdate'])]
  }
}

function validateSpec(spec: DeploymentSpec, context: StrategyContext): ErrorList {
  const errs = nonNegative(spec.replicas, SPEC.child('replicas'))
  errs.push(
    ...validateSelectorAndTemplate(spec.selector, SPEC, {
      kind: 'deployment',
      template: () => validateWorkloadTemplate(spec.template, spec.selector, 'ReplicaSet', TEMPLATE, templateOptions(context)),
    }),
  )
  errs.push(...validateStrategy(spec.strategy, SPEC.child('strategy')))
  errs.push(...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')), ...nonNegative(spec.revisionHistoryLimit, SPEC.child('revisionHistoryLimit')))
  const deadline = spec.progressDeadlineSeconds
  if (deadline !== undefined) {
    const at = SPEC.child('progressDeadlineSeconds')
    errs.push(...nonNegative(deadline, at))
    if (deadline <= (spec.minReadySeconds ?? 0)) errs.push(invalid(at, deadline, 'must be greater than minReadySeconds'))
  }
  return errs
}

const PARTS = ['updatedReplicas', 'readyReplicas', 'availableReplicas']

function validateStatus(deployment: Deployment, old: Deployment): ErrorList {
  const status = { ...deployment.status }
  const errs = validateCounts(
    status,
    ['observedGeneration', 'replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas', 'unavailableReplicas'],
    STATUS,
  )
  errs.push(...nonNegative(deployment.status?.terminatingReplicas, STATUS.child('terminatingReplicas')))
  errs.push(...nonNegative(deployment.status?.collisionCount, STATUS.child('collisionCount')))
  errs.push(...validateParts(status, PARTS, 'replicas', 'cannot be greater than status.replicas', STATUS))
  errs.push(...validateParts(status, ['availableReplicas'], 'readyReplicas', 'cannot be greater than readyReplicas', STATUS))
  return [...errs, ...validateCollisionCount(status, { ...old.status }, STATUS)]
}

const columns: TableColumns<Deployment> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the Deployment.' }),
    column('Ready', { description: 'Ready Pods of all that are wanted.' }),
    column('Up-to-date', { description: 'Pods made from the present template.' }),
    column('Available', { description: 'Pods that have been ready long enough.' }),
    column('Age', { description: 'Time since creation.' }),
    column('Containers', { priority: 1, description: 'Names of the containers of the template.' }),
    column('Images', { priority: 1, description: 'Images of the containers of the template.' }),
    column('Selector', { priority: 1, description: 'Label selector of the Pods.' }),
  ],
  cells({ metadata, spec, status }, now) {
    return [
      metadata.name ?? '',
      `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
      status?.updatedReplicas ?? 0,
      status?.availableReplicas ?? 0,
      ageOf(metadata.creationTimestamp, now),
      ...containerTexts(spec.template.spec),
      selectorText(spec.selector) ?? '<invalid>',
    ]
  },
}

export const deploymentKind: KindRegistration<Deployment> = {
  group: 'apps',
  resource: 'deployments',
  storage: { group: 'apps', version: 'v1', kind: 'Deployment' },
  strategy: {
    defaults: setDefaults,
    prepareForCreate: ({ spec }, context) => dropDisabledTemplateFields(spec.template, undefined, context),
    validate: (deployment, context) => validateSpec(deployment.spec, context),
    warningsOnCreate: ({ spec }) => templateWarnings(spec.template, undefined, TEMPLATE),
    prepareForUpdate: ({ spec }, old, context) => dropDisabledTemplateFields(spec.template, old.spec.template, context),
    validateUpdate(deployment, old, context) {
      const errs = validateSpec(deployment.spec, context)
      if (!deepEqual(deployment.spec.selector, old.spec.selector))
        errs.push(invalid(SPEC.child('selector'), shownSelector(deployment.spec.selector), IMMUTABLE))
      return errs
    },
    warningsOnUpdate: ({ spec }, old) => templateWarnings(spec.template, old.spec.template, TEMPLATE),
  },
  status: {
    prepareForUpdate(deployment, old) {
      deployment.spec = old.spec
      if (old.metadata.labels) deployment.metadata.labels = old.metadata.labels
      else delete deployment.metadata.labels
    },
    validateUpdate: validateStatus,
  },
  scale: { specReplicasPath: 'spec.replicas', statusReplicasPath: 'status.replicas', labelSelectorPath: 'spec.selector' },
  columns,
}
