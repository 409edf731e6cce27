import type { Node, Pod, PodStatus } from '../../api/core/v1/types.generated.ts'
import { deepEqual } from '../../base/deep-freeze.ts'
import type { Clock, Random } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/record/event-recorder.ts'
import type { Logger } from '../../component-base/component.ts'
import type { Refusal } from '../admission/admission.ts'
import { deleteMirror, ensureMirror } from '../static-pods/mirror.ts'
import type { StatusManager } from '../status/status-manager.ts'
import { annotations, format, fullName, isMirror, isStatic, nameOf, namespaceOf, podReference, uidOf } from './pod.ts'
import type { PodSink } from './pod-source.ts'
import { type PodSyncer, PodWorker } from './pod-worker.ts'

const MIRROR_RETRY_MS = 1000

export interface PodManagerOptions {
  client: Client
  clock: Clock
  random: Random
  log: Logger
  recorder: EventRecorder
  status: StatusManager
  /** What the workers do with their Pods. */
  syncer(): PodSyncer
  /** The Node object that owns mirror Pods. */
  node(): Node | undefined
  /** @param others the Pods that hold resources of the node */
  admit(pod: Pod, others: readonly Pod[]): Refusal | undefined
  /** All sources have told what they have. */
  onSynced(): void
  /** No source has the Pod any more and its worker is done: removes what is left of it on the node. */
  onGone(pod: Pod): Promise<void>
}

/**
 * The Pods of a node as their sources have them, each with its worker: those of the API, static ones with their mirrors, and those the
 * node refused. A static Pod counts by its own uid, never by its mirror's.
 */
export class PodManager {
  private readonly options: PodManagerOptions
  private readonly workers = new Map<string, PodWorker>()
  private readonly mirrors = new Map<string, Pod>()
  private readonly refused = new Set<string>()
  /** Uids that their source no longer has, until nothing is left of them on the node. */
  private readonly removed = new Set<string>()
  /** Pods whose source has them again before that: a manifest moved away and back is the same Pod. They start when it is over. */
  private readonly returned = new Map<string, Pod>()
  /** Uid of the static Pod that holds a name. */
  private readonly names = new Map<string, string>()
  private readonly told = { api: false, file: false }
  private stopping = false

  constructor(options: PodManagerOptions) {
    this.options = options
  }

  /** @param files whether there is a source of static Pods */
  start(files: boolean): void {
    this.stopping = false
    if (!files) this.told.file = true
  }

  /** Workers do nothing more; containers live on. */
  stop(): void {
    this.stopping = true
    for (const worker of this.workers.values()) worker.stop()
  }

  /** Whether all sources have told what they have. */
  get synced(): boolean {
    return this.told.api && this.told.file
  }

  all(): IterableIterator<PodWorker> {
    return this.workers.values()
  }

  worker(uid: string): PodWorker | undefined {
    return this.workers.get(uid)
  }

  /** A Pod by name, and by uid where one is given: that of a mirror Pod means the static one. */
  find(namespace: string, name: string, uid?: string): Pod | undefined {
    let found: Pod | undefined
    for (const w of this.workers.values()) {
      if (nameOf(w.pod) !== name || namespaceOf(w.pod) !== namespace) continue
      const mirror = this.mirrors.get(fullName(w.pod))
      if (uid !== undefined && uid !== w.uid && uid !== mirror?.metadata.uid) continue
      if (!found || w.state !== 'finished') found = w.pod
    }
    return found
  }

  /** Ends a Pod for a reason of the node's own; the status tells why. */
  end(uid: string, graceSeconds: number | undefined, change: (status: PodStatus) => void): void {
    this.workers.get(uid)?.end(graceSeconds, change)
  }

  /** Whether nothing of the Pod runs or will: its object may go from the API. */
  isOver(uid: string): boolean {
    return this.refused.has(uid) || this.workers.get(uid)?.state === 'finished'
  }

