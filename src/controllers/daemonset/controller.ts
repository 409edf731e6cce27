import type { DaemonSet } from '../../api/apps/v1/types.generated.ts'
import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isConflict, isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { Backoff, deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, type Informer, referenceTo } from '../../client/index.ts'
import { isPodAvailable, isPodReady, isPodTerminal } from '../../component-helpers/pod-conditions.ts'
import {
  allOf,
  Controller,
  type ControllerContext,
  claim,
  claimable,
  controllerOf,
  controllerRef,
  Expectations,
  indexByController,
  ownerIn,
  slowStartBatch,
} from '../../controller-runtime/index.ts'
import { PodControl, podFromTemplate } from '../../controller-runtime/pods/pod-control.ts'
import { DaemonSetHistory } from './history.ts'
import { HASH_LABEL, placementOn, targetNodeOf, templateFor } from './placement.ts'
import { allowsSurge, isUpdated, rollingUpdateStep } from './rolling-update.ts'
import { daemonSetStatus, standingFirst } from './status.ts'

const WORKERS = 2
const BURST = 250
const SELECTING_ALL = 'This daemon set is selecting all pods. A non-empty selector is required.'

/** Keeps one Pod of a template on each node that it fits. */
export class DaemonSetController {
  private readonly context: ControllerContext
  private readonly sets: Informer<DaemonSet>
  private readonly pods: Informer<Pod>
  private readonly nodes: Informer<Node>
  private readonly history: DaemonSetHistory
  private readonly recorder: EventRecorder
  private readonly control: PodControl
  private readonly expectations: Expectations
  private readonly failedPods: Backoff
  private readonly controller: Controller

  constructor(context: ControllerContext) {
    this.context = context
    this.sets = context.informers.informer(resources.appsv1.daemonsets)
    this.pods = context.informers.informer(resources.corev1.pods)
    this.nodes = context.informers.informer(resources.corev1.nodes)
    this.history = new DaemonSetHistory(context)
    indexByController(this.pods)
    this.recorder = context.events.recorder('daemonset-controller')
    this.control = new PodControl(context.client, this.recorder)
    this.expectations = new Expectations(context.clock)
    this.failedPods = new Backoff(context.clock, { initialMs: 1000, maxMs: 15 * 60_000 })
    this.controller = new Controller(context, {
      name: 'daemonset-controller',
      workers: WORKERS,
      informers: [this.sets, this.pods, this.nodes, this.history.informer],
      reconcile: (key) => this.reconcile(key),
    })
    this.watch()
  }

  run(): Promise<void> {
    return this.controller.run()
  }

  private watch(): void {
    const { queue } = this.controller
    const enqueue = (set: DaemonSet) => queue.add(objectKey(set))
    this.sets.addHandler({
      onAdd: enqueue,
      onUpdate: (before, after) => {
        if (before.metadata.uid !== after.metadata.uid) this.expectations.forget(objectKey(before))
        enqueue(after)
      },
      onDelete: (set) => {
        this.expectations.forget(objectKey(set))
        enqueue(set)
      },
    })
    this.pods.addHandler({
      onAdd: (pod) => {
        if (pod.metadata.deletionTimestamp) return this.podDeleted(pod)
        const owner = this.ownerOf(pod)
        if (owner) this.expectations.creationSeen(objectKey(owner))
        this.podChanged(pod)
      },
      onUpdate: (before, after) => {
        if (after.metadata.deletionTimestamp) return this.podDeleted(after)
        const old = controllerOf(before)
        if (old && old.uid !== controllerOf(after)?.uid) this.podChanged(before)
        this.podChanged(after)
        const owner = this.ownerOf(after)
        const minReady = owner?.spec.minReadySeconds ?? 0
        if (owner && minReady > 0 && !isPodReady(before) && isPodReady(after)) queue.addAfter(objectKey(owner), minReady * 1000 + 1000)
      },
      onDelete: (pod) => this.podDeleted(pod),
    })
    this.nodes.addHandler({
      onAdd: (node) => this.nodeChanged(undefined, node),
      onUpdate: (before, after) => {
        const same = deepEqual(before.metadata.labels, after.metadata.labels) && deepEqual(before.spec?.taints, after.spec?.taints)
        if (!same) this.nodeChanged(before, after)
      },
      onDelete: (node) => this.nodeChanged(node, undefined),
    })
    this.history.informer.addHandler({
      onDelete: (revision) => {
        const ref = controllerOf(revision)
        if (ref?.kind === 'DaemonSet') queue.add(`${revision.metadata.namespace}/${ref.name}`)
      },
    })
  }

  private ownerOf(pod: Pod): DaemonSet | undefined {
    return ownerIn(this.sets.lister, 'DaemonSet', pod)
  }

