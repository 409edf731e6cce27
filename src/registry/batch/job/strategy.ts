import type { Job, JobSpec } from '../../../api/batch/v1/types.generated.ts'
import { humanDuration } from '../../../apimachinery/duration.ts'
import { type ErrorList, FieldPath, invalid } from '../../../apimachinery/field.ts'
import { IMMUTABLE, isDNS1123Label } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../../../base/deep-freeze.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { column, containerTexts, formatSelector } from '../../columns.ts'
import { setPodTemplateDefaults } from '../../core/pod/defaults.ts'
import { templateWarnings } from '../../core/pod/warnings.ts'
import { dropDisabledTemplateFields, shownSelector, templateOptions } from '../../workload-template.ts'
import { validateJobStatusUpdate } from './status.ts'
import {
  CONTROLLER_UID,
  JOB_NAME,
  LEGACY_CONTROLLER_UID,
  LEGACY_JOB_NAME,
  validateGeneratedSelector,
  validateIndexedName,
  validateJobSpec,
} from './validation.ts'

const SPEC = FieldPath.root('spec')
const NAME = FieldPath.root('metadata', 'name')
const TEMPLATE = SPEC.child('template')
const MAX_INT32 = 2147483647

export function setJobSpecDefaults(spec: JobSpec): void {
  setPodTemplateDefaults(spec.template)
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  spec.parallelism ??= 1
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : MAX_INT32
  spec.completionMode ??= 'NonIndexed'
  spec.suspend ??= false
  spec.manualSelector ??= false
  // An empty list comes back as none at all.
  if (spec.podFailurePolicy?.rules?.length === 0) spec.podFailurePolicy.rules = null as never
  for (const rule of spec.podFailurePolicy?.rules ?? []) for (const condition of rule.onPodConditions ?? []) condition.status ||= 'True'
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed'
}

/** Gives the Job's Pods a label of their own and selects them by it, unless the user takes that on. */
function generateSelector(job: Job): void {
  const { spec, metadata } = job
  if (spec.manualSelector) return
  const uid = metadata.uid ?? ''
  const name = metadata.name ?? ''
  spec.template.metadata ??= {}
  spec.template.metadata.labels = {
    [CONTROLLER_UID]: uid,
    [JOB_NAME]: name,
    [LEGACY_CONTROLLER_UID]: uid,
    [LEGACY_JOB_NAME]: name,
    ...spec.template.metadata.labels,
  }
  spec.selector = { ...spec.selector, matchLabels: { [CONTROLLER_UID]: uid, ...spec.selector?.matchLabels } }
}

function validate(job: Job, context: StrategyContext): ErrorList {
  return [...validateGeneratedSelector(job, SPEC), ...validateJobSpec(job.spec, SPEC, templateOptions(context)), ...validateIndexedName(job, NAME)]
}

const hasCondition = (job: Job, type: string): boolean => job.status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false

/** A suspended Job that runs nothing may still be told where its Pods shall go. */
function mayChangeTemplate(old: Job): boolean {
  return old.spec.suspend === true && (old.status?.active ?? 0) === 0 && (old.status?.startTime === undefined || hasCondition(old, 'Suspended'))
}

function validateTemplateUpdate(job: Job, old: Job): ErrorList {
  if (deepEqual(job.spec.template, old.spec.template)) return []
  const at = TEMPLATE
  if (!mayChangeTemplate(old)) return [invalid(at, job.spec.template, IMMUTABLE)]
  const munged = deepCopy(job.spec.template)
  const before = old.spec.template
  if (before.metadata)
    munged.metadata = {
      ...munged.metadata,
      ...(before.metadata.labels ? { labels: before.metadata.labels } : {}),
      ...(before.metadata.annotations ? { annotations: before.metadata.annotations } : {}),
    }
  if (!before.metadata?.labels) delete munged.metadata?.labels
  if (!before.metadata?.annotations) delete munged.metadata?.annotations
  const spec = munged.spec
  if (spec && before.spec) {
    for (const name of ['nodeSelector', 'tolerations', 'schedulingGates', 'affinity'] as const) {
      if (before.spec[name] === undefined) delete spec[name]
      else spec[name] = before.spec[name] as never
    }
    spec.containers.forEach((container, i) => {
      const own = before.spec?.containers[i]
      if (own) container.resources = own.resources
    })
    spec.initContainers?.forEach((container, i) => {
      const own = before.spec?.initContainers?.[i]
      if (own) container.resources = own.resources
    })
  }
  return deepEqual(munged, before) ? [] : [invalid(at.child('spec'), job.spec.template.spec, IMMUTABLE)]
}