  /** The object in the API that shows the Pod: its own or its mirror. */
  apiPod(pod: Pod): Pod | undefined {
    if (isStatic(pod)) {
      const mirror = this.mirrors.get(fullName(pod))
      // A status is for the Pod the mirror stands for, not for its successor.
      return mirror && mirror.metadata.annotations?.[annotations.hash] === pod.metadata.annotations?.[annotations.hash] ? mirror : undefined
    }
    const worker = this.workers.get(uidOf(pod))
    if (worker) return this.removed.has(worker.uid) ? undefined : worker.pod
    return this.refused.has(uidOf(pod)) ? pod : undefined
  }

  /** Their mirrors can be made, or are known, now. */
  wakeStatic(): void {
    for (const w of this.workers.values()) if (isStatic(w.pod)) w.wake()
  }

  // ---- sources

  sink(source: 'api' | 'file'): PodSink {
    return {
      put: (pod) => this.put(source, pod),
      remove: (pod) => this.remove(source, pod),
      synced: () => {
        const first = !this.told[source]
        this.told[source] = true
        if (first && source === 'api') this.wakeStatic()
        if (first && this.synced) this.options.onSynced()
      },
    }
  }

  private put(source: 'api' | 'file', given: Pod): void {
    if (this.stopping) return
    const { status } = this.options
    if (source === 'api' && isMirror(given)) {
      const before = this.mirrors.get(fullName(given))
      this.mirrors.set(fullName(given), given)
      const owner = this.staticPod(fullName(given))
      if (owner) {
        status.touch(owner.uid)
        if (!before || differs(before, given)) owner.wake()
      } else if (this.told.file) this.dropMirror(given)
      return
    }
    const pod = source === 'api' ? withSource(given) : given
    const uid = uidOf(pod)
    if (this.removed.has(uid)) {
      this.returned.set(uid, pod)
      return
    }
    const worker = this.workers.get(uid)
    if (worker) {
      // A change of the status alone is mostly the kubelet's own writing.
      if (!differs(worker.pod, pod) && !pod.spec.readinessGates?.length) worker.pod = pod
      else worker.update(pod)
      status.touch(uid)
      return
    }
    if (this.refused.has(uid)) {
      status.touch(uid)
      return
    }
    this.add(pod)
  }

  private add(pod: Pod): void {
    const uid = uidOf(pod)
    const { options } = this
    const terminal = hasEnded(pod)
    if (!terminal && !pod.metadata.deletionTimestamp) {
      // What a source no longer has holds nothing any more, even while its containers end.
      const holds = (w: PodWorker) => w.state !== 'finished' && !this.removed.has(w.uid) && !hasEnded(w.pod)
      const others = [...this.workers.values()].filter(holds).map((w) => w.pod)
      const refusal = options.admit(pod, others)
      if (refusal) {
        this.refused.add(uid)
        options.recorder.event(podReference(pod), 'Warning', refusal.reason, refusal.message)
        options.status.set(pod, {
          phase: 'Failed',
          reason: refusal.reason,
          message: `Pod was rejected: ${refusal.message}`,
          ...(pod.status?.qosClass ? { qosClass: pod.status.qosClass } : {}),
        })
        if (isStatic(pod)) this.mirror(pod)
        return
      }
    }
    const worker = new PodWorker(pod, options.syncer(), options)
    this.workers.set(uid, worker)
    if (pod.metadata.deletionTimestamp) worker.end(pod.metadata.deletionGracePeriodSeconds ?? undefined)
    else if (terminal) worker.end(undefined)
    worker.wake()
  }

  private remove(source: 'api' | 'file', pod: Pod): void {
    if (source === 'api' && isMirror(pod)) {
      const name = fullName(pod)
      if (this.mirrors.get(name)?.metadata.uid === pod.metadata.uid) this.mirrors.delete(name)
      this.staticPod(name)?.wake()
      return
    }
    const uid = uidOf(pod)
    if (this.returned.delete(uid)) return
    if (this.refused.delete(uid)) this.options.status.forget(uid)
    const worker = this.workers.get(uid)
    if (!worker) return
    if (source === 'file') {
      const mirror = this.mirrors.get(fullName(pod))
      if (mirror) this.dropMirror(mirror)
    }
    if (worker.state === 'finished') {
      this.forget(worker)
      return
    }
    worker.pod = source === 'api' && pod.metadata.deletionTimestamp ? withSource(pod) : worker.pod
    this.removed.add(uid)
    worker.end(pod.metadata.deletionGracePeriodSeconds ?? undefined)
  }