  private podChanged(pod: Pod): void {
    const owner = this.ownerOf(pod)
    if (owner) this.controller.queue.add(objectKey(owner))
    else if (!controllerOf(pod)) {
      for (const set of this.sets.lister.inNamespace(pod.metadata.namespace)) {
        const selector = selectorFromLabelSelector(set.spec.selector)
        if (!selector.empty && selector.matches(pod.metadata.labels)) this.controller.queue.add(objectKey(set))
      }
    }
  }

  private podDeleted(pod: Pod): void {
    const owner = this.ownerOf(pod)
    if (!owner) return
    this.expectations.deletionSeen(objectKey(owner), objectKey(pod))
    this.controller.queue.add(objectKey(owner))
  }

  private nodeChanged(before: Node | undefined, after: Node | undefined): void {
    for (const set of this.sets.lister.list()) {
      const then = before && placementOn(set, before)
      const now = after && placementOn(set, after)
      if (!deepEqual(then ?? { shouldRun: false, shouldContinue: false }, now ?? { shouldRun: false, shouldContinue: false })) {
        this.controller.queue.add(objectKey(set))
      }
    }
  }

  private async reconcile(key: string): Promise<{ requeueAfterMs?: number } | undefined> {
    const set = this.sets.lister.get(key)
    if (!set) {
      this.expectations.forget(key)
      return
    }
    const selector = selectorFromLabelSelector(set.spec.selector)
    if (selector.empty) {
      this.recorder.event(referenceTo(resources.appsv1.daemonsets, set), 'Warning', 'SelectingAll', SELECTING_ALL)
      return
    }
    if (set.metadata.deletionTimestamp) return
    const nodes = this.nodes.lister.list()
    const { current, old } = await this.history.construct(set)
    const hash = current.metadata.labels?.[HASH_LABEL] ?? ''
    if (!this.expectations.satisfied(key)) {
      await this.writeStatus(set, nodes, hash, false)
      return
    }
    let error: unknown
    let failed = false
    const attempt = async (work: () => Promise<void>) => {
      try {
        await work()
      } catch (e) {
        if (!failed) error = e
        failed = true
      }
    }
    let after: number | undefined
    await attempt(async () => {
      after = await this.manage(key, set, nodes, hash)
      if (this.expectations.satisfied(key) && set.spec.updateStrategy.type === 'RollingUpdate') {
        const podsOn = await this.podsByNode(set)
        const step = rollingUpdateStep({ set, hash, nodes, podsOn, now: this.context.clock.now() })
        await this.apply(key, set, step.remove, step.createOn, hash)
      }
      const hashes = new Set([...(await this.podsByNode(set)).values()].flat().map((p) => p.metadata.labels?.[HASH_LABEL] ?? ''))
      await this.history.cleanUp(set, old, hashes)
    })
    await attempt(() => this.writeStatus(set, nodes, hash, true))
    if (failed) throw error
    const available = await this.nextAvailability(set)
    const soonest = Math.min(after ?? Number.POSITIVE_INFINITY, available ?? Number.POSITIVE_INFINITY)
    return Number.isFinite(soonest) ? { requeueAfterMs: soonest } : undefined
  }

  private async nextAvailability(set: DaemonSet): Promise<number | undefined> {
    const minReady = set.spec.minReadySeconds ?? 0
    if (minReady === 0) return undefined
    const now = this.context.clock.now()
    const waiting = [...(await this.podsByNode(set)).values()].flat().some((p) => isPodReady(p) && !isPodAvailable(p, minReady, now))
    return waiting ? minReady * 1000 : undefined
  }

  /** The set's Pods by the node they are on or meant for. */
  private async podsByNode(set: DaemonSet): Promise<Map<string, Pod[]>> {
    const candidates = claimable(this.pods.lister, set)
    const claimed = await claim(candidates, {
      client: this.context.client,
      owner: set,
      ownerHandle: resources.appsv1.daemonsets,
      handle: resources.corev1.pods,
      selector: selectorFromLabelSelector(set.spec.selector),
      adoptable: (pod) => !isPodTerminal(pod),
    })
    const out = new Map<string, Pod[]>()
    for (const pod of claimed) {
      if (isPodTerminal(pod) && pod.metadata.deletionTimestamp) continue
      const node = targetNodeOf(pod)
      if (node === '') continue
      const list = out.get(node)
      if (list) list.push(pod)
      else out.set(node, [pod])
    }
    return out
  }

  /** @returns when to look again because of a failed Pod that is held back, in ms */
  private async manage(key: string, set: DaemonSet, nodes: readonly Node[], hash: string): Promise<number | undefined> {
    const podsOn = await this.podsByNode(set)
    const remove: Pod[] = []
    const createOn: string[] = []
    let after: number | undefined
    for (const node of nodes) {
      const wait = this.judgeNode(set, node, podsOn.get(node.metadata.name ?? ''), hash, { remove, createOn })
      if (wait !== undefined) after = Math.min(after ?? wait, wait)
    }
    const names = new Set(nodes.map((n) => n.metadata.name))
    for (const [node, pods] of podsOn) {
      if (!names.has(node)) remove.push(...pods.filter((p) => !p.spec.nodeName && !p.metadata.deletionTimestamp))
    }
    await this.apply(key, set, remove, createOn, hash)
    return after
  }

