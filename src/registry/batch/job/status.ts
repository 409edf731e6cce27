import type { Job } from '../../../api/batch/v1/types.generated.ts'
import { duplicate, type ErrorList, FieldPath, invalid, required } from '../../../apimachinery/field.ts'
import { nonNegative } from '../../workload-template.ts'
import { countIndexes } from './indexes.ts'
import { refused } from './policies.ts'

const STATUS = FieldPath.root('status')
const CONDITIONS = STATUS.child('conditions')

const has = (job: Job, type: string): boolean => job.status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false

function validateCounts({ status = {} }: Job): ErrorList {
  const errs: ErrorList = []
  for (const name of ['active', 'succeeded', 'failed', 'terminating'] as const) errs.push(...nonNegative(status[name], STATUS.child(name)))
  if (status.ready !== undefined) {
    errs.push(...nonNegative(status.ready, STATUS.child('ready')))
    if (status.ready > (status.active ?? 0)) errs.push(invalid(STATUS.child('ready'), status.ready, 'cannot set more ready pods than active'))
  }
  const uncounted = status.uncountedTerminatedPods
  const seen = new Set<string>()
  for (const name of ['succeeded', 'failed'] as const) {
    uncounted?.[name]?.forEach((uid, i) => {
      const at = STATUS.child('uncountedTerminatedPods', name).index(i)
      if (uid === '') errs.push(invalid(at, uid, 'must not be empty'))
      else if (seen.has(uid)) errs.push(duplicate(at, uid))
      seen.add(uid)
    })
  }
  return errs
}

/** Every index of a text that has been parsed already. */
function indexesOf(text: string): Set<number> {
  const out = new Set<number>()
  for (const part of text === '' ? [] : text.split(',')) {
    const [first = 0, last = first] = part.split('-').map(Number)
    for (let i = first; i <= last; i++) out.add(i)
  }
  return out
}

function validateIndexes({ spec, status = {} }: Job): ErrorList {
  const errs: ErrorList = []
  const completed = status.completedIndexes ?? ''
  const failed = status.failedIndexes
  if (spec.completionMode !== 'Indexed') {
    if (completed !== '')
      errs.push(invalid(STATUS.child('completedIndexes'), completed, 'cannot set non-empty completedIndexes when non-indexed completion mode'))
  }
  if (failed !== undefined && spec.backoffLimitPerIndex === undefined) {
    errs.push(invalid(STATUS.child('failedIndexes'), failed, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null'))
  }
  if (spec.completionMode !== 'Indexed') return errs
  const read = (name: 'completedIndexes' | 'failedIndexes', text: string): boolean => {
    try {
      countIndexes(text, spec.completions ?? 0)
      return true
    } catch (error) {
      errs.push(invalid(STATUS.child(name), text, `error parsing ${name}: ${(error as Error).message}`))
      return false
    }
  }
  const readable = read('completedIndexes', completed)
  if (failed === undefined || !read('failedIndexes', failed) || !readable) return errs
  const done = indexesOf(completed)
  const both = [...indexesOf(failed)].find((i) => done.has(i))
  if (both !== undefined) errs.push(invalid(STATUS.child('failedIndexes'), failed, `failedIndexes and completedIndexes overlap at index: ${both}`))
  return errs
}

function validateEnd(job: Job, old: Job): ErrorList {
  const errs: ErrorList = []
  const { status = {}, spec } = job
  const complete = has(job, 'Complete')
  const failed = has(job, 'Failed')
  const target = has(job, 'FailureTarget')
  const success = has(job, 'SuccessCriteriaMet')
  const clash = (text: string) => errs.push(refused(CONDITIONS, text))
  if (complete && failed) clash('cannot set Complete=True and Failed=true conditions')
  if (complete && target) clash('cannot set Complete=True and FailureTarget=true conditions')
  const at = STATUS.child('completionTime')
  if (status.completionTime) {
    if (!complete) errs.push(invalid(at, status.completionTime, 'cannot set completionTime when there is no Complete=True condition'))
    else if (status.startTime && Date.parse(status.completionTime) < Date.parse(status.startTime))
      errs.push(invalid(at, status.completionTime, 'must be equal to or after `startTime`'))
  } else if (complete) errs.push(required(at, 'completionTime is required for Complete jobs'))
  if ((complete || failed) && !status.startTime) errs.push(required(STATUS.child('startTime'), 'startTime is required for finished job'))
  if (failed && !has(old, 'Failed') && !target) clash('cannot set Failed=True condition without the FailureTarget=true condition')
  if (complete && !has(old, 'Complete') && !success) clash('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  if (success && spec.completionMode !== 'Indexed' && spec.successPolicy) clash('cannot set SuccessCriteriaMet to NonIndexed Job')
  if (success && failed) clash('cannot set SuccessCriteriaMet=True and Failed=true conditions')
  if (success && target) clash('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions')
  if (complete || failed) {
    for (const name of ['active', 'terminating'] as const) {
      const value = status[name] ?? 0
      if (value > 0) errs.push(invalid(STATUS.child(name), value, `${name}>0 is invalid for finished job`))
    }
    const { succeeded = [], failed: lost = [] } = status.uncountedTerminatedPods ?? {}
    if (succeeded.length + lost.length > 0)
      errs.push(invalid(STATUS.child('uncountedTerminatedPods'), status.uncountedTerminatedPods, 'must be empty for finished job'))
  }
  for (const type of ['Complete', 'Failed']) if (has(old, type) && !has(job, type)) clash(`cannot disable the terminal ${type}=True condition`)
  if (has(old, 'SuccessCriteriaMet') && !success) clash('cannot disable the SuccessCriteriaMet=True condition')
  return errs
}

/** What the status of a Job may become: counters grow, the end is final and complete. */
export function validateJobStatusUpdate(job: Job, old: Job): ErrorList {
  const errs = [...validateCounts(job), ...validateIndexes(job), ...validateEnd(job, old)]
  const { status = {} } = job
  const before = old.status ?? {}
  const shrinks = (name: 'failed' | 'succeeded') => {
    if ((status[name] ?? 0) < (before[name] ?? 0)) errs.push(invalid(STATUS.child(name), status[name] ?? 0, `cannot decrease the ${name} counter`))
  }
  shrinks('failed')
  shrinks('succeeded')
  if (before.startTime && status.startTime !== before.startTime && !job.spec.suspend) {
    errs.push(invalid(STATUS.child('startTime'), status.startTime ?? null, 'field is immutable for unsuspended job once set'))
  }
  return errs
}
