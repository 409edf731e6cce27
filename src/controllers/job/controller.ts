import type { Job, JobStatus } from '../../api/batch/v1/types.generated.ts'
import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { formatTime, timeMs } from '../../apimachinery/time.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, ExponentialLimiter, type Informer, referenceTo } from '../../client/index.ts'
import { isPodReady, isPodTerminal, isPodTerminating } from '../../component-helpers/pod-conditions.ts'
import {
  allOf,
  Controller,
  type ControllerContext,
  claim,
  claimable,
  controlledBy,
  controllerOf,
  Expectations,
  indexByController,
  type ReconcileResult,
  slowStartBatch,
  WriteTracker,
} from '../../controller-runtime/index.ts'
import { compareActivePods } from '../../controller-runtime/pods/deletion-order.ts'
import { PodControl } from '../../controller-runtime/pods/pod-control.ts'
import { PodBackoff } from './backoff.ts'
import { jobPod, TRACKING_FINALIZER } from './pod-template.ts'
import { Round } from './round.ts'
import { hasCondition, isFinished, isIndexed, jobCondition, type Verdict } from './verdict.ts'

const MAX_BATCH = 500
const POD_UPDATE_BATCH_MS = 1000
const MANAGER = 'kubernetes.io/job-controller'

/** Runs Pods until enough of them have succeeded, and counts each exactly once by its finalizer. */
export class JobController {
  private readonly context: ControllerContext
  private readonly jobs: Informer<Job>
  private readonly pods: Informer<Pod>
  private readonly recorder: EventRecorder
  private readonly control: PodControl
  private readonly expectations: Expectations
  private readonly writes: WriteTracker<Job>
  private readonly backoff = new PodBackoff()
  private readonly controller: Controller
  private readonly orphans: Controller
  /** Uids whose finalizer was taken off and which the informer may still show with it. */
  private readonly released = new Set<string>()

  constructor(context: ControllerContext) {
    this.context = context
    const { informers, clock, client, events } = context
    this.jobs = informers.informer(resources.batchv1.jobs)
    this.pods = informers.informer(resources.corev1.pods)
    indexByController(this.pods)
    this.recorder = events.recorder('job-controller')
    this.control = new PodControl(client, this.recorder)
    this.expectations = new Expectations(clock)
    const limiter = () => new ExponentialLimiter(1000, 60_000)
    this.controller = new Controller(context, {
      name: 'job-controller',
      limiter: limiter(),
      informers: [this.jobs, this.pods],
      reconcile: (key) => this.reconcile(key),
    })
    this.orphans = new Controller(context, {
      name: 'job-orphan-pods',
      workers: 1,
      limiter: limiter(),
      informers: [this.jobs, this.pods],
      reconcile: (key) => this.releaseOrphan(key),
    })
    const { queue } = this.controller
    this.writes = new WriteTracker(clock, this.jobs, (key) => queue.add(key))
    this.jobs.addHandler({
      onAdd: (job) => queue.add(objectKey(job)),
      onUpdate: (_, job) => queue.add(objectKey(job)),
      onDelete: (job) => {
        this.expectations.forget(objectKey(job))
        this.backoff.forget(objectKey(job))
        for (const pod of controlledBy(this.pods.lister, job.metadata.uid)) this.orphans.queue.add(objectKey(pod))
      },
    })
    this.pods.addHandler({
      onAdd: (pod) => this.podChanged(pod, true),
      onUpdate: (before, pod) => {
        if (!pod.metadata.finalizers?.includes(TRACKING_FINALIZER)) this.released.delete(pod.metadata.uid ?? '')
        const old = controllerOf(before)
        if (old && old.uid !== controllerOf(pod)?.uid) this.podChanged(before, false)
        this.podChanged(pod, false)
      },
      onDelete: (pod) => {
        this.released.delete(pod.metadata.uid ?? '')
        this.podChanged(pod, false)
      },
    })
  }

