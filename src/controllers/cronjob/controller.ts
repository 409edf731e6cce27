import type { CronJob, Job } from '../../api/batch/v1/types.generated.ts'
import type { ObjectReference } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { formatTime, timeMs } from '../../apimachinery/time.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, type EventType, type Informer, referenceTo } from '../../client/index.ts'
import { type CronSchedule, parseCron } from '../../component-helpers/cron-schedule.ts'
import {
  Controller,
  type ControllerContext,
  controlledBy,
  controllerOf,
  controllerRef,
  indexByController,
  type ReconcileResult,
  WriteTracker,
} from '../../controller-runtime/index.ts'
import { mostRecent, nextRun } from './missed-times.ts'

const SCHEDULED_AT = 'batch.kubernetes.io/cronjob-scheduled-timestamp'
const TZ_DOCS = 'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/'
/** Past the due time by a little, so that it has come by every clock. */
const SLACK_MS = 100

const endedAs = (job: Job): string | undefined =>
  job.status.conditions?.find((c) => (c.type === 'Complete' || c.type === 'Failed') && c.status === 'True')?.type

/** Makes Jobs at the times of a schedule. */
export class CronJobController {
  private readonly context: ControllerContext
  private readonly crons: Informer<CronJob>
  private readonly jobs: Informer<Job>
  private readonly recorder: EventRecorder
  private readonly writes: WriteTracker<CronJob>
  private readonly jobWrites: WriteTracker<Job>
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    const { informers, clock, events } = context
    this.crons = informers.informer(resources.batchv1.cronjobs)
    this.jobs = informers.informer(resources.batchv1.jobs)
    indexByController(this.jobs)
    this.recorder = events.recorder('cronjob-controller')
    this.controller = new Controller(context, { name: 'cronjob-controller', informers: [this.crons, this.jobs], reconcile: (key) => this.reconcile(key) })
    const { queue } = this.controller
    this.writes = new WriteTracker(clock, this.crons, (key) => queue.add(key))
    this.jobWrites = new WriteTracker(clock, this.jobs, (key) => queue.add(key))
    const enqueue = (cron: CronJob) => queue.add(objectKey(cron))
    this.crons.addHandler({ onAdd: enqueue, onUpdate: (_, cron) => enqueue(cron), onDelete: enqueue })
    const jobChanged = (job: Job) => {
      const ref = controllerOf(job)
      if (ref?.kind === 'CronJob') queue.add(`${job.metadata.namespace}/${ref.name}`)
    }
    this.jobs.addHandler({ onAdd: jobChanged, onUpdate: (_, job) => jobChanged(job), onDelete: jobChanged })
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private event(cron: CronJob, type: EventType, reason: string, message: string): void {
    this.recorder.event(referenceTo(resources.batchv1.cronjobs, cron), type, reason, message)
  }

