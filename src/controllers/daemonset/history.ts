import type { ControllerRevision, DaemonSet } from '../../api/apps/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { deepCopy } from '../../base/index.ts'
import type { Informer } from '../../client/index.ts'
import { createRevision, deleteRevision, templatePatch } from '../../controller-runtime/controller-revisions.ts'
import { type ControllerContext, claim, claimable, indexByController, podTemplateHash, stableJson } from '../../controller-runtime/index.ts'
import { HASH_LABEL } from './placement.ts'

export interface History {
  current: ControllerRevision
  old: ControllerRevision[]
}

/** The revisions of DaemonSets: each template that was in force, so that it can be gone back to. */
export class DaemonSetHistory {
  private readonly context: ControllerContext
  private readonly revisions: Informer<ControllerRevision>

  constructor(context: ControllerContext) {
    this.context = context
    this.revisions = context.informers.informer(resources.appsv1.controllerrevisions)
    indexByController(this.revisions)
  }

  get informer(): Informer<ControllerRevision> {
    return this.revisions
  }

  /** Finds or makes the revision of the present template; its number is the highest. */
  async construct(set: DaemonSet): Promise<History> {
    const { client } = this.context
    const candidates = claimable(this.revisions.lister, set)
    const all = await claim(candidates, {
      client,
      owner: set,
      ownerHandle: resources.appsv1.daemonsets,
      handle: resources.appsv1.controllerrevisions,
      selector: selectorFromLabelSelector(set.spec.selector),
    })
    const wanted = stableJson(templatePatch(set))
    const same = all.filter((r) => stableJson(r.data) === wanted)
    const old = all.filter((r) => !same.includes(r))
    const number = Math.max(0, ...old.map((r) => r.revision)) + 1
    if (same.length === 0) return { current: await this.snapshot(set, number), old }
    same.sort((a, b) => b.revision - a.revision)
    let current = same[0] as ControllerRevision
    for (const duplicate of same.slice(1)) await deleteRevision(client, duplicate)
    if (current.revision < number) {
      current = await this.client(set).update({ ...deepCopy(current), revision: number })
    }
    return { current, old }
  }

  private client(set: DaemonSet) {
    return this.context.client.resource(resources.appsv1.controllerrevisions).namespace(set.metadata.namespace)
  }

  private async snapshot(set: DaemonSet, revision: number): Promise<ControllerRevision> {
    const hash = podTemplateHash(set.spec.template, set.status.collisionCount)
    const name = `${set.metadata.name}-${hash}`
    const { client } = this.context
    const made = await createRevision(client, set, resources.appsv1.daemonsets, { name, hashLabel: HASH_LABEL, hash, data: templatePatch(set), revision })
    if (made) return made
    const copy = deepCopy(set)
    copy.status.collisionCount = (copy.status.collisionCount ?? 0) + 1
    await client.resource(resources.appsv1.daemonsets).namespace(set.metadata.namespace).updateStatus(copy)
    throw new Error(`found a stale collision count of DaemonSet ${set.metadata.name}`)
  }

  /** Deletes the oldest revisions over the limit, but none that a Pod still has. */
  async cleanUp(set: DaemonSet, old: readonly ControllerRevision[], liveHashes: ReadonlySet<string>): Promise<void> {
    let surplus = old.length - (set.spec.revisionHistoryLimit ?? 10)
    for (const revision of [...old].sort((a, b) => a.revision - b.revision)) {
      if (surplus <= 0) return
      if (liveHashes.has(revision.metadata.labels?.[HASH_LABEL] ?? '')) continue
      await deleteRevision(this.context.client, revision)
      surplus--
    }
  }
}