  async run(): Promise<void> {
    await Promise.all([this.controller.run(), this.orphans.run()])
  }

  private podChanged(pod: Pod, added: boolean): void {
    const ref = controllerOf(pod)
    const tracked = pod.metadata.finalizers?.includes(TRACKING_FINALIZER)
    if (ref?.kind !== 'Job') {
      if (tracked && !ref) this.orphans.queue.add(objectKey(pod))
      if (!ref)
        for (const job of this.jobs.lister.inNamespace(pod.metadata.namespace))
          if (matches(job, pod)) this.controller.queue.addAfter(objectKey(job), POD_UPDATE_BATCH_MS)
      return
    }
    const job = this.jobs.lister.get(`${pod.metadata.namespace}/${ref.name}`)
    if (job?.metadata.uid !== ref.uid) {
      if (tracked) this.orphans.queue.add(objectKey(pod))
      return
    }
    const key = objectKey(job)
    if (added && !pod.metadata.deletionTimestamp) this.expectations.creationSeen(key)
    if (pod.metadata.deletionTimestamp || !tracked) this.expectations.deletionSeen(key, pod.metadata.uid ?? '')
    // Several Pods that change together are one look at the Job.
    this.controller.queue.addAfter(key, POD_UPDATE_BATCH_MS)
  }