  private async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const found = this.crons.lister.get(key)
    if (!found || this.writes.stale(key) || this.jobWrites.stale(key)) return
    const cron = deepCopy(found)
    const jobs = controlledBy(this.jobs.lister, cron.metadata.uid)
    await this.cleanUp(cron, jobs)
    await this.refreshActive(cron, jobs)
    let result: ReconcileResult | undefined
    let error: unknown
    let failed = false
    try {
      if (!cron.metadata.deletionTimestamp && !cron.spec.suspend) result = await this.runDue(key, cron, jobs)
    } catch (e) {
      failed = true
      error = e
    }
    if (!deepEqual(cron.status, found.status)) {
      const written = await this.context.client.resource(resources.batchv1.cronjobs).namespace(cron.metadata.namespace).updateStatus(cron)
      this.writes.written(key, written)
    }
    if (failed) throw error
    return result
  }

  /** Brings status.active and the time of the last success up to date. */
  private async refreshActive(cron: CronJob, jobs: readonly Job[]): Promise<void> {
    let active = [...(cron.status.active ?? [])]
    const owned = new Map(jobs.map((j) => [j.metadata.uid, j]))
    for (const job of jobs) {
      const name = job.metadata.name ?? ''
      const listed = active.some((r) => r.uid === job.metadata.uid)
      const ended = endedAs(job)
      if (!listed && !ended) {
        // A Job made by hand from the template, or one whose listing was lost.
        const fresh = await this.context.client
          .resource(resources.batchv1.cronjobs)
          .namespace(cron.metadata.namespace)
          .get(cron.metadata.name ?? '')
        if (fresh.status.active?.some((r) => r.uid === job.metadata.uid)) active.push(refTo(job))
        else this.event(cron, 'Warning', 'UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`)
      } else if (listed && ended) {
        active = active.filter((r) => r.uid !== job.metadata.uid)
        this.event(cron, 'Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${ended}`)
      }
      if (ended === 'Complete' && job.status.completionTime && (cron.status.lastSuccessfulTime ?? '') < job.status.completionTime) {
        cron.status.lastSuccessfulTime = job.status.completionTime
      }
    }
    for (const ref of [...active]) {
      if (owned.has(ref.uid ?? '')) continue
      try {
        await this.context.client
          .resource(resources.batchv1.jobs)
          .namespace(cron.metadata.namespace)
          .get(ref.name ?? '')
      } catch (error) {
        if (!isNotFound(error)) throw error
        this.event(cron, 'Normal', 'MissingJob', `Active job went missing: ${ref.name}`)
        active = active.filter((r) => r !== ref)
      }
    }
    setActive(cron, active)
  }

  private scheduleOf(cron: CronJob): CronSchedule | undefined {
    const { schedule, timeZone } = cron.spec
    const inline = /^(CRON_)?TZ=(\S+)\s+(.*)$/.exec(schedule)
    if (inline)
      this.event(
        cron,
        'Warning',
        'UnsupportedSchedule',
        `CRON_TZ or TZ used in schedule ${quote(schedule)} is not officially supported, see ${TZ_DOCS} for more details`,
      )
    try {
      return parseCron(inline?.[3] ?? schedule, timeZone ?? inline?.[2] ?? 'UTC')
    } catch (error) {
      if (error instanceof RangeError)
        this.event(cron, 'Warning', 'UnknownTimeZone', `invalid timeZone: ${quote(timeZone ?? '')}: unknown time zone ${timeZone}`)
      else this.event(cron, 'Warning', 'UnparseableSchedule', `unparseable schedule: ${quote(schedule)} : ${(error as Error).message}`)
      return undefined
    }
  }

  private async runDue(key: string, cron: CronJob, jobs: readonly Job[]): Promise<ReconcileResult | undefined> {
    const now = this.context.clock.now()
    const schedule = this.scheduleOf(cron)
    if (!schedule) return
    const due = mostRecent(cron, now, schedule)
    if (due.invalid) {
      this.event(cron, 'Warning', 'InvalidSchedule', `invalid schedule: ${cron.spec.schedule} : ${due.invalid}`)
      return
    }
    if (due.tooMany) {
      this.event(cron, 'Warning', 'TooManyMissedTimes', 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew')
    }
    const next = nextRun(cron, now, schedule)
    const again = next === undefined ? undefined : { requeueAfterMs: Math.max(1, next + SLACK_MS - now) }
    if (due.at === undefined) return again
    const deadline = cron.spec.startingDeadlineSeconds
    if (deadline !== undefined && due.at + deadline * 1000 < now) {
      this.event(cron, 'Warning', 'MissSchedule', `Missed scheduled time to start a job: ${rfc1123(due.at)}`)
      return again
    }
    const name = `${cron.metadata.name}-${Math.floor(due.at / 60_000)}`
    if (cron.status.active?.some((r) => r.name === name) || cron.status.lastScheduleTime === formatTime(due.at)) return again
    if (cron.spec.concurrencyPolicy === 'Forbid' && cron.status.active?.length) {
      this.event(cron, 'Normal', 'JobAlreadyActive', 'Not starting job because prior execution is running and concurrency policy is Forbid')
      return again
    }
    if (cron.spec.concurrencyPolicy === 'Replace') {
      for (const ref of [...(cron.status.active ?? [])]) {
        const job = jobs.find((j) => j.metadata.uid === ref.uid)
        if (job) await this.remove(cron, job)
        setActive(
          cron,
          (cron.status.active ?? []).filter((r) => r !== ref),
        )
      }
    }
    const made = await this.make(key, cron, name, due.at)
    if (made) {
      setActive(cron, [...(cron.status.active ?? []), refTo(made)])
      cron.status.lastScheduleTime = formatTime(due.at)
    }
    return again
  }

  private async make(key: string, cron: CronJob, name: string, at: number): Promise<Job | undefined> {
    const { metadata, spec } = deepCopy(cron.spec.jobTemplate)
    const client = this.context.client.resource(resources.batchv1.jobs).namespace(cron.metadata.namespace)
    const job = {
      metadata: {
        name,
        namespace: cron.metadata.namespace,
        ...(metadata?.labels ? { labels: metadata.labels } : {}),
        annotations: { ...metadata?.annotations, [SCHEDULED_AT]: zonedTime(at, cron.spec.timeZone) },
        ownerReferences: [controllerRef(resources.batchv1.cronjobs, cron)],
      },
      spec,
    } as unknown as Job
    try {
      const made = await client.create(job)
      this.jobWrites.written(key, made)
      this.event(cron, 'Normal', 'SuccessfulCreate', `Created job ${name}`)
      return made
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined
      if (isAlreadyExists(error)) {
        const existing = await client.get(name)
        return controllerOf(existing)?.uid === cron.metadata.uid && !endedAs(existing) ? existing : undefined
      }
      this.event(cron, 'Warning', 'FailedCreate', `Error creating job: ${(error as Error).message}`)
      throw error
    }
  }

  private async remove(cron: CronJob, job: Job): Promise<void> {
    try {
      await this.context.client
        .resource(resources.batchv1.jobs)
        .namespace(job.metadata.namespace)
        .delete(job.metadata.name ?? '', { propagationPolicy: 'Background' })
      this.event(cron, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
    } catch (error) {
      if (isNotFound(error)) return
      this.event(cron, 'Warning', 'FailedDelete', `Deleted job: ${(error as Error).message}`)
      throw error
    }
  }

  /** Keeps as many finished Jobs as the limits say, the latest. */
  private async cleanUp(cron: CronJob, jobs: readonly Job[]): Promise<void> {
    for (const [kind, limit] of [
      ['Complete', cron.spec.successfulJobsHistoryLimit],
      ['Failed', cron.spec.failedJobsHistoryLimit],
    ] as const) {
      if (limit === undefined) continue
      const ended = jobs.filter((j) => endedAs(j) === kind && !j.metadata.deletionTimestamp)
      ended.sort(
        (a, b) => (timeMs(a.status.startTime) ?? 0) - (timeMs(b.status.startTime) ?? 0) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
      )
      for (const job of ended.slice(0, Math.max(0, ended.length - limit))) {
        await this.remove(cron, job)
        setActive(
          cron,
          (cron.status.active ?? []).filter((r) => r.uid !== job.metadata.uid),
        )
      }
    }
  }
}

function setActive(cron: CronJob, active: ObjectReference[]): void {
  if (active.length > 0) cron.status.active = active
  else delete cron.status.active
}

function refTo(job: Job): ObjectReference {
  return referenceTo(resources.batchv1.jobs, job)
}

/** `Thu, 01 Jan 2026 00:00:00 +0000`. */
function rfc1123(ms: number): string {
  return new Date(ms).toUTCString().replace('GMT', '+0000')
}

/** RFC 3339 in the zone of the CronJob. */
function zonedTime(ms: number, timeZone: string | undefined): string {
  if (!timeZone || timeZone === 'UTC' || timeZone === 'Etc/UTC') return formatTime(ms)
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
      .formatToParts(ms)
      .map((p) => [p.type, p.value]),
  )
  const local = `${parts['year']}-${parts['month']}-${parts['day']}T${parts['hour']}:${parts['minute']}:${parts['second']}`
  const offset = Math.round((Date.parse(`${local}Z`) - ms) / 60_000)
  if (offset === 0) return `${local}Z`
  const two = (n: number) => String(n).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
}
