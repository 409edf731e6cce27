import type { Job, JobSpec } from '../../../api/batch/v1/types.generated.ts'
import { type ErrorList, type FieldPath, invalid, notSupported, required, tooLong } from '../../../apimachinery/field.ts'
import { isDNS1123Label, isDNS1123Subdomain, longerThan, validateLabelSelector } from '../../../apimachinery/validation/index.ts'
import type { PodValidationOptions } from '../../core/pod/validation/options.ts'
import { validatePodTemplateSpec } from '../../core/pod/validation/pod.ts'
import { nonNegative, selectorMatches, shownLabels, shownSelector } from '../../workload-template.ts'
import { validateFailurePolicy, validateSuccessPolicy } from './policies.ts'

export const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid'
export const JOB_NAME = 'batch.kubernetes.io/job-name'
export const LEGACY_CONTROLLER_UID = 'controller-uid'
export const LEGACY_JOB_NAME = 'job-name'

const MAX_INDEXED = 100_000
const MAX_INDEXED_PER_INDEX = 10_000

function validateManagedBy(value: string, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const slash = value.indexOf('/')
  if (value === '') errs.push(required(path))
  else if (slash <= 0 || slash === value.length - 1) errs.push(invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")'))
  else for (const m of isDNS1123Subdomain(value.slice(0, slash))) errs.push(invalid(path, value.slice(0, slash), m))
  if (longerThan(value, 63)) errs.push(tooLong(path, 63))
  return errs
}

function validateCompletionMode(spec: JobSpec, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  const { completionMode: mode, completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec
  if (mode === undefined) return errs
  if (mode !== 'NonIndexed' && mode !== 'Indexed') errs.push(notSupported(path.child('completionMode'), mode, ['NonIndexed', 'Indexed']))
  if (mode === 'Indexed') {
    if (completions === undefined) errs.push(required(path.child('completions'), 'when completion mode is Indexed'))
    if (parallelism !== undefined && parallelism > MAX_INDEXED) {
      errs.push(invalid(path.child('parallelism'), parallelism, `must be less than or equal to ${MAX_INDEXED} when completion mode is Indexed`))
    }
    const at = path.child('maxFailedIndexes')
    if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
      errs.push(invalid(at, maxFailedIndexes, 'must be less than or equal to completions'))
    if (maxFailedIndexes !== undefined && maxFailedIndexes > MAX_INDEXED)
      errs.push(invalid(at, maxFailedIndexes, `must be less than or equal to ${MAX_INDEXED}`))
    if (completions !== undefined && completions > MAX_INDEXED && backoffLimitPerIndex !== undefined) {
      const text = `must be less than or equal to ${MAX_INDEXED_PER_INDEX} when completions are above ${MAX_INDEXED} and used with backoff limit per index`
      if (maxFailedIndexes === undefined) errs.push(required(at, `must be specified when completions is above ${MAX_INDEXED}`))
      if (parallelism !== undefined && parallelism > MAX_INDEXED_PER_INDEX) errs.push(invalid(path.child('parallelism'), parallelism, text))
      if (maxFailedIndexes !== undefined && maxFailedIndexes > MAX_INDEXED_PER_INDEX) errs.push(invalid(at, maxFailedIndexes, text))
    }
  }
  if (mode === 'NonIndexed') {
    if (backoffLimitPerIndex !== undefined) errs.push(invalid(path.child('backoffLimitPerIndex'), backoffLimitPerIndex, 'requires indexed completion mode'))
    if (maxFailedIndexes !== undefined) errs.push(invalid(path.child('maxFailedIndexes'), maxFailedIndexes, 'requires indexed completion mode'))
  }
  return errs
}

function shownSuccessPolicy(spec: JobSpec): unknown {
  return { Rules: (spec.successPolicy?.rules ?? []).map((r) => ({ SucceededIndexes: r.succeededIndexes ?? null, SucceededCount: r.succeededCount ?? null })) }
}

/** The rules for a Job's spec that also hold where it is a template. */
export function validateJobSpecFields(spec: JobSpec, path: FieldPath, options: PodValidationOptions): ErrorList {
  const errs: ErrorList = []
  for (const name of ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished', 'backoffLimitPerIndex'] as const) {
    errs.push(...nonNegative(spec[name], path.child(name)))
  }
  if (spec.maxFailedIndexes !== undefined) {
    errs.push(...nonNegative(spec.maxFailedIndexes, path.child('maxFailedIndexes')))
    if (spec.backoffLimitPerIndex === undefined) errs.push(required(path.child('backoffLimitPerIndex'), 'when maxFailedIndexes is specified'))
  }
  if (spec.managedBy !== undefined) errs.push(...validateManagedBy(spec.managedBy, path.child('managedBy')))
  errs.push(...validateCompletionMode(spec, path))
  if (spec.podFailurePolicy) errs.push(...validateFailurePolicy(spec.podFailurePolicy, spec, path.child('podFailurePolicy')))
  if (spec.successPolicy) {
    const at = path.child('successPolicy')
    if (spec.completionMode !== 'Indexed') errs.push(invalid(at, shownSuccessPolicy(spec), 'requires indexed completion mode'))
    else errs.push(...validateSuccessPolicy(spec.successPolicy, spec, at))
  }
  const replacement = spec.podReplacementPolicy
  if (replacement !== undefined) {
    const supported = spec.podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
    if (!supported.includes(replacement)) errs.push(notSupported(path.child('podReplacementPolicy'), replacement, supported))
  }
  errs.push(...validatePodTemplateSpec(spec.template, path.child('template'), options))
  const policy = spec.template.spec?.restartPolicy ?? ''
  const at = path.child('template', 'spec', 'restartPolicy')
  if (policy === '' || policy === 'Always') errs.push(required(at, 'valid values: "OnFailure", "Never"'))
  else if (policy !== 'OnFailure' && policy !== 'Never') errs.push(notSupported(at, policy, ['OnFailure', 'Never']))
  else if (spec.podFailurePolicy && policy !== 'Never') errs.push(invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified'))
  return errs
}

export function validateJobSpec(spec: JobSpec, path: FieldPath, options: PodValidationOptions): ErrorList {
  const errs = validateJobSpecFields(spec, path, options)
  if (!spec.selector) errs.push(required(path.child('selector')))
  else errs.push(...validateLabelSelector(spec.selector, path.child('selector')))
  const labels = spec.template.metadata?.labels
  if (!selectorMatches(spec.selector, labels)) {
    errs.push(invalid(path.child('template', 'metadata', 'labels'), shownLabels(labels), '`selector` does not match template `labels`'))
  }
  return errs
}

/** The selector and labels that the server made must be as it made them. */
export function validateGeneratedSelector(job: Job, path: FieldPath): ErrorList {
  const { spec, metadata } = job
  if (spec.manualSelector) return []
  if (!spec.selector) return []
  const errs: ErrorList = []
  const uid = metadata.uid ?? ''
  const labels = spec.template.metadata?.labels ?? {}
  const at = path.child('template', 'metadata', 'labels')
  const wanted: [string, string][] = [
    [LEGACY_CONTROLLER_UID, uid],
    [LEGACY_JOB_NAME, metadata.name ?? ''],
    [CONTROLLER_UID, uid],
    [JOB_NAME, metadata.name ?? ''],
  ]
  for (const [key, value] of wanted) {
    if (!Object.hasOwn(labels, key)) errs.push(required(at.key(key), `must be '${value}'`))
    else if (labels[key] !== value) errs.push(invalid(at.key(key), shownLabels(labels), `must be '${value}'`))
  }
  const match = spec.selector.matchLabels ?? {}
  const generated = Object.keys(match).length === 1 && match[CONTROLLER_UID] === uid && !spec.selector.matchExpressions?.length
  const legacy = Object.keys(match).length === 1 && match[LEGACY_CONTROLLER_UID] === uid && !spec.selector.matchExpressions?.length
  if (!generated && !legacy) errs.push(invalid(path.child('selector'), shownSelector(spec.selector), '`selector` not auto-generated'))
  return errs
}

/** Names of an indexed Job's Pods carry the index. */
export function validateIndexedName(job: Job, path: FieldPath): ErrorList {
  const { completionMode, completions } = job.spec
  if (completionMode !== 'Indexed' || completions === undefined || completions <= 0) return []
  const name = `${job.metadata.name}-${completions - 1}`
  return isDNS1123Label(name).length > 0 ? [invalid(path, job.metadata.name ?? '', `will not able to create pod with invalid DNS label: ${name}`)] : []
}
