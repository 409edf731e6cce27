import type { StatefulSet } from '../../../api/apps/v1/types.generated.ts'
import type { PersistentVolumeClaim } from '../../../api/core/v1/types.generated.ts'
import { FieldPath } from '../../../apimachinery/field.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column, containerTexts } from '../../columns.ts'
import { setPodTemplateDefaults } from '../../core/pod/defaults.ts'
import { setClaimSpecDefaults } from '../../core/pod/volume-defaults.ts'
import { fractionalBytes, templateWarnings } from '../../core/pod/warnings.ts'
import { dropDisabledTemplateFields } from '../../workload-template.ts'
import { validateStatefulSetSpec, validateStatefulSetStatus, validateStatefulSetUpdate } from './validation.ts'

const SPEC = FieldPath.root('spec')
const TEMPLATE = SPEC.child('template')
const CLAIMS = SPEC.child('volumeClaimTemplates')

function setClaimDefaults(claim: PersistentVolumeClaim): void {
  claim.apiVersion = 'v1'
  claim.kind = 'PersistentVolumeClaim'
  setClaimSpecDefaults(claim.spec)
  claim.status ??= {}
  claim.status.phase ||= 'Pending'
}

function setDefaults({ spec }: StatefulSet): void {
  setPodTemplateDefaults(spec.template)
  for (const claim of spec.volumeClaimTemplates ?? []) setClaimDefaults(claim)
  spec.podManagementPolicy ||= 'OrderedReady'
  spec.updateStrategy ??= {}
  spec.updateStrategy.type ||= 'RollingUpdate'
  if (spec.updateStrategy.type === 'RollingUpdate') {
    spec.updateStrategy.rollingUpdate ??= {}
    spec.updateStrategy.rollingUpdate.partition ??= 0
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {}
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain'
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain'
  spec.replicas ??= 1
  spec.revisionHistoryLimit ??= 10
}

function prepare(set: StatefulSet, old: StatefulSet | undefined, context: StrategyContext): void {
  dropDisabledTemplateFields(set.spec.template, old?.spec.template, context)
  const inUse = old?.spec.updateStrategy.rollingUpdate?.maxUnavailable !== undefined
  if (!inUse && !context.isFeatureEnabled('MaxUnavailableStatefulSet') && set.spec.updateStrategy.rollingUpdate)
    delete set.spec.updateStrategy.rollingUpdate.maxUnavailable
}

function claimWarnings(set: StatefulSet, update: boolean): string[] {
  return (set.spec.volumeClaimTemplates ?? []).flatMap((claim, i) => {
    const at = update ? CLAIMS.index(i).child('Spec', 'resources') : CLAIMS.index(i).child('resources')
    return [
      ...fractionalBytes(claim.spec.resources?.requests, ['storage'], at.child('requests')),
      ...fractionalBytes(claim.spec.resources?.limits, ['storage'], at.child('limits')),
    ]
  })
}

function historyWarnings({ spec }: StatefulSet): string[] {
  return (spec.revisionHistoryLimit ?? 0) < 0
    ? ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']
    : []
}

const columns: TableColumns<StatefulSet> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the StatefulSet.' }),
    column('Ready', { description: 'Ready Pods of all that are wanted.' }),
    column('Age', { description: 'Time since creation.' }),
    column('Containers', { priority: 1, description: 'Names of the containers of the template.' }),
    column('Images', { priority: 1, description: 'Images of the containers of the template.' }),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name ?? '',
    `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    ageOf(metadata.creationTimestamp, now),
    ...containerTexts(spec.template.spec),
  ],
}

export const statefulSetKind: KindRegistration<StatefulSet> = {
  group: 'apps',
  resource: 'statefulsets',
  storage: { group: 'apps', version: 'v1', kind: 'StatefulSet' },
  strategy: {
    nameRule: 'label',
    defaults: setDefaults,
    prepareForCreate: (set, context) => prepare(set, undefined, context),
    validate: ({ spec }, context) => validateStatefulSetSpec(spec, context),
    warningsOnCreate: (set) => [...templateWarnings(set.spec.template, undefined, TEMPLATE), ...claimWarnings(set, false), ...historyWarnings(set)],
    prepareForUpdate: prepare,
    validateUpdate: validateStatefulSetUpdate,
    warningsOnUpdate: (set, old) => [...templateWarnings(set.spec.template, old.spec.template, TEMPLATE), ...claimWarnings(set, true), ...historyWarnings(set)],
  },
  status: {
    prepareForUpdate(set, old) {
      set.spec = old.spec
    },
    validateUpdate: validateStatefulSetStatus,
  },
  scale: { specReplicasPath: 'spec.replicas', statusReplicasPath: 'status.replicas', labelSelectorPath: 'spec.selector' },
  columns,
}