  /** A Pod whose Job is gone, or that left it, would keep its finalizer for ever. */
  private async releaseOrphan(key: string): Promise<void> {
    const pod = this.pods.lister.get(key)
    if (!pod?.metadata.finalizers?.includes(TRACKING_FINALIZER)) return
    const ref = controllerOf(pod)
    if (ref?.kind === 'Job') {
      try {
        const job = await this.context.client.resource(resources.batchv1.jobs).namespace(pod.metadata.namespace).get(ref.name)
        if (job.metadata.uid === ref.uid) return
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
    await this.release(pod)
  }

  private async release(pod: Pod): Promise<void> {
    try {
      await this.context.client
        .resource(resources.corev1.pods)
        .namespace(pod.metadata.namespace)
        .patch(pod.metadata.name ?? '', 'strategic', { metadata: { uid: pod.metadata.uid, '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    this.released.add(pod.metadata.uid ?? '')
  }

  private isTracked(pod: Pod): boolean {
    return (pod.metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false) && !this.released.has(pod.metadata.uid ?? '')
  }

  private async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const { client, clock } = this.context
    const job = this.jobs.lister.get(key)
    if (!job || (job.spec.managedBy ?? MANAGER) !== MANAGER || this.writes.stale(key)) return
    if (isFinished(job)) return
    const about = referenceTo(resources.batchv1.jobs, job)
    const mode = job.spec.completionMode
    if (mode && mode !== 'NonIndexed' && mode !== 'Indexed') {
      this.recorder.event(about, 'Warning', 'UnknownCompletionMode', 'Skipped Job sync because completion mode is unknown')
      return
    }
    const now = clock.now()
    const candidates = claimable(this.pods.lister, job)
    const pods = await claim(candidates, {
      client,
      owner: job,
      ownerHandle: resources.batchv1.jobs,
      handle: resources.corev1.pods,
      selector: selectorFromLabelSelector(job.spec.selector),
      adoptable: (pod) => !isPodTerminal(pod),
      finalizers: [TRACKING_FINALIZER],
    })
    const status: JobStatus = deepCopy(job.status)
    const toTell = this.startOrStop(job, status, now)
    const round = new Round(job, status, pods, (pod) => this.isTracked(pod), now)
    this.backoff.note(key, round.fresh.succeeded, round.fresh.failed)
    const verdict = round.verdict()
    let active = round.active
    let error: unknown
    let after: number | undefined
    if (job.metadata.deletionTimestamp) {
      // Nothing is made or ended for a Job that goes.
    } else if (verdict) {
      const removal = await this.removePods(key, job, active)
      error = removal
      if (removal === undefined) active = []
    } else if (this.expectations.satisfied(key)) {
      const managed = await this.manage(key, job, round, now)
      active = managed.active
      error = managed.error
      if (managed.afterMs !== undefined) after = Math.min(after ?? managed.afterMs, managed.afterMs)
    }
    // Told after what it made happen.
    if (toTell) this.recorder.event(about, 'Normal', toTell.reason, toTell.message)
    status.active = managedCount(active.length)
    if (status.active === undefined) delete status.active
    status.ready = active.filter(isPodReady).length
    status.terminating =
      job.spec.suspend || verdict
        ? pods.filter((p) => isPodTerminating(p)).length + (round.active.length - active.length)
        : pods.filter((p) => isPodTerminating(p)).length
    await this.track(key, job, status, round, verdict, pods)
    if (error !== undefined) throw error
    const deadline = job.spec.activeDeadlineSeconds
    const started = timeMs(status.startTime)
    if (deadline !== undefined && started !== undefined && !verdict && !job.spec.suspend) {
      const left = Math.max(1, started + deadline * 1000 - now)
      after = Math.min(after ?? left, left)
    }
    return after === undefined ? undefined : { requeueAfterMs: after }
  }

  /** Sets start time and the Suspended condition; returns the event of a change. */
  private startOrStop(job: Job, status: JobStatus, now: number): { reason: string; message: string } | undefined {
    const old = status.conditions?.find((c) => c.type === 'Suspended')
    const set = (value: string, reason: string, message: string) => {
      const condition = jobCondition('Suspended', value, reason, message, now)
      status.conditions = old ? (status.conditions ?? []).map((c) => (c === old ? condition : c)) : [...(status.conditions ?? []), condition]
      return { reason: value === 'True' ? 'Suspended' : 'Resumed', message }
    }
    if (job.spec.suspend) {
      delete status.startTime
      return old?.status === 'True' ? undefined : set('True', 'JobSuspended', 'Job suspended')
    }
    const resumed = old?.status === 'True' ? set('False', 'JobResumed', 'Job resumed') : undefined
    if (resumed) status.startTime = formatTime(now)
    status.startTime ??= formatTime(now)
    return resumed
  }

  private async manage(key: string, job: Job, round: Round, now: number): Promise<{ active: Pod[]; error?: unknown; afterMs?: number }> {
    const { active } = round
    const parallelism = job.spec.parallelism ?? 1
    if (job.spec.suspend) {
      const error = await this.removePods(key, job, active, true)
      return { active: error === undefined ? [] : active, error }
    }
    const wanted = round.wantedActive(parallelism)
    const surplus = active.length - wanted
    const misfits = isIndexed(job) ? round.misfits() : []
    if (surplus > 0 || misfits.length > 0) {
      const order = [...active].filter((p) => !misfits.includes(p)).sort(compareActivePods)
      const victims = [...misfits, ...order.slice(0, Math.max(0, surplus - misfits.length))].slice(0, MAX_BATCH)
      const error = await this.removePods(key, job, victims, true)
      return { active: error === undefined ? active.filter((p) => !victims.includes(p)) : active, error }
    }
    let missing = wanted - active.length
    if ((job.spec.podReplacementPolicy ?? (job.spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed')) === 'Failed') missing -= round.terminating
    if (missing <= 0) return { active }
    const wait = this.backoff.remaining(key, now)
    if (wait > 0 && job.spec.backoffLimitPerIndex === undefined) return { active, afterMs: wait }
    const count = Math.min(missing, MAX_BATCH)
    const indexes = isIndexed(job) ? round.missingIndexes(count) : undefined
    const total = indexes ? indexes.length : count
    if (total === 0) return { active }
    this.expectations.expect(key, total)
    const made: Pod[] = []
    const { succeeded, error } = await slowStartBatch(total, async (i) => {
      try {
        const index = indexes?.[i]
        made.push(
          await this.control.create(jobPod(job, index, index === undefined ? {} : round.replacementCounts(index)), referenceTo(resources.batchv1.jobs, job)),
        )
      } catch (e) {
        if (!isNamespaceTerminating(e)) throw e
      }
    })
    if (succeeded < total) this.expectations.creationSeen(key, total - succeeded)
    return { active: [...active, ...made], error }
  }

  /** @param uncounted the Pods are not failures of the Job: their finalizer goes first */
  private async removePods(key: string, job: Job, pods: readonly Pod[], uncounted = false): Promise<unknown> {
    if (pods.length === 0) return undefined
    this.expectations.expect(
      key,
      0,
      pods.map((p) => p.metadata.uid ?? ''),
    )
    return allOf(pods, async (pod) => {
      try {
        if (uncounted) await this.release(pod)
        await this.control.delete(pod.metadata.name ?? '', referenceTo(resources.batchv1.jobs, job))
      } catch (error) {
        this.expectations.deletionSeen(key, pod.metadata.uid ?? '')
        if (!isNotFound(error)) throw error
      }
    })
  }

  /** Counts ended Pods in two steps, uid first and number later, so that a crash between them counts none twice. */
  private async track(key: string, job: Job, status: JobStatus, round: Round, verdict: Verdict | undefined, pods: readonly Pod[]): Promise<void> {
    const { clock } = this.context
    if (verdict && !hasCondition(status, verdict.type)) {
      status.conditions = [...(status.conditions ?? []), jobCondition(verdict.type, 'True', verdict.reason, verdict.message, clock.now())]
    }
    const ended = round.limited(verdict ? round.endedWith(pods) : round.fresh)
    round.count(status, ended)
    const release = [...ended.succeeded, ...ended.failed]
    let current = job
    if (!deepEqual(status, job.status)) current = await this.write(key, current, status)
    if (release.length > 0 || round.hasUncounted(status)) {
      const error = await allOf(
        release.filter((pod) => !round.mustStay(pod)),
        (pod) => this.release(pod),
      )
      if (error !== undefined) throw error
      const next = deepCopy(status)
      round.settle(next, (uid) => this.released.has(uid))
      Object.assign(status, next)
      if (!deepEqual(next, current.status)) current = await this.write(key, current, next)
    }
    if (!verdict || round.hasUncounted(status) || (status.terminating ?? 0) > 0 || pods.some((p) => this.isTracked(p) && !isPodTerminal(p))) return
    await this.finish(key, current, deepCopy(status), verdict)
  }

  private async finish(key: string, job: Job, status: JobStatus, verdict: Verdict): Promise<void> {
    const now = this.context.clock.now()
    const about = referenceTo(resources.batchv1.jobs, job)
    const complete = verdict.type === 'SuccessCriteriaMet'
    status.conditions = [...(status.conditions ?? []), jobCondition(complete ? 'Complete' : 'Failed', 'True', verdict.reason, verdict.message, now)]
    if (complete) status.completionTime = formatTime(now)
    await this.write(key, job, status)
    if (!complete) {
      this.recorder.event(about, 'Warning', verdict.reason, verdict.message)
      return
    }
    if (job.spec.completions !== undefined && (status.succeeded ?? 0) > job.spec.completions) {
      this.recorder.event(about, 'Warning', 'TooManySucceededPods', 'Too many succeeded pods running after completion count reached')
    }
    this.recorder.event(about, 'Normal', 'Completed', 'Job completed')
  }

  private async write(key: string, job: Job, status: JobStatus): Promise<Job> {
    const jobs = this.context.client.resource(resources.batchv1.jobs).namespace(job.metadata.namespace)
    const written = await jobs.updateStatus({ ...deepCopy(job), status: deepCopy(status) })
    this.writes.written(key, written)
    return written
  }
}

const managedCount = (n: number): number | undefined => (n === 0 ? undefined : n)

function matches(job: Job, pod: Pod): boolean {
  const selector = selectorFromLabelSelector(job.spec.selector)
  return !selector.empty && selector.matches(pod.metadata.labels)
}
