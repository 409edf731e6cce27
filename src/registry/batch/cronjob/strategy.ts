import type { CronJob } from '../../../api/batch/v1/types.generated.ts'
import { type ErrorList, FieldPath, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { isDNS1123Label, nameIsDNSSubdomain } from '../../../apimachinery/validation/index.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { parseCron } from '../../../component-helpers/cron-schedule.ts'
import { column, containerTexts, formatSelector } from '../../columns.ts'
import { setPodTemplateDefaults } from '../../core/pod/defaults.ts'
import { templateWarnings } from '../../core/pod/warnings.ts'
import { dropDisabledTemplateFields, nonNegative, shownSelector, templateOptions } from '../../workload-template.ts'
import { validateJobSpecFields } from '../job/validation.ts'

const SPEC = FieldPath.root('spec')
const JOB_SPEC = SPEC.child('jobTemplate', 'spec')
const TEMPLATE = JOB_SPEC.child('template')
/** 63 without the 11 characters that the names of its Jobs get. */
const MAX_NAME = 52
const POLICIES = ['Allow', 'Forbid', 'Replace']

function setDefaults({ spec }: CronJob): void {
  setPodTemplateDefaults(spec.jobTemplate.spec.template)
  for (const rule of spec.jobTemplate.spec.podFailurePolicy?.rules ?? []) for (const condition of rule.onPodConditions ?? []) condition.status ||= 'True'
  spec.concurrencyPolicy ||= 'Allow'
  spec.suspend ??= false
  spec.successfulJobsHistoryLimit ??= 3
  spec.failedJobsHistoryLimit ??= 1
}

const hasZone = (schedule: string): boolean => schedule.includes('TZ')

function validateSchedule(schedule: string, timeZone: string | undefined, allowZone: boolean, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  try {
    parseCron(schedule.replace(/^(?:CRON_)?TZ=\S+\s+/, ''))
  } catch (error) {
    errs.push(invalid(path, schedule, (error as Error).message))
  }
  if (!hasZone(schedule)) return errs
  if (!allowZone) errs.push(invalid(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'))
  else if (timeZone !== undefined) errs.push(invalid(path, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'))
  return errs
}

/** Names of zones are case-sensitive, unlike what the platform's own lookup says. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Z][A-Za-z0-9+_-]*(?:\/[A-Z][A-Za-z0-9+_-]*)*$/.test(name)) return false
  try {
    const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    return known === name || known.toLowerCase() !== name.toLowerCase()
  } catch {
    return false
  }
}

function validateTimeZone(name: string | undefined, path: FieldPath): ErrorList {
  if (name === undefined) return []
  if (name === '') return [invalid(path, name, 'timeZone must be nil or non-empty string')]
  const errs: ErrorList = []
  if (name.toLowerCase() === 'local') errs.push(invalid(path, name, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'))
  if (name !== 'Local' && !isTimeZone(name)) errs.push(invalid(path, name, `unknown time zone ${name}`))
  return errs
}

function validate({ spec }: CronJob, old: CronJob | undefined, context: StrategyContext): ErrorList {
  const errs: ErrorList = []
  const at = SPEC.child('schedule')
  if (!spec.schedule) errs.push(required(at))
  else errs.push(...validateSchedule(spec.schedule, spec.timeZone, old !== undefined && hasZone(old.spec.schedule), at))
  errs.push(...nonNegative(spec.startingDeadlineSeconds, SPEC.child('startingDeadlineSeconds')))
  if (!old || old.spec.timeZone !== spec.timeZone) errs.push(...validateTimeZone(spec.timeZone, SPEC.child('timeZone')))
  const policy: string = spec.concurrencyPolicy ?? ''
  if (policy === '') errs.push(required(SPEC.child('concurrencyPolicy')))
  else if (!POLICIES.includes(policy)) errs.push(notSupported(SPEC.child('concurrencyPolicy'), policy, POLICIES))
  const job = spec.jobTemplate.spec
  errs.push(...validateJobSpecFields(job, JOB_SPEC, templateOptions(context)))
  if (job.manualSelector) errs.push(notSupported(JOB_SPEC.child('manualSelector'), true, ['nil', 'false']))
  if (job.selector) errs.push(invalid(JOB_SPEC.child('selector'), shownSelector(job.selector), '`selector` will be auto-generated'))
  errs.push(...nonNegative(spec.successfulJobsHistoryLimit, SPEC.child('successfulJobsHistoryLimit')))
  errs.push(...nonNegative(spec.failedJobsHistoryLimit, SPEC.child('failedJobsHistoryLimit')))
  return errs
}

function nameWarnings(name: string): string[] {
  const messages = isDNS1123Label(name)
  return messages.length === 0
    ? []
    : [`metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`]
}

const ZONE_WARNING =
  'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details'

const columns: TableColumns<CronJob> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the CronJob.' }),
    column('Schedule', { description: 'When Jobs are made.' }),
    column('Timezone', { description: 'Time zone of the schedule.' }),
    column('Suspend', { type: 'boolean', description: 'No more Jobs are made.' }),
    column('Active', { type: 'integer', description: 'Jobs that run now.' }),
    column('Last Schedule', { description: 'Time since a Job was last made.' }),
    column('Age', { description: 'Time since creation.' }),
    column('Containers', { priority: 1, description: 'Names of the containers of the template.' }),
    column('Images', { priority: 1, description: 'Images of the containers of the template.' }),
    column('Selector', { priority: 1, description: 'Label selector of the Jobs.' }),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name ?? '',
    spec.schedule,
    spec.timeZone ?? '<none>',
    spec.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False',
    status?.active?.length ?? 0,
    status?.lastScheduleTime ? ageOf(status.lastScheduleTime, now) : '<none>',
    ageOf(metadata.creationTimestamp, now),
    ...containerTexts(spec.jobTemplate.spec.template.spec),
    formatSelector(spec.jobTemplate.spec.selector),
  ],
}

export const cronJobKind: KindRegistration<CronJob> = {
  group: 'batch',
  resource: 'cronjobs',
  storage: { group: 'batch', version: 'v1', kind: 'CronJob' },
  strategy: {
    nameRule: nameIsDNSSubdomain,
    defaults: setDefaults,
    prepareForCreate: ({ spec }, context) => dropDisabledTemplateFields(spec.jobTemplate.spec.template, undefined, context),
    validate(cronJob, context) {
      const name = cronJob.metadata.name ?? ''
      const errs = validate(cronJob, undefined, context)
      if (name.length > MAX_NAME) errs.push(invalid(FieldPath.root('metadata', 'name'), name, `must be no more than ${MAX_NAME} characters`))
      return errs
    },
    warningsOnCreate: ({ metadata, spec }) => [...nameWarnings(metadata.name ?? ''), ...templateWarnings(spec.jobTemplate.spec.template, undefined, TEMPLATE)],
    prepareForUpdate: ({ spec }, old, context) => dropDisabledTemplateFields(spec.jobTemplate.spec.template, old.spec.jobTemplate.spec.template, context),
    validateUpdate: validate,
    warningsOnUpdate: ({ spec }, old) => [
      ...templateWarnings(spec.jobTemplate.spec.template, old.spec.jobTemplate.spec.template, TEMPLATE),
      ...(hasZone(spec.schedule) ? [ZONE_WARNING] : []),
    ],
  },
  status: {
    prepareForUpdate(cronJob, old) {
      cronJob.spec = old.spec
    },
  },
  columns,
}
