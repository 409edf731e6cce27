import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/apps/v1/types.generated.ts'
import type { PodTemplateSpec } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '../../apimachinery/errors.ts'
import { quote } from '../../apimachinery/quote.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { type EventRecorder, referenceTo } from '../../client/index.ts'
import { type ControllerContext, controllerOf, controllerRef, podTemplateHash } from '../../controller-runtime/index.ts'
import {
  desiredReplicasOf,
  REVISION,
  ROLLBACK_TO,
  replicasAnnotationsDiffer,
  revisionOf,
  rollbackAnnotations,
  setDeploymentRevision,
  setNewAnnotations,
  setReplicasAnnotations,
} from './annotations.ts'
import {
  activeSets,
  isComplete,
  isRolling,
  largestFirst,
  MAX_INT32,
  maxSurge,
  maxUnavailable,
  newSetSize,
  oldestFirst,
  proportion,
  replicasOf,
  sizeOf,
  sumAvailable,
  sumSizes,
} from './arithmetic.ts'
import { calculateStatus, conditionOf, hasProgressDeadline, judgeProgress, newCondition, progressCheckAfter, setCondition } from './progress.ts'

export const HASH_LABEL = 'pod-template-hash'
const MAX_NAME = 253

/** One sync of one Deployment: it works on a copy of its own and writes what changed. */
export class Rollout {
  private readonly context: ControllerContext
  private readonly recorder: EventRecorder
  private deployment: Deployment
  private readonly sets: readonly ReplicaSet[]
  /** Pods not finished, by the uid of their ReplicaSet. */
  private readonly hasLivePods: (setUid: string) => boolean
  /** Uids of ReplicaSets with live Pods. */
  private readonly setsWithPods: () => readonly string[]

  constructor(
    context: ControllerContext,
    recorder: EventRecorder,
    state: { deployment: Deployment; sets: readonly ReplicaSet[]; hasLivePods: (uid: string) => boolean; setsWithPods: () => readonly string[] },
  ) {
    this.context = context
    this.recorder = recorder
    this.deployment = deepCopy(state.deployment)
    this.sets = state.sets
    this.hasLivePods = state.hasLivePods
    this.setsWithPods = state.setsWithPods
  }

  /** @returns when to look again, in ms */
  async run(): Promise<number | undefined> {
    if (this.deployment.metadata.deletionTimestamp) return this.statusOnly()
    await this.checkPaused()
    if (this.deployment.spec.paused) return this.scaleOnly()
    if (this.rollbackRevision() !== undefined) return this.rollback()
    if (this.isScalingEvent()) return this.scaleOnly()
    switch (this.deployment.spec.strategy.type) {
      case 'Recreate':
        return this.recreate()
      case 'RollingUpdate':
        return this.rolling()
      default:
        throw new Error(`unexpected deployment strategy type: ${this.deployment.spec.strategy.type}`)
    }
  }

  private get now(): number {
    return this.context.clock.now()
  }

