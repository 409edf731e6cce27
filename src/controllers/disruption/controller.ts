import type { Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/policy/v1/types.generated.ts'
import { isConflict, isNotFound } from '../../apimachinery/errors.ts'
import { scaledValue } from '../../apimachinery/intstr.ts'
import { formatLabelSelector, selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import type { Condition } from '../../apimachinery/meta/v1/types.generated.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { formatTime, timeMs } from '../../apimachinery/time.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, type Informer, referenceTo } from '../../client/index.ts'
import { findPodCondition, isPodReady } from '../../component-helpers/pod-conditions.ts'
import { Controller, type ControllerContext, controllerOf, type ReconcileResult } from '../../controller-runtime/index.ts'
import { ScaleReader } from './scale-reader.ts'

const DELETION_TIMEOUT_MS = 120_000
const STALE_TARGET_MS = 120_000

class NoControllerError extends Error {}

/** Keeps in each PodDisruptionBudget how many of its Pods may be evicted now. */
export class DisruptionController {
  private readonly context: ControllerContext
  private readonly budgets: Informer<PodDisruptionBudget>
  private readonly pods: Informer<Pod>
  private readonly scales: ScaleReader
  private readonly recorder: EventRecorder
  private readonly controller: Controller
  private readonly staleTargets: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.budgets = context.informers.informer(resources.policyv1.poddisruptionbudgets)
    this.pods = context.informers.informer(resources.corev1.pods)
    this.scales = new ScaleReader(context)
    this.recorder = context.events.recorder('controllermanager')
    this.controller = new Controller(context, {
      name: 'disruption-controller',
      workers: 1,
      informers: [this.budgets, this.pods, ...this.scales.informers],
      reconcile: (key) => this.reconcile(key),
    })
    this.staleTargets = new Controller(context, {
      name: 'stale-pod-disruption',
      workers: 1,
      informers: [this.pods],
      reconcile: (key) => this.clearStale(key),
    })
    const { queue } = this.controller
    const enqueue = (budget: PodDisruptionBudget) => queue.add(objectKey(budget))
    this.budgets.addHandler({ onAdd: enqueue, onUpdate: (_, b) => enqueue(b) })
    const podChanged = (pod: Pod) => {
      const matching = this.budgetsOf(pod)
      for (const budget of matching) queue.add(objectKey(budget))
      if (matching.length > 1) {
        const text = `Pod ${pod.metadata.namespace}/${pod.metadata.name} matches multiple PodDisruptionBudgets.  Chose ${quote(matching[0]?.metadata.name ?? '')} arbitrarily.`
        this.recorder.event(referenceTo(resources.corev1.pods, pod), 'Warning', 'MultiplePodDisruptionBudgets', text)
      }
    }
    this.pods.addHandler({
      onAdd: (pod) => {
        podChanged(pod)
        this.noteTarget(pod)
      },
      onUpdate: (before, after) => {
        if (
          deepEqual(before.metadata.labels, after.metadata.labels) &&
          isPodReady(before) === isPodReady(after) &&
          Boolean(before.metadata.deletionTimestamp) === Boolean(after.metadata.deletionTimestamp) &&
          before.status?.phase === after.status?.phase
        ) {
          this.noteTarget(after)
          return
        }
        podChanged(after)
        this.noteTarget(after)
      },
      onDelete: podChanged,
    })
    this.scales.onChange((namespace) => {
      for (const budget of this.budgets.lister.inNamespace(namespace)) enqueue(budget)
    })
  }

  async run(): Promise<void> {
    await Promise.all([this.controller.run(), this.staleTargets.run()])
  }

  private budgetsOf(pod: Pod): PodDisruptionBudget[] {
    return this.budgets.lister
      .inNamespace(pod.metadata.namespace)
      .filter((b) => b.spec.selector && selectorFromLabelSelector(b.spec.selector).matches(pod.metadata.labels))
  }

  private noteTarget(pod: Pod): void {
    const left = staleIn(pod, this.context.clock.now())
    if (left !== undefined) this.staleTargets.queue.addAfter(objectKey(pod), left)
  }

  /** A Pod that was to be disrupted and still is there after two minutes was spared. */
  private async clearStale(key: string): Promise<ReconcileResult | undefined> {
    const pod = this.pods.lister.get(key)
    const now = this.context.clock.now()
    const left = pod && staleIn(pod, now)
    if (!pod || left === undefined) return
    if (left > 0) return { requeueAfterMs: left }
    const condition = { type: 'DisruptionTarget', status: 'False', lastTransitionTime: formatTime(now) }
    await this.context.client
      .resource(resources.corev1.pods)
      .namespace(pod.metadata.namespace)
      .patch(pod.metadata.name ?? '', 'strategic', { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } }, { subresource: 'status' })
  }

  private async reconcile(key: string): Promise<ReconcileResult | undefined> {
    const budget = this.budgets.lister.get(key)
    if (!budget) return
    try {
      return await this.sync(budget)
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) throw error
      const status: PodDisruptionBudgetStatus = { ...deepCopy(budget.status), disruptionsAllowed: 0 }
      this.setCondition(budget, status, 'False', 'SyncFailed', (error as Error).message)
      await this.write(budget, status)
      throw error
    }
  }

  private async sync(budget: PodDisruptionBudget): Promise<ReconcileResult | undefined> {
    const now = this.context.clock.now()
    const about = referenceTo(resources.policyv1.poddisruptionbudgets, budget)
    const selector = selectorFromLabelSelector(budget.spec.selector)
    const pods = this.pods.lister.inNamespace(budget.metadata.namespace).filter((p) => selector.matches(p.metadata.labels))
    if (pods.length === 0) this.recorder.event(about, 'Normal', 'NoPods', 'No matching pods found')
    let expected: { count: number; desired: number; unmanaged: number }
    try {
      expected = await this.expected(budget, pods)
    } catch (error) {
      this.recorder.event(about, 'Warning', 'CalculateExpectedPodCountFailed', `Failed to calculate the number of expected pods: ${(error as Error).message}`)
      throw error
    }
    if (expected.unmanaged > 0) {
      const text = `Pods selected by this PodDisruptionBudget (selector: ${formatLabelSelector(budget.spec.selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`
      this.recorder.event(about, 'Warning', 'UnmanagedPods', text)
    }
    const disrupted: Record<string, string> = {}
    let recheck: number | undefined
    for (const pod of pods) {
      const name = pod.metadata.name ?? ''
      const at = timeMs(budget.status.disruptedPods?.[name])
      if (at === undefined || pod.metadata.deletionTimestamp) continue
      if (at + DELETION_TIMEOUT_MS <= now) {
        const where = `${budget.metadata.namespace}/${budget.metadata.namespace}`
        this.recorder.event(referenceTo(resources.corev1.pods, pod), 'Warning', 'NotDeleted', `Pod was expected by PDB ${where} to be deleted but it wasn't`)
        continue
      }
      disrupted[name] = budget.status.disruptedPods?.[name] as string
      recheck = Math.min(recheck ?? Number.POSITIVE_INFINITY, at + DELETION_TIMEOUT_MS - now)
    }
    const healthy = pods.filter((p) => !p.metadata.deletionTimestamp && !Object.hasOwn(disrupted, p.metadata.name ?? '') && isPodReady(p)).length
    const allowed = expected.count <= 0 ? 0 : Math.max(0, healthy - expected.desired)
    const status: PodDisruptionBudgetStatus = {
      ...deepCopy(budget.status),
      ...(budget.metadata.generation ? { observedGeneration: budget.metadata.generation } : {}),
      disruptionsAllowed: allowed,
      currentHealthy: healthy,
      desiredHealthy: expected.desired,
      expectedPods: expected.count,
    }
    if (Object.keys(disrupted).length > 0) status.disruptedPods = disrupted
    else delete status.disruptedPods
    this.setCondition(budget, status, allowed > 0 ? 'True' : 'False', allowed > 0 ? 'SufficientPods' : 'InsufficientPods', '')
    await this.write(budget, status)
    return recheck === undefined ? undefined : { requeueAfterMs: recheck }
  }

  private async expected(budget: PodDisruptionBudget, pods: readonly Pod[]): Promise<{ count: number; desired: number; unmanaged: number }> {
    const { maxUnavailable, minAvailable } = budget.spec
    if (maxUnavailable === undefined && typeof minAvailable === 'number') return { count: pods.length, desired: minAvailable, unmanaged: 0 }
    const seen = new Map<string, number>()
    let unmanaged = 0
    for (const pod of pods) {
      const ref = controllerOf(pod)
      if (!ref) {
        unmanaged++
        continue
      }
      const scale = await this.scales.scaleOf(pod.metadata.namespace ?? '', ref)
      if (!scale) throw new NoControllerError(`found no controllers for pod ${quote(pod.metadata.name ?? '')}`)
      seen.set(scale.uid, scale.replicas)
    }
    const count = [...seen.values()].reduce((a, b) => a + b, 0)
    if (maxUnavailable !== undefined) return { count, desired: Math.max(0, count - scaledValue(maxUnavailable, count, true)), unmanaged }
    return { count, desired: minAvailable === undefined ? 0 : scaledValue(minAvailable, count, true), unmanaged }
  }

  private setCondition(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus, value: string, reason: string, message: string): void {
    const conditions = [...(status.conditions ?? [])]
    const i = conditions.findIndex((c) => c.type === 'DisruptionAllowed')
    const old = conditions[i]
    const next: Condition = {
      type: 'DisruptionAllowed',
      status: value,
      ...(budget.metadata.generation ? { observedGeneration: budget.metadata.generation } : {}),
      lastTransitionTime: old?.status === value && old.lastTransitionTime ? old.lastTransitionTime : formatTime(this.context.clock.now()),
      reason,
      message,
    }
    if (old) conditions[i] = next
    else conditions.push(next)
    status.conditions = conditions
  }

  private async write(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus): Promise<void> {
    if (deepEqual(status, budget.status)) return
    await this.context.client
      .resource(resources.policyv1.poddisruptionbudgets)
      .namespace(budget.metadata.namespace)
      .updateStatus({ ...deepCopy(budget), status })
  }
}

/** ms until the Pod's DisruptionTarget is stale; undefined when it has none that can be. */
function staleIn(pod: Pod, now: number): number | undefined {
  const condition = findPodCondition(pod, 'DisruptionTarget')
  if (condition?.status !== 'True' || condition.reason === 'TerminationByKubelet' || pod.metadata.deletionTimestamp) return undefined
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return undefined
  return Math.max(0, (timeMs(condition.lastTransitionTime) ?? now) + STALE_TARGET_MS - now)
}