function validateCompletionsUpdate(spec: JobSpec, old: JobSpec): ErrorList {
  if (spec.completions === old.completions) return []
  const at = SPEC.child('completions')
  if (spec.completionMode === 'Indexed' && spec.completions === undefined) return []
  if (spec.completionMode !== 'Indexed' || spec.completions === undefined || old.completions === undefined)
    return [invalid(at, spec.completions ?? null, IMMUTABLE)]
  return spec.completions === spec.parallelism ? [] : [invalid(at, spec.completions, 'can only be modified in tandem with spec.parallelism')]
}

function validateUpdate(job: Job, old: Job, context: StrategyContext): ErrorList {
  const errs = [...validateGeneratedSelector(job, SPEC), ...validateJobSpec(job.spec, SPEC, templateOptions(context))]
  const immutable = (name: 'completionMode' | 'podFailurePolicy' | 'backoffLimitPerIndex' | 'managedBy' | 'successPolicy') => {
    if (!deepEqual(job.spec[name], old.spec[name])) errs.push(invalid(SPEC.child(name), job.spec[name] ?? null, IMMUTABLE))
  }
  errs.push(...validateCompletionsUpdate(job.spec, old.spec))
  if (!deepEqual(job.spec.selector, old.spec.selector)) errs.push(invalid(SPEC.child('selector'), shownSelector(job.spec.selector), IMMUTABLE))
  errs.push(...validateTemplateUpdate(job, old))
  for (const name of ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'] as const) immutable(name)
  return errs
}

function warningsOnCreate(job: Job): string[] {
  const out: string[] = []
  const messages = isDNS1123Label(job.metadata.name ?? '')
  if (messages.length > 0) {
    out.push(
      `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`,
    )
  }
  const { completionMode, completions = 0, parallelism = 0 } = job.spec
  if (completionMode === 'Indexed' && completions > 100_000 && parallelism > 10_000) {
    out.push(
      'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail',
    )
  }
  return [...out, ...templateWarnings(job.spec.template, undefined, TEMPLATE)]
}

function statusText(job: Job): string {
  if (hasCondition(job, 'Complete')) return 'Complete'
  if (hasCondition(job, 'Failed')) return 'Failed'
  if (job.metadata.deletionTimestamp) return 'Terminating'
  for (const type of ['Suspended', 'FailureTarget', 'SuccessCriteriaMet']) if (hasCondition(job, type)) return type
  return 'Running'
}

function completionsText({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`
  const parallelism = spec.parallelism ?? 0
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationText({ status }: Job, now: number): string {
  if (!status?.startTime) return ''
  const end = status.completionTime ? Date.parse(status.completionTime) : now
  return humanDuration(end - Date.parse(status.startTime))
}

const columns: TableColumns<Job> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the Job.' }),
    column('Status', { description: 'How far the Job is.' }),
    column('Completions', { description: 'Pods that succeeded, of all that shall.' }),
    column('Duration', { description: 'Time from start to end, or until now.' }),
    column('Age', { description: 'Time since creation.' }),
    column('Containers', { priority: 1, description: 'Names of the containers of the template.' }),
    column('Images', { priority: 1, description: 'Images of the containers of the template.' }),
    column('Selector', { priority: 1, description: 'Label selector of the Pods.' }),
  ],
  cells: (job, now) => [
    job.metadata.name ?? '',
    statusText(job),
    completionsText(job),
    durationText(job, now),
    ageOf(job.metadata.creationTimestamp, now),
    ...containerTexts(job.spec.template.spec),
    formatSelector(job.spec.selector),
  ],
}

const CHILDREN_STAY =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning'

export const jobKind: KindRegistration<Job> = {
  group: 'batch',
  resource: 'jobs',
  storage: { group: 'batch', version: 'v1', kind: 'Job' },
  strategy: {
    defaults: ({ spec }) => setJobSpecDefaults(spec),
    prepareForCreate(job, context) {
      generateSelector(job)
      dropDisabledTemplateFields(job.spec.template, undefined, context)
    },
    validate,
    canonicalize(job) {
      const labels = job.spec.template.metadata?.labels
      if (labels && Object.keys(job.metadata.labels ?? {}).length === 0) job.metadata.labels = { ...labels }
    },
    warningsOnCreate,
    prepareForUpdate: (job, old, context) => dropDisabledTemplateFields(job.spec.template, old.spec.template, context),
    validateUpdate,
    warningsOnUpdate: ({ spec }, old) => templateWarnings(spec.template, old.spec.template, TEMPLATE),
    defaultPropagation: () => 'orphan',
    warningsOnDelete: (_job, options) => (options.propagationPolicy === undefined && options.orphanDependents === undefined ? [CHILDREN_STAY] : []),
    selectableFieldLabels: ['status.successful'],
    selectableFields: ({ status }) => ({ 'status.successful': String(status?.succeeded ?? 0) }),
  },
  status: {
    prepareForUpdate(job, old) {
      job.spec = old.spec
    },
    validateUpdate: validateJobStatusUpdate,
  },
  columns,
}
