import type { StatefulSet, StatefulSetSpec } from '../../../api/apps/v1/types.generated.ts'
import type { PodTemplateSpec, Volume } from '../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { isDNS1123Label } from '../../../apimachinery/validation/index.ts'
import type { StrategyContext } from '../../../apiserver/registry/strategy.ts'
import { deepEqual } from '../../../base/deep-freeze.ts'
import { validateClaimSpec } from '../../core/pod/validation/ephemeral-claim.ts'
import { validatePodTemplateSpec } from '../../core/pod/validation/pod.ts'
import { internalForm } from '../../internal-form.ts'
import { validateCollisionCount, validateCounts, validateParts } from '../../replica-status.ts'
import {
  intOrPercentValue,
  nonNegative,
  templateOptions,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateLastingTemplate,
  validateSelectorAndTemplate,
  validateTemplateLabels,
} from '../../workload-template.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const TEMPLATE = SPEC.child('template')

function validateUpdateStrategy(spec: StatefulSetSpec): ErrorList {
  const at = SPEC.child('updateStrategy')
  const { type, rollingUpdate } = spec.updateStrategy
  switch (type as string | undefined) {
    case undefined:
    case '':
      return [required(at)]
    case 'OnDelete':
      return rollingUpdate
        ? [invalid(at.child('rollingUpdate'), internalForm('RollingUpdateStatefulSet', rollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")]
        : []
    case 'RollingUpdate': {
      if (!rollingUpdate) return []
      const own = at.child('rollingUpdate')
      const errs = nonNegative(rollingUpdate.partition, own.child('partition'))
      const { maxUnavailable } = rollingUpdate
      if (maxUnavailable === undefined) return errs
      errs.push(...validateIntOrPercent(maxUnavailable, own.child('maxUnavailable')))
      if (intOrPercentValue(maxUnavailable) === 0) errs.push(invalid(own.child('maxUnavailable'), maxUnavailable, 'cannot be 0'))
      return [...errs, ...validateAtMost100Percent(maxUnavailable, own.child('maxUnavailable'))]
    }
    default:
      return [invalid(at, internalForm('StatefulSetUpdateStrategy', spec.updateStrategy), "must be 'RollingUpdate' or 'OnDelete'")]
  }
}

function validateRetention(spec: StatefulSetSpec): ErrorList {
  const policy = spec.persistentVolumeClaimRetentionPolicy
  if (!policy) return []
  const errs: ErrorList = []
  for (const name of ['whenDeleted', 'whenScaled'] as const) {
    const value = policy[name] ?? ''
    if (value !== 'Retain' && value !== 'Delete') errs.push(notSupported(SPEC.child('persistentVolumeClaimRetentionPolicy', name), value, ['Retain', 'Delete']))
  }
  return errs
}

/** The template as its Pods will be: claims of the set stand before, and in place of, its own volumes. */
function withClaims(spec: StatefulSetSpec): PodTemplateSpec {
  const claims = spec.volumeClaimTemplates ?? []
  if (claims.length === 0 || !spec.template.spec) return spec.template
  const volumes: Volume[] = claims.map((claim) => {
    const name = claim.metadata?.name ?? ''
    return { name, persistentVolumeClaim: { claimName: name } }
  })
  const names = new Set(volumes.map((v) => v.name))
  return { ...spec.template, spec: { ...spec.template.spec, volumes: [...volumes, ...(spec.template.spec.volumes ?? []).filter((v) => !names.has(v.name))] } }
}

export function validateStatefulSetSpec(spec: StatefulSetSpec, context: StrategyContext): ErrorList {
  const errs: ErrorList = []
  const policy = spec.podManagementPolicy
  if (!policy) errs.push(required(SPEC.child('podManagementPolicy')))
  else if (policy !== 'OrderedReady' && policy !== 'Parallel')
    errs.push(invalid(SPEC.child('podManagementPolicy'), policy, "must be 'OrderedReady' or 'Parallel'"))
  errs.push(...validateUpdateStrategy(spec), ...validateRetention(spec))
  errs.push(...nonNegative(spec.replicas, SPEC.child('replicas')), ...nonNegative(spec.minReadySeconds, SPEC.child('minReadySeconds')))
  errs.push(...nonNegative(spec.ordinals?.start, SPEC.child('ordinals', 'start')))
  spec.volumeClaimTemplates?.forEach((claim, i) => {
    errs.push(...validateClaimSpec(claim.spec, SPEC.child('volumeClaimTemplates').index(i).child('spec')))
  })
  errs.push(
    ...validateSelectorAndTemplate(spec.selector, SPEC, {
      kind: 'statefulset',
      invalidText: '',
      template: () => [
        ...validateTemplateLabels(spec.template, spec.selector, TEMPLATE),
        ...validatePodTemplateSpec(withClaims(spec), TEMPLATE, templateOptions(context)),
      ],
    }),
  )
  errs.push(...validateLastingTemplate(spec.template, 'StatefulSet', TEMPLATE))
  if (spec.serviceName) for (const m of isDNS1123Label(spec.serviceName)) errs.push(invalid(SPEC.child('serviceName'), spec.serviceName, m))
  return errs
}

const MUTABLE = ['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy', 'minReadySeconds']

export function validateStatefulSetUpdate(set: StatefulSet, old: StatefulSet, context: StrategyContext): ErrorList {
  const errs = validateStatefulSetSpec(set.spec, context)
  const fixed = (spec: StatefulSetSpec) => Object.fromEntries(Object.entries(spec).filter(([name]) => !MUTABLE.includes(name)))
  if (!deepEqual(fixed(set.spec), fixed(old.spec))) {
    errs.push(
      forbidden(
        SPEC,
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ),
    )
  }
  return errs
}

export function validateStatefulSetStatus(set: StatefulSet, old: StatefulSet): ErrorList {
  const status = { ...set.status }
  const errs = validateCounts(status, ['replicas', 'readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas', 'observedGeneration'], STATUS)
  errs.push(...nonNegative(set.status?.collisionCount, STATUS.child('collisionCount')))
  errs.push(
    ...validateParts(
      status,
      ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
      'replicas',
      'cannot be greater than status.replicas',
      STATUS,
    ),
  )
  errs.push(...validateParts(status, ['availableReplicas'], 'readyReplicas', 'cannot be greater than status.readyReplicas', STATUS))
  return [...errs, ...validateCollisionCount(status, { ...old.status }, STATUS)]
}
