import type { Pod, PodCondition, PodStatus } from '../../../api/core/v1/types.generated.ts'
import { formatTime } from '../../../apimachinery/time.ts'
import type { KindRegistration, Strategy, StrategyContext, SubresourceStrategy } from '../../../apiserver/registry/strategy.ts'
import { computeQOSClass } from '../../../component-helpers/qos.ts'
import { podColumns } from './columns.ts'
import { setPodDefaults, syncServiceAccount, syncStatusIPs } from './defaults.ts'
import { dropDisabledFields } from './disabled-fields.ts'
import { applyMatchLabelKeys } from './match-label-keys.ts'
import type { PodValidationOptions } from './validation/options.ts'
import { validatePodCreate } from './validation/pod.ts'
import { resizedPod, validateEphemeralUpdate, validatePodResize } from './validation/resize.ts'
import { validatePodStatusUpdate } from './validation/status.ts'
import { validatePodUpdate } from './validation/update.ts'
import { podUpdateWarnings, podWarnings } from './warnings.ts'

const optionsOf = (context: StrategyContext): PodValidationOptions => ({ isPod: true, isFeatureEnabled: (gate) => context.isFeatureEnabled(gate) })

/** Negative grace periods mean one second. */
function clampGracePeriod(pod: Pod): void {
  if ((pod.spec?.terminationGracePeriodSeconds ?? 0) < 0 && pod.spec) pod.spec.terminationGracePeriodSeconds = 1
}

const SELECTABLE = [
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'spec.hostNetwork',
  'status.phase',
  'status.podIP',
  'status.podIPs',
  'status.nominatedNodeName',
  'spec.host',
]

export const podStrategy: Strategy<Pod> = {
  nameRule: 'subdomain',
  returnDeletedObject: true,
  statusOnMain: 'keep',
  generation: 'spec',
  defaults: setPodDefaults,

  prepareForCreate(pod, context) {
    clampGracePeriod(pod)
    pod.status = { phase: 'Pending', qosClass: computeQOSClass(pod) }
    if (pod.spec?.schedulingGates?.length) {
      const condition = {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        lastTransitionTime: formatTime(context.now()),
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      }
      pod.status.conditions = [condition as unknown as PodCondition]
    }
    dropDisabledFields(pod.spec, undefined, (gate) => context.isFeatureEnabled(gate))
    applyMatchLabelKeys(pod, (gate) => context.isFeatureEnabled(gate))
  },
  validate: (pod, context) => validatePodCreate(pod, optionsOf(context)),
  warningsOnCreate: (pod) => podWarnings(pod),

  prepareForUpdate(pod, old, context) {
    pod.status = old.status
    dropDisabledFields(pod.spec, old.spec, (gate) => context.isFeatureEnabled(gate))
    clampGracePeriod(pod)
  },
  validateUpdate: (pod, old, context) => validatePodUpdate(pod, old, optionsOf(context)),
  warningsOnUpdate: (pod, old) => podUpdateWarnings(pod, old),

  canonicalize(pod) {
    if (pod.spec) syncServiceAccount(pod.spec)
  },

  gracefulDeletionSeconds(pod, options) {
    let period = options.gracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 0
    if (!pod.spec?.nodeName || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') period = 0
    return period < 0 ? 1 : period
  },

  selectableFieldLabels: SELECTABLE,
  selectableFields(pod) {
    return {
      'spec.nodeName': pod.spec?.nodeName ?? '',
      'spec.host': pod.spec?.nodeName ?? '',
      'spec.restartPolicy': pod.spec?.restartPolicy ?? '',
      'spec.schedulerName': pod.spec?.schedulerName ?? '',
      'spec.serviceAccountName': pod.spec?.serviceAccountName ?? '',
      'spec.hostNetwork': String(pod.spec?.hostNetwork ?? false),
      'status.phase': pod.status?.phase ?? '',
      'status.podIP': pod.status?.podIPs?.[0]?.ip ?? '',
      'status.podIPs': '',
      'status.nominatedNodeName': pod.status?.nominatedNodeName ?? '',
    }
  },
}

/** Generations that a status update leaves out are those last reported. */
function keepObservedGenerations(status: PodStatus, old: PodStatus | undefined): void {
  if (!status.observedGeneration && old?.observedGeneration) status.observedGeneration = old.observedGeneration
  for (const condition of status.conditions ?? []) {
    const before = old?.conditions?.find((c) => c.type === condition.type)
    if (!condition.observedGeneration && before?.observedGeneration) condition.observedGeneration = before.observedGeneration
  }
}

export const podStatusStrategy: SubresourceStrategy<Pod> = {
  prepareForUpdate(pod, old) {
    pod.spec = old.spec
    if (old.metadata.ownerReferences) pod.metadata.ownerReferences = old.metadata.ownerReferences
    else delete pod.metadata.ownerReferences
    pod.status ??= {}
    if (!pod.status.qosClass) {
      if (old.status?.qosClass) pod.status.qosClass = old.status.qosClass
    }
    keepObservedGenerations(pod.status, old.status)
    syncStatusIPs(pod.status)
  },
  validateUpdate: validatePodStatusUpdate,
}

const keepMetadata = (pod: Pod, old: Pod): void => {
  const { resourceVersion, managedFields } = pod.metadata
  pod.metadata = { ...old.metadata }
  if (resourceVersion !== undefined) pod.metadata.resourceVersion = resourceVersion
  if (managedFields !== undefined) pod.metadata.managedFields = managedFields
}

const ephemeralContainers: SubresourceStrategy<Pod> = {
  prepareForUpdate(pod, old) {
    const added = pod.spec?.ephemeralContainers
    keepMetadata(pod, old)
    pod.status = old.status
    pod.spec = { ...(old.spec as NonNullable<Pod['spec']>) }
    if (added?.length) pod.spec.ephemeralContainers = added
    else delete pod.spec.ephemeralContainers
  },
  validateUpdate: (pod, old, context) => validateEphemeralUpdate(pod, old, optionsOf(context)),
  warningsOnUpdate: (pod, old) => podUpdateWarnings(pod, old),
}

const resize: SubresourceStrategy<Pod> = {
  prepareForUpdate(pod, old) {
    const spec = resizedPod(pod, old)
    keepMetadata(pod, old)
    pod.status = old.status
    pod.spec = spec
  },
  validateUpdate: (pod, old, context) => validatePodResize(pod, old, optionsOf(context)),
  warningsOnUpdate: (pod, old) => podUpdateWarnings(pod, old),
}

export const podKind: KindRegistration<Pod> = {
  group: '',
  resource: 'pods',
  storage: { group: '', version: 'v1', kind: 'Pod' },
  strategy: podStrategy,
  status: podStatusStrategy,
  subresources: { ephemeralcontainers: ephemeralContainers, resize },
  columns: podColumns,
}