  private event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.recorder.event(referenceTo(resources.appsv1.deployments, this.deployment), type, reason, message)
  }

  /** Writes status and the revision annotation, which the status subresource of Deployments takes too. */
  private async writeStatus(status: DeploymentStatus): Promise<void> {
    const deployments = this.context.client.resource(resources.appsv1.deployments).namespace(this.deployment.metadata.namespace)
    const revision = this.deployment.metadata.annotations?.[REVISION]
    let written = await deployments.updateStatus({ ...deepCopy(this.deployment), status })
    if (revision !== undefined && written.metadata.annotations?.[REVISION] !== revision) {
      written = await deployments.patch(this.deployment.metadata.name ?? '', 'merge', { metadata: { annotations: { [REVISION]: revision } } })
    }
    this.deployment = deepCopy(written)
  }

  private async statusOnly(): Promise<undefined> {
    const { newSet, old } = await this.split(false)
    await this.syncStatus(newSet, old)
  }

  private async syncStatus(newSet: ReplicaSet | undefined, old: readonly ReplicaSet[]): Promise<void> {
    const status = calculateStatus(withNew(old, newSet), newSet, this.deployment, this.now)
    if (!deepEqual(status, this.deployment.status)) await this.writeStatus(status)
  }

  private async checkPaused(): Promise<void> {
    const { spec, status } = this.deployment
    if (!hasProgressDeadline(this.deployment)) return
    const condition = conditionOf(status, 'Progressing')
    if (condition?.reason === 'ProgressDeadlineExceeded') return
    const marked = condition?.reason === 'DeploymentPaused'
    const next = { ...status }
    if (spec.paused && !marked) setCondition(next, newCondition('Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused', this.now))
    else if (!spec.paused && marked) setCondition(next, newCondition('Progressing', 'Unknown', 'DeploymentResumed', 'Deployment is resumed', this.now))
    else return
    await this.writeStatus(next)
  }

  private async scaleOnly(): Promise<undefined> {
    const split = await this.split(false)
    const scaled = await this.scale(split.newSet, split.old)
    if (this.deployment.spec.paused && this.rollbackRevision() === undefined) await this.cleanUp(scaled.old)
    await this.syncStatus(scaled.newSet, scaled.old)
  }

  private isScalingEvent(): boolean {
    const wanted = replicasOf(this.deployment)
    return activeSets(this.sets).some((s) => {
      const desired = desiredReplicasOf(s)
      return desired !== undefined && desired !== wanted
    })
  }

  private findNew(): ReplicaSet | undefined {
    return [...this.sets].sort(oldestFirst).find((s) => sameTemplate(s.spec.template, this.deployment.spec.template))
  }

  /** Tells new from old; brings the new one's annotations up to date, and makes it if asked to. */
  private async split(create: boolean): Promise<{ newSet: ReplicaSet | undefined; old: ReplicaSet[] }> {
    const existing = this.findNew()
    const old = this.sets.filter((s) => s.metadata.uid !== existing?.metadata.uid)
    const newSet = existing ? await this.refresh(existing, old) : create ? await this.make(old) : undefined
    return { newSet, old }
  }

  private nextRevision(old: readonly ReplicaSet[]): number {
    return Math.max(0, ...old.map((s) => revisionOf(s) ?? 0)) + 1
  }

  private async refresh(existing: ReplicaSet, old: readonly ReplicaSet[]): Promise<ReplicaSet> {
    const copy = deepCopy(existing)
    const annotated = setNewAnnotations(this.deployment, copy, this.nextRevision(old), true)
    const minReady = this.deployment.spec.minReadySeconds ?? 0
    if (annotated || (existing.spec.minReadySeconds ?? 0) !== minReady) {
      if (minReady > 0) copy.spec.minReadySeconds = minReady
      else delete copy.spec.minReadySeconds
      return this.setsClient().update(copy)
    }
    let changed = setDeploymentRevision(this.deployment, existing.metadata.annotations?.[REVISION])
    const status = { ...this.deployment.status }
    if (hasProgressDeadline(this.deployment) && !conditionOf(status, 'Progressing')) {
      setCondition(status, newCondition('Progressing', 'True', 'FoundNewReplicaSet', `Found new replica set ${quote(existing.metadata.name ?? '')}`, this.now))
      changed = true
    }
    if (changed) await this.writeStatus(status)
    return existing
  }

  private setsClient() {
    return this.context.client.resource(resources.appsv1.replicasets).namespace(this.deployment.metadata.namespace)
  }

  private async make(old: readonly ReplicaSet[]): Promise<ReplicaSet> {
    const { metadata, spec } = this.deployment
    const hash = podTemplateHash(spec.template, this.deployment.status.collisionCount)
    const template = deepCopy(spec.template)
    template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, [HASH_LABEL]: hash } }
    const revision = this.nextRevision(old)
    const set = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${(metadata.name ?? '').slice(0, MAX_NAME - hash.length - 1)}-${hash}`,
        namespace: metadata.namespace,
        labels: { ...template.metadata.labels },
        ownerReferences: [controllerRef(resources.appsv1.deployments, this.deployment)],
      },
      spec: {
        replicas: newSetSize(this.deployment, old, 0),
        ...(spec.minReadySeconds ? { minReadySeconds: spec.minReadySeconds } : {}),
        selector: { ...deepCopy(spec.selector), matchLabels: { ...spec.selector?.matchLabels, [HASH_LABEL]: hash } },
        template,
      },
      status: { replicas: 0 },
    } as ReplicaSet
    setNewAnnotations(this.deployment, set, revision, false)
    const size = sizeOf(set)
    const setName = set.metadata.name ?? ''
    let made: ReplicaSet
    let existed = false
    try {
      made = await this.setsClient().create(set)
    } catch (error) {
      if (isAlreadyExists(error)) {
        const found = await this.setsClient().get(setName)
        if (controllerOf(found)?.uid === metadata.uid && sameTemplate(found.spec.template, spec.template)) {
          existed = true
          made = found
        } else {
          await this.writeStatus({ ...this.deployment.status, collisionCount: (this.deployment.status.collisionCount ?? 0) + 1 })
          throw error
        }
      } else {
        if (!isNamespaceTerminating(error)) await this.tellCreateError(setName, error as Error)
        throw error
      }
    }
    if (!existed && size > 0) this.event('Normal', 'ScalingReplicaSet', `Scaled up replica set ${setName} from 0 to ${size}`)
    let changed = setDeploymentRevision(this.deployment, String(revision))
    const status = { ...this.deployment.status }
    if (!existed && hasProgressDeadline(this.deployment)) {
      setCondition(status, newCondition('Progressing', 'True', 'NewReplicaSetCreated', `Created new replica set ${quote(setName)}`, this.now))
      changed = true
    }
    if (changed) await this.writeStatus(status)
    return made
  }

  private async tellCreateError(name: string, error: Error): Promise<void> {
    const message = `Failed to create new replica set ${quote(name)}: ${error.message}`
    if (hasProgressDeadline(this.deployment)) {
      const status = { ...this.deployment.status }
      setCondition(status, newCondition('Progressing', 'False', 'ReplicaSetCreateError', message, this.now))
      await this.writeStatus(status).catch(() => {})
    }
    this.event('Warning', 'ReplicaSetCreateError', message)
  }

  /** Writes size and size annotations if they differ; tells of a change of size. */
  private async resize(set: ReplicaSet, size: number): Promise<{ set: ReplicaSet; scaled: boolean }> {
    const before = sizeOf(set)
    if (before === size && !replicasAnnotationsDiffer(set, this.deployment)) return { set, scaled: false }
    const copy = deepCopy(set)
    copy.spec.replicas = size
    setReplicasAnnotations(copy, this.deployment)
    const written = await this.setsClient().update(copy)
    if (before !== size) {
      const how = before < size ? 'up' : 'down'
      this.event('Normal', 'ScalingReplicaSet', `Scaled ${how} replica set ${set.metadata.name} from ${before} to ${size}`)
    }
    return { set: written, scaled: before !== size }
  }

  private async resizeIfDifferent(set: ReplicaSet, size: number): Promise<{ set: ReplicaSet; scaled: boolean }> {
    return sizeOf(set) === size ? { set, scaled: false } : this.resize(set, size)
  }

  private async rolling(): Promise<number | undefined> {
    const split = await this.split(true)
    const newSet = split.newSet as ReplicaSet
    const grown = await this.reconcileNew(newSet, split.old)
    if (grown.scaled) return this.syncRollout(grown.set, split.old)
    const shrunk = await this.reconcileOld(newSet, split.old)
    if (shrunk.scaled) return this.syncRollout(newSet, shrunk.old)
    if (isComplete(this.deployment, this.deployment.status)) await this.cleanUp(split.old)
    return this.syncRollout(newSet, split.old)
  }

  private async reconcileNew(newSet: ReplicaSet, old: readonly ReplicaSet[]): Promise<{ set: ReplicaSet; scaled: boolean }> {
    const wanted = replicasOf(this.deployment)
    if (sizeOf(newSet) === wanted) return { set: newSet, scaled: false }
    if (sizeOf(newSet) > wanted) return this.resize(newSet, wanted)
    return this.resizeIfDifferent(newSet, newSetSize(this.deployment, [...old, newSet], sizeOf(newSet)))
  }

  private async reconcileOld(newSet: ReplicaSet, old: readonly ReplicaSet[]): Promise<{ old: ReplicaSet[]; scaled: boolean }> {
    const all = [...old, newSet]
    const minAvailable = replicasOf(this.deployment) - maxUnavailable(this.deployment)
    const newUnavailable = sizeOf(newSet) - (newSet.status.availableReplicas ?? 0)
    const most = sumSizes(all) - minAvailable - newUnavailable
    const current = new Map(old.map((s) => [s.metadata.uid ?? '', s]))
    const result = () => old.map((s) => current.get(s.metadata.uid ?? '') ?? s)
    if (sumSizes(old) === 0 || most <= 0) return { old: [...old], scaled: false }
    let total = 0
    const take = async (set: ReplicaSet, count: number) => {
      if (count <= 0) return
      const resized = await this.resize(set, sizeOf(set) - count)
      current.set(set.metadata.uid ?? '', resized.set)
      total += count
    }
    const order = activeSets(old).sort(oldestFirst)
    // Pods that serve nobody go first: nothing is lost with them.
    for (const set of order) {
      if (total >= most) break
      await take(set, Math.min(most - total, sizeOf(set) - (set.status.availableReplicas ?? 0)))
    }
    const cleaned = total
    const surplus = sumAvailable(all) - minAvailable
    let taken = 0
    for (const { metadata } of order) {
      if (taken >= surplus) break
      const set = current.get(metadata.uid ?? '') as ReplicaSet
      const count = Math.min(sizeOf(set), surplus - taken)
      await take(set, count)
      taken = total - cleaned
    }
    return { old: result(), scaled: total > 0 }
  }

  private async recreate(): Promise<number | undefined> {
    let { newSet, old } = await this.split(false)
    let scaled = false
    const resized: ReplicaSet[] = []
    for (const set of old) {
      const r = sizeOf(set) > 0 ? await this.resizeIfDifferent(set, 0) : { set, scaled: false }
      resized.push(r.set)
      scaled ||= r.scaled
    }
    old = resized
    if (scaled) return this.syncRollout(newSet, old)
    const running = old.some((s) => (s.status.replicas ?? 0) > 0) || this.setsWithPods().some((uid) => uid !== newSet?.metadata.uid && this.hasLivePods(uid))
    if (running) return this.syncRollout(newSet, old)
    if (!newSet) ({ newSet, old } = await this.split(true))
    if (newSet) newSet = (await this.resizeIfDifferent(newSet, replicasOf(this.deployment))).set
    if (isComplete(this.deployment, this.deployment.status)) await this.cleanUp(old)
    return this.syncRollout(newSet, old)
  }

  private async syncRollout(newSet: ReplicaSet | undefined, old: readonly ReplicaSet[]): Promise<number | undefined> {
    const all = withNew(old, newSet)
    const status = calculateStatus(all, newSet, this.deployment, this.now)
    judgeProgress(status, this.deployment, all, newSet, this.now)
    if (deepEqual(status, this.deployment.status)) return progressCheckAfter(this.deployment, status, this.now)
    await this.writeStatus(status)
    return undefined
  }

  /** Spreads a change of spec.replicas over the ReplicaSets that have Pods. */
  private async scale(newSet: ReplicaSet | undefined, old: readonly ReplicaSet[]): Promise<{ newSet: ReplicaSet | undefined; old: ReplicaSet[] }> {
    const wanted = replicasOf(this.deployment)
    const current = new Map(withNew(old, newSet).map((s) => [s.metadata.uid ?? '', s]))
    const result = () => ({
      newSet: newSet && current.get(newSet.metadata.uid ?? ''),
      old: old.map((s) => current.get(s.metadata.uid ?? '') as ReplicaSet),
    })
    const put = async (set: ReplicaSet, work: Promise<{ set: ReplicaSet }>) => void current.set(set.metadata.uid ?? '', (await work).set)
    const active = activeSets(withNew(old, newSet))
    if (active.length <= 1) {
      const one = active[0] ?? newSet ?? [...old].sort(oldestFirst).at(-1)
      if (one) await put(one, this.resizeIfDifferent(one, wanted))
      return result()
    }
    const saturated = newSet && sizeOf(newSet) === wanted && desiredReplicasOf(newSet) === wanted && (newSet.status.availableReplicas ?? 0) === wanted
    if (saturated) {
      for (const set of activeSets(old)) await put(set, this.resizeIfDifferent(set, 0))
      return result()
    }
    if (!isRolling(this.deployment)) return result()
    const toAdd = (wanted > 0 ? wanted + maxSurge(this.deployment) : 0) - sumSizes(active)
    const order = [...active].sort(largestFirst(toAdd > 0))
    let added = 0
    const sizes = order.map((set) => {
      const share = proportion(set, this.deployment, toAdd, added)
      added += share
      return sizeOf(set) + share
    })
    for (const [i, set] of order.entries()) {
      let size = sizes[i] as number
      if (i === 0 && toAdd !== 0) size = Math.max(0, size + toAdd - added)
      await put(set, this.resize(set, size))
    }
    return result()
  }

  /** Deletes the oldest revisions over the limit. */
  private async cleanUp(old: readonly ReplicaSet[]): Promise<void> {
    const limit = this.deployment.spec.revisionHistoryLimit
    if (limit === undefined || limit === MAX_INT32) return
    const candidates = old.filter((s) => !s.metadata.deletionTimestamp)
    const surplus = candidates.length - limit
    if (surplus <= 0) return
    candidates.sort((a, b) => (revisionOf(a) ?? 0) - (revisionOf(b) ?? 0) || oldestFirst(a, b))
    for (const set of candidates.slice(0, surplus)) {
      const busy = (set.status.replicas ?? 0) !== 0 || sizeOf(set) !== 0
      if (busy || (set.metadata.generation ?? 0) > (set.status.observedGeneration ?? 0)) continue
      try {
        await this.setsClient().delete(set.metadata.name ?? '', { propagationPolicy: 'Background' })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
  }

  private rollbackRevision(): number | undefined {
    const text = this.deployment.metadata.annotations?.[ROLLBACK_TO]
    return text !== undefined && /^-?[0-9]+$/.test(text) ? Number(text) : undefined
  }

  private async rollback(): Promise<undefined> {
    let revision = this.rollbackRevision() as number
    await this.split(true)
    const byRevision = this.sets.map((s) => ({ set: s, revision: revisionOf(s) ?? 0 })).sort((a, b) => b.revision - a.revision)
    let missing = ''
    if (revision === 0) {
      revision = byRevision[1]?.revision ?? 0
      if (revision === 0) missing = 'Unable to find last revision.'
    }
    const target = missing === '' ? byRevision.find((r) => r.revision === revision)?.set : undefined
    if (!target) {
      this.event('Warning', 'DeploymentRollbackRevisionNotFound', missing || 'Unable to find the revision to rollback to.')
    } else if (sameTemplate(target.spec.template, this.deployment.spec.template)) {
      this.event(
        'Warning',
        'DeploymentRollbackTemplateUnchanged',
        `The rollback revision contains the same template as current deployment ${quote(this.deployment.metadata.name ?? '')}`,
      )
    } else {
      this.deployment.spec.template = withoutHash(target.spec.template)
      this.deployment.metadata.annotations = rollbackAnnotations(this.deployment, target)
      this.event('Normal', 'DeploymentRollback', `Rolled back deployment ${quote(this.deployment.metadata.name ?? '')} to revision ${revision}`)
    }
    const annotations = { ...this.deployment.metadata.annotations }
    delete annotations[ROLLBACK_TO]
    this.deployment.metadata.annotations = annotations
    await this.context.client.resource(resources.appsv1.deployments).namespace(this.deployment.metadata.namespace).update(deepCopy(this.deployment))
  }
}

function withNew(old: readonly ReplicaSet[], newSet: ReplicaSet | undefined): ReplicaSet[] {
  return newSet ? [...old, newSet] : [...old]
}

function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const copy = deepCopy(template)
  if (copy.metadata?.labels) {
    delete copy.metadata.labels[HASH_LABEL]
    if (Object.keys(copy.metadata.labels).length === 0) delete copy.metadata.labels
  }
  return copy
}

/** Equal but for the hash label. */
export function sameTemplate(a: PodTemplateSpec, b: PodTemplateSpec): boolean {
  return deepEqual(withoutHash(a), withoutHash(b))
}