  private judgeNode(
    set: DaemonSet,
    node: Node,
    pods: readonly Pod[] | undefined,
    hash: string,
    out: { remove: Pod[]; createOn: string[] },
  ): number | undefined {
    const name = node.metadata.name ?? ''
    const { shouldRun, shouldContinue } = placementOn(set, node)
    if (!shouldContinue) {
      out.remove.push(...(pods ?? []).filter((p) => !p.metadata.deletionTimestamp))
      return undefined
    }
    if (!pods) {
      if (shouldRun) out.createOn.push(name)
      return undefined
    }
    const about = referenceTo(resources.appsv1.daemonsets, set)
    const running: Pod[] = []
    let after: number | undefined
    for (const pod of pods) {
      if (pod.metadata.deletionTimestamp) continue
      const text = `daemon pod ${objectKey(pod)} on node ${name}`
      if (pod.status?.phase === 'Failed') {
        const key = `${set.metadata.uid}/${set.metadata.generation}/${name}`
        const wait = this.failedPods.remaining(key)
        if (wait > 0) {
          after = Math.min(after ?? wait, wait)
          continue
        }
        this.failedPods.next(key)
        this.recorder.event(about, 'Warning', 'FailedDaemonPod', `Found failed ${text}, will try to kill it`)
        out.remove.push(pod)
      } else if (pod.status?.phase === 'Succeeded') {
        this.recorder.event(about, 'Normal', 'SucceededDaemonPod', `Found succeeded ${text}, will try to delete it`)
        out.remove.push(pod)
      } else running.push(pod)
    }
    running.sort(standingFirst)
    if (!allowsSurge(set)) out.remove.push(...running.slice(1))
    else this.judgeSurging(set, running, hash, shouldRun, name, out)
    return after
  }

  private judgeSurging(
    set: DaemonSet,
    running: readonly Pod[],
    hash: string,
    shouldRun: boolean,
    name: string,
    out: { remove: Pod[]; createOn: string[] },
  ): void {
    if (running.length === 0) {
      if (shouldRun) out.createOn.push(name)
      return
    }
    const fresh = running.filter((p) => isUpdated(p, set, hash))
    const old = running.filter((p) => !isUpdated(p, set, hash))
    out.remove.push(...fresh.slice(1), ...old.slice(1))
    const [newPod] = fresh
    const [oldPod] = old
    if (!newPod || !oldPod) return
    const now = this.context.clock.now()
    if (!isPodReady(oldPod) || isPodAvailable(newPod, set.spec.minReadySeconds ?? 0, now)) out.remove.push(oldPod)
  }

  private async apply(key: string, set: DaemonSet, removals: readonly Pod[], nodes: readonly string[], hash: string): Promise<void> {
    const remove = removals.slice(0, BURST)
    const createOn = nodes.slice(0, BURST)
    if (remove.length === 0 && createOn.length === 0) return
    this.expectations.expect(key, createOn.length, remove.map(objectKey))
    const about = referenceTo(resources.appsv1.daemonsets, set)
    const ref = controllerRef(resources.appsv1.daemonsets, set)
    const created = await slowStartBatch(createOn.length, async (i) => {
      try {
        const template = templateFor(set, hash, createOn[i] as string)
        await this.control.create(podFromTemplate(template, { name: set.metadata.name ?? '', namespace: set.metadata.namespace }, ref), about)
      } catch (error) {
        if (!isNamespaceTerminating(error)) throw error
      }
    })
    if (created.succeeded < createOn.length) this.expectations.creationSeen(key, createOn.length - created.succeeded)
    const error = await allOf(remove, async (pod) => {
      try {
        await this.control.delete(pod.metadata.name ?? '', about)
      } catch (e) {
        this.expectations.deletionSeen(key, objectKey(pod))
        if (!isNotFound(e)) throw e
      }
    })
    if (created.error !== undefined) throw created.error
    if (error !== undefined) throw error
  }

  private async writeStatus(set: DaemonSet, nodes: readonly Node[], hash: string, observe: boolean): Promise<void> {
    const podsOn = await this.podsByNode(set)
    const status = daemonSetStatus(set, nodes, podsOn, { hash, observe, now: this.context.clock.now() })
    if (deepEqual(status, set.status)) return
    const client = this.context.client.resource(resources.appsv1.daemonsets).namespace(set.metadata.namespace)
    try {
      await client.updateStatus({ ...deepCopy(set), status })
    } catch (error) {
      if (!isConflict(error)) throw error
      const fresh = await client.get(set.metadata.name ?? '')
      await client.updateStatus({ ...deepCopy(fresh), status })
    }
  }
}
