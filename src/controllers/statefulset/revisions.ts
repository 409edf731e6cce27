import type { ControllerRevision, StatefulSet } from '../../api/apps/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { selectorFromLabelSelector } from '../../apimachinery/labels.ts'
import { fnv132 } from '../../base/fnv.ts'
import { deepCopy } from '../../base/index.ts'
import type { Informer } from '../../client/index.ts'
import { createRevision, deleteRevision, templatePatch } from '../../controller-runtime/controller-revisions.ts'
import { type ControllerContext, claim, claimable, indexByController, safeEncode, stableJson } from '../../controller-runtime/index.ts'

const HASH_LABEL = 'controller.kubernetes.io/hash'
const MAX_PREFIX = 223

export interface Revisions {
  current: ControllerRevision
  update: ControllerRevision
  collisionCount: number
  all: ControllerRevision[]
}

/** The revisions of StatefulSets. */
export class StatefulSetRevisions {
  private readonly context: ControllerContext
  readonly informer: Informer<ControllerRevision>

  constructor(context: ControllerContext) {
    this.context = context
    this.informer = context.informers.informer(resources.appsv1.controllerrevisions)
    indexByController(this.informer)
  }

  private client(set: StatefulSet) {
    return this.context.client.resource(resources.appsv1.controllerrevisions).namespace(set.metadata.namespace)
  }

  async of(set: StatefulSet): Promise<Revisions> {
    const candidates = claimable(this.informer.lister, set)
    const all = await claim(candidates, {
      client: this.context.client,
      owner: set,
      ownerHandle: resources.appsv1.statefulsets,
      handle: resources.appsv1.controllerrevisions,
      selector: selectorFromLabelSelector(set.spec.selector),
    })
    all.sort((a, b) => a.revision - b.revision || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
    const data = templatePatch(set)
    const text = stableJson(data)
    const next = (all.at(-1)?.revision ?? 0) + 1
    let collisionCount = set.status.collisionCount ?? 0
    const equal = all.filter((r) => stableJson(r.data) === text).at(-1)
    let update: ControllerRevision
    if (equal && equal === all.at(-1)) update = equal
    else if (equal) update = await this.client(set).update({ ...deepCopy(equal), revision: next })
    else ({ revision: update, collisionCount } = await this.make(set, data, next, collisionCount))
    const current = all.find((r) => r.metadata.name === set.status.currentRevision) ?? update
    return { current, update, collisionCount, all }
  }

  private async make(
    set: StatefulSet,
    data: Record<string, unknown>,
    revision: number,
    collisions: number,
  ): Promise<{ revision: ControllerRevision; collisionCount: number }> {
    const text = stableJson(data)
    for (let collisionCount = collisions; ; collisionCount++) {
      const hash = safeEncode(String(fnv132(new TextEncoder().encode(text + collisionCount))))
      const name = `${(set.metadata.name ?? '').slice(0, MAX_PREFIX)}-${hash}`
      const made = await createRevision(this.context.client, set, resources.appsv1.statefulsets, { name, hashLabel: HASH_LABEL, hash, data, revision })
      if (made) return { revision: made, collisionCount }
    }
  }

  /** Deletes the oldest revisions that neither the status nor a Pod names, over the limit. */
  async truncate(set: StatefulSet, revisions: Revisions, live: ReadonlySet<string>): Promise<void> {
    const limit = set.spec.revisionHistoryLimit ?? 10
    const keep = new Set([revisions.current.metadata.name, revisions.update.metadata.name, ...live])
    const history = revisions.all.filter((r) => !keep.has(r.metadata.name ?? ''))
    for (const revision of history.slice(0, Math.max(0, history.length - limit))) await deleteRevision(this.context.client, revision)
  }
}