  private forget(worker: PodWorker): void {
    const { uid, pod } = worker
    const { options } = this
    worker.stop()
    this.workers.delete(uid)
    this.removed.add(uid)
    options.status.forget(uid)
    void options
      .onGone(pod)
      .catch((error: Error) => options.log.v(2).info('pod not cleaned up', { pod: format(pod), err: error.message }))
      .then(() => {
        this.removed.delete(uid)
        const back = this.returned.get(uid)
        if (this.returned.delete(uid) && back) this.put(isStatic(back) ? 'file' : 'api', back)
      })
  }

  // ---- static Pods

  private staticPod(name: string): PodWorker | undefined {
    let found: PodWorker | undefined
    for (const w of this.workers.values()) if (isStatic(w.pod) && fullName(w.pod) === name && !this.removed.has(w.uid)) found = w
    return found
  }

  /** Makes the mirror of a static Pod, or renews it; tried again while the Pod's worker lives. */
  mirror(pod: Pod): void {
    const { client, clock, log } = this.options
    const worker = this.workers.get(uidOf(pod))
    // Which mirrors there are is known then, and the worker is woken.
    if (worker && !this.told.api) return
    const work = ensureMirror(client, pod, this.mirrors.get(fullName(pod)), this.options.node()).catch((error: Error) => {
      log.v(4).info('mirror pod not made yet', { pod: format(pod), err: error.message })
      return false
    })
    void work.then((there) => {
      if (!there && worker && !this.stopping && !worker.isEnding) clock.setTimeout(() => worker.wake(), MIRROR_RETRY_MS)
    })
  }

  /** Deletes mirrors whose static Pod is not there. */
  dropMirrors(): void {
    for (const mirror of this.mirrors.values()) if (!this.staticPod(fullName(mirror))) this.dropMirror(mirror)
  }

  private dropMirror(mirror: Pod): void {
    const { client, log } = this.options
    void deleteMirror(client, mirror).catch((error: Error) => log.v(2).info('mirror pod not deleted', { pod: format(mirror), err: error.message }))
  }

  // ---- what workers ask

  /** Two static Pods of one name never run at a time. */
  mustWait(pod: Pod): boolean {
    if (!isStatic(pod)) return false
    const name = fullName(pod)
    const holder = this.names.get(name)
    if (holder !== undefined && holder !== uidOf(pod) && this.workers.get(holder)?.state !== 'finished' && this.workers.has(holder)) return true
    this.names.set(name, uidOf(pod))
    return false
  }

  finished(pod: Pod): void {
    const uid = uidOf(pod)
    if (this.names.get(fullName(pod)) === uid) this.names.delete(fullName(pod))
    const worker = this.workers.get(uid)
    if (this.removed.has(uid) && worker) this.forget(worker)
    else this.options.status.touch(uid)
    // One that waited for the name goes on.
    for (const w of this.workers.values()) if (w !== worker && fullName(w.pod) === fullName(pod)) w.wake()
  }
}

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded'

/** Whether anything the kubelet acts on changed. */
function differs(a: Pod, b: Pod): boolean {
  const x = a.metadata
  const y = b.metadata
  return (
    x.deletionTimestamp !== y.deletionTimestamp ||
    x.deletionGracePeriodSeconds !== y.deletionGracePeriodSeconds ||
    !deepEqual(x.labels ?? {}, y.labels ?? {}) ||
    !deepEqual(x.annotations ?? {}, y.annotations ?? {}) ||
    x.generation !== y.generation ||
    (y.generation === undefined && !deepEqual(a.spec, b.spec))
  )
}

/** The Pod with the annotation that tells its source apart; the API's object is not touched. */
function withSource(pod: Pod): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [annotations.source]: 'api' } } }
}
