import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import type { Node, Pod, PodStatus, Secret, Service } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/index.ts'
import { formatTime } from '../apimachinery/time.ts'
import { BoundedMap } from '../base/bounded-map.ts'
import { deepEqual } from '../base/index.ts'
import { SharedInformer } from '../client/cache/informer.ts'
import { EventBroadcaster, type EventRecorder } from '../client/record/event-recorder.ts'
import { admit } from './admission/admission.ts'
import { KUBELET_VERSION, type KubeletOptions } from './config.ts'
import type { FieldSources } from './env/field-path.ts'
import { EvictionManager } from './eviction/eviction-manager.ts'
import { ImageGc } from './gc/image-gc.ts'
import { rotateLogs } from './gc/log-rotation.ts'
import { ImageManager } from './images/image-manager.ts'
import { firstAddress, thisMachine } from './node/machine.ts'
import { NodeManager } from './node/node-manager.ts'
import { capacityOf, type NodeShape, newNode, nodeStatus } from './node/node-object.ts'
import { annotations, format, fullName, isHostNetwork, isMirror, isStatic, nameOf, namespaceOf, podReference, uidOf } from './pods/pod.ts'
import { apiPodSource, type PodSink } from './pods/pod-source.ts'
import { type PodSyncer, PodWorker } from './pods/pod-worker.ts'
import { Prober } from './prober/prober.ts'
import { emptyPodState, hasRunning, type PodState, podIPs, readPodState } from './runtime/pod-state.ts'
import { relist } from './runtime/relist.ts'
import { type ContainerRuntime, type ContainerStatus, runtimeAnnotations, runtimeLabels } from './runtime/runtime.ts'
import { FileSource } from './static-pods/file-source.ts'
import { deleteMirror, ensureMirror } from './static-pods/mirror.ts'
import type { StatusSources } from './status/container-statuses.ts'
import { podStatus } from './status/pod-status.ts'
import { StatusManager } from './status/status-manager.ts'
import { terminationMessage } from './status/termination-message.ts'
import { dnsFor } from './sync/dns.ts'
import { PodRuntime } from './sync/pod-runtime.ts'
import { ObjectCache } from './volumes/object-cache.ts'
import { TokenCache } from './volumes/token-cache.ts'
import { VolumeManager } from './volumes/volume-manager.ts'

export function createKubelet(options: KubeletOptions): Kubelet {
  return new Kubelet(options)
}

const RELIST_MS = 1000
const RELIABLE_RELIST_MS = 300_000
const HOUSEKEEPING_MS = 60_000
const NETWORK_RETRY_MS = 1000
/** A failure stays to be seen before the next look may replace it by a wait. */
const AFTER_FAILURE_MS = 1000
const CARE_MS = 10_000
/** Images are looked after every five minutes. */
const IMAGE_GC_ROUNDS = 30
const MIRROR_RETRY_MS = 1000
const ORPHAN_GRACE_SECONDS = 1

const MAX_MESSAGES = 2000

/** The agent of one node: Pods from the API and from manifests, run through a container runtime, told of in the API. */
export class Kubelet implements PodSyncer {
  readonly options: KubeletOptions
  readonly nodeName: string
  readonly runtime: ContainerRuntime
  readonly node: NodeManager
  readonly status: StatusManager
  readonly volumes: VolumeManager
  readonly prober: Prober
  readonly rootDir: string
  readonly logDir: string
  recorder: EventRecorder = { event: () => {} }
  private readonly shape: NodeShape
  private readonly podRuntime: PodRuntime
  private readonly imageGc: ImageGc
  /** Only for Pods with real processes and files. */
  private readonly eviction: EvictionManager | undefined
  private readonly objects: ObjectCache
  private readonly tokens: TokenCache
  private readonly workers = new Map<string, PodWorker>()
  private readonly mirrors = new Map<string, Pod>()
  private readonly states = new Map<string, PodState>()
  private readonly handlers = new Map<string, string>()
  private readonly refused = new Set<string>()
  /** Uid of the static Pod that holds a name. */
  private readonly names = new Map<string, string>()
  private readonly synced = { api: false, file: false }
  private serviceList: SharedInformer<Service> | undefined
  private stopping = false

  constructor(options: KubeletOptions) {
    this.options = options
    this.nodeName = options.nodeName
    const { client, runtime, clock, random, log } = options
    this.runtime = runtime
    this.rootDir = options.rootDir ?? '/var/lib/kubelet'
    this.logDir = options.logDir ?? '/var/log/pods'
    const machine = options.machine ?? thisMachine(this.rootDir)
    this.shape = {
      name: options.nodeName,
      hostname: options.hostname ?? options.nodeName,
      addresses: options.nodeIPs ?? [firstAddress()],
      machine,
      labels: options.nodeLabels ?? {},
      annotations: options.nodeAnnotations ?? {},
      taints: options.registerWithTaints ?? [],
      providerID: options.providerID,
      maxPods: options.maxPods ?? 110,
      capacity: options.capacity ?? {},
      reserved: options.reserved ?? { cpuMillis: 0, memoryBytes: 0 },
      kubeletVersion: options.version ?? KUBELET_VERSION,
      kubeletPort: options.port ?? 10250,
      unschedulable: options.unschedulable ?? false,
    }
    // The recorder is replaced when the kubelet runs: its parts see the one of the moment.
    const recorder: EventRecorder = { event: (...args) => this.recorder.event(...args) }
    this.objects = new ObjectCache(client, clock)
    this.tokens = new TokenCache(client, clock, random)
    this.node = new NodeManager({
      client,
      clock,
      random,
      log,
      recorder,
      runtime,
      shape: this.shape,
      register: options.registerNode ?? true,
      statusEveryMs: options.nodeStatusUpdateMs ?? 10_000,
      reportEveryMs: options.nodeStatusReportMs ?? 300_000,
      leaseSeconds: options.leaseSeconds ?? 40,
      problems: () => [],
      pressure: () => this.pressure(),
      onNode: () => this.onNode(),
    })
    this.status = new StatusManager({
      client,
      clock,
      log,
      apiPod: (pod) => this.apiPod(pod),
      canBeDeleted: (uid) => this.refused.has(uid) || this.workers.get(uid)?.state === 'finished',
    })
    this.prober = new Prober({
      runtime,
      clock,
      random,
      recorder,
      hostIP: () => this.shape.addresses[0] ?? '127.0.0.1',
      onChange: (uid) => this.workers.get(uid)?.wake(),
    })
    this.volumes = new VolumeManager({
      client,
      clock,
      random,
      recorder,
      rootDir: this.rootDir,
      objects: this.objects,
      tokens: this.tokens,
      mounter: options.mounter,
      fieldsOf: (pod) => this.fieldsOf(pod, this.knownIPs(pod)),
      isPretend: (pod) => this.runtimeOf(pod).pretend !== undefined,
    })
    this.imageGc = new ImageGc({ runtime, clock })
    const main = runtime.forHandler?.('') ?? runtime
    this.eviction =
      main.pretend || !options.evictionHard
        ? undefined
        : new EvictionManager({
            runtime,
            clock,
            recorder,
            node: this.node.reference(),
            rootDir: this.rootDir,
            pods: () => this.allPods(),
            evict: (uid, grace, change) => this.evict(uid, grace, change),
            reclaimDisk: async () => {
              await this.imageGc.collectAll()
            },
            onPressure: () => this.node.poke(),
          })
    this.podRuntime = new PodRuntime({
      runtime,
      clock,
      random,
      log,
      recorder,
      images: new ImageManager({ runtime, clock, recorder, ...(options.parallelPulls ? { parallel: options.parallelPulls } : {}) }),
      rootDir: this.rootDir,
      logDir: this.logDir,
      containerLogDir: options.containerLogDir,
      clusterDomain: options.clusterDomain ?? 'cluster.local',
      maxBackoffMs: options.maxContainerRestartPeriodMs ?? 300_000,
      mounter: options.mounter,
      memoryCapacity: machine.memoryBytes,
      cgroupRoot: options.cgroupRoot,
      environment: {
        configMap: (ns, name) => this.objects.configMap(ns, name),
        secret: (ns, name) => this.objects.secret(ns, name),
        services: () => this.services(),
      },
      inputs: { liveness: (id) => this.prober.result('liveness', id), startup: (id) => this.prober.result('startup', id) },
      dnsOf: (pod) =>
        // Files are work that needs no time: a virtual clock waits for them.
        clock.track(
          dnsFor(pod, {
            clusterDNS: options.clusterDNS ?? [],
            clusterDomain: options.clusterDomain ?? 'cluster.local',
            resolvConf: options.resolvConf ?? '/etc/resolv.conf',
            recorder,
          }),
        ),
      fieldsOf: (pod, ips) => this.fieldsOf(pod, isHostNetwork(pod) ? this.shape.addresses : ips),
      volumePath: (uid, name) => this.volumes.path(uid, name),
      handlerOf: (pod) => this.handlers.get(uidOf(pod)) ?? '',
      onSandboxReady: (pod, ips) => this.sandboxReady(pod, ips),
    })
  }

  /** Runs until the signal aborts; containers are left as they are. */
  async run(signal: AbortSignal): Promise<void> {
    const { options } = this
    const { client, clock, random, log } = options
    const broadcaster = new EventBroadcaster({ client, clock, random, log, signal })
    this.recorder = broadcaster.recorder('kubelet', this.nodeName)
    this.stopping = false
    this.recorder.event(this.node.reference(), 'Normal', 'Starting', 'Starting kubelet.')
    this.status.start(signal)
    const apiSource = options.podSource ?? apiPodSource({ client, clock, random, log, nodeName: this.nodeName })
    const work: Promise<unknown>[] = [
      this.node.run(signal),
      this.watchNode(signal),
      apiSource.run(this.sink('api'), signal),
      this.runtimeEvents(signal),
      this.housekeeping(signal),
      this.nodeCare(signal),
    ]
    if (options.staticPodPath) {
      const files = new FileSource({
        path: options.staticPodPath,
        nodeName: this.nodeName,
        clock,
        log,
        ...(options.applyPodDefaults ? { applyDefaults: options.applyPodDefaults } : {}),
        ...(options.validatePod ? { validate: options.validatePod } : {}),
        ...(options.fileCheckMs ? { pollMs: options.fileCheckMs } : {}),
        onInvalid: (file, message) =>
          this.recorder.event(this.node.reference(), 'Warning', 'FailedValidation', `Error validating pod from file ${file}, ignoring: ${message}`),
        onDuplicate: (pod) =>
          this.recorder.event(
            podReference(pod),
            'Warning',
            'FailedValidation',
            `Error validating pod ${format(pod)} from file due to duplicate pod name ${JSON.stringify(nameOf(pod))}, ignoring`,
          ),
      })
      work.push(files.run(this.sink('file'), signal))
    } else this.synced.file = true
    if (!options.services) {
      this.serviceList = new SharedInformer<Service>({ client, clock, random, log }, resources.corev1.services)
      work.push(this.serviceList.run(signal))
    }
    log.info('kubelet started', { node: this.nodeName, version: this.shape.kubeletVersion })
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    this.stopping = true
    for (const worker of this.workers.values()) worker.stop()
    this.prober.stopAll()
    await Promise.allSettled([...work, broadcaster.stopped()])
  }

  /** Every Pod the kubelet runs now, static ones as it holds them. */
  allPods(): Pod[] {
    return [...this.workers.values()].map((w) => ({ ...w.pod, status: this.status.get(w.pod) }))
  }

  /** A Pod by name, and by uid where one is given: that of a mirror Pod means the static one. */
  findPod(namespace: string, name: string, uid?: string): Pod | undefined {
    let found: Pod | undefined
    for (const w of this.workers.values()) {
      if (nameOf(w.pod) !== name || namespaceOf(w.pod) !== namespace) continue
      const mirror = this.mirrors.get(fullName(w.pod))
      if (uid !== undefined && uid !== w.uid && uid !== mirror?.metadata.uid) continue
      if (!found || w.state !== 'finished') found = w.pod
    }
    return found
  }

  stateOf(uid: string): PodState | undefined {
    return this.states.get(uid)
  }

  /** Ends a Pod for a reason of the node's own; the status tells why. */
  evict(uid: string, graceSeconds: number, change: (status: PodStatus) => void): void {
    this.workers.get(uid)?.end(graceSeconds, change)
  }

  // ---- sources

  private sink(source: 'api' | 'file'): PodSink {
    return {
      put: (pod) => this.put(source, pod),
      remove: (pod) => this.remove(source, pod),
      synced: () => {
        const first = !this.synced[source]
        this.synced[source] = true
        if (first && this.synced.api && this.synced.file) void this.cleanUp().catch(() => {})
      },
    }
  }

  private put(source: 'api' | 'file', given: Pod): void {
    if (this.stopping) return
    if (source === 'api' && isMirror(given)) {
      const before = this.mirrors.get(fullName(given))
      this.mirrors.set(fullName(given), given)
      const owner = this.staticPod(fullName(given))
      if (owner) {
        this.status.touch(owner.uid)
        if (!before || differs(before, given)) owner.wake()
      } else if (this.synced.file) this.dropMirror(given)
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
      this.status.touch(uid)
      return
    }
    if (this.refused.has(uid)) {
      this.status.touch(uid)
      return
    }
    this.add(pod)
  }

  private add(pod: Pod): void {
    const uid = uidOf(pod)
    const { clock, random, log } = this.options
    const terminal = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded'
    if (!terminal && !pod.metadata.deletionTimestamp) {
      const refusal = admit(pod, {
        node: this.nodeForAdmission(),
        nodeName: this.nodeName,
        others: [...this.workers.values()]
          .filter((w) => w.state !== 'finished' && !(w.pod.status?.phase === 'Failed' || w.pod.status?.phase === 'Succeeded'))
          .map((w) => w.pod),
        pressure: this.pressure(),
        os: this.shape.machine.os,
      })
      if (refusal) {
        this.refused.add(uid)
        this.recorder.event(podReference(pod), 'Warning', refusal.reason, refusal.message)
        this.status.set(pod, {
          phase: 'Failed',
          reason: refusal.reason,
          message: `Pod was rejected: ${refusal.message}`,
          ...(pod.status?.qosClass ? { qosClass: pod.status.qosClass } : {}),
        })
        if (isStatic(pod)) this.mirror(pod, undefined)
        return
      }
    }
    const worker = new PodWorker(pod, this, { clock, random, log })
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
    if (this.refused.delete(uid)) this.status.forget(uid)
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

  /** Uids that their source no longer has, until nothing is left of them on the node. */
  private readonly removed = new Set<string>()
  /** Pods whose source has them again before that: a manifest moved away and back is the same Pod. They start when it is over. */
  private readonly returned = new Map<string, Pod>()

  private staticPod(name: string): PodWorker | undefined {
    let found: PodWorker | undefined
    for (const w of this.workers.values()) if (isStatic(w.pod) && fullName(w.pod) === name && !this.removed.has(w.uid)) found = w
    return found
  }

  private apiPod(pod: Pod): Pod | undefined {
    if (isStatic(pod)) {
      const mirror = this.mirrors.get(fullName(pod))
      // A status is for the Pod the mirror stands for, not for its successor.
      return mirror && mirror.metadata.annotations?.[annotations.hash] === pod.metadata.annotations?.[annotations.hash] ? mirror : undefined
    }
    const worker = this.workers.get(uidOf(pod))
    if (worker) return this.removed.has(worker.uid) ? undefined : worker.pod
    return this.refused.has(uidOf(pod)) ? pod : undefined
  }

  private dropMirror(mirror: Pod): void {
    void deleteMirror(this.options.client, mirror).catch((error: Error) =>
      this.options.log.v(2).info('mirror pod not deleted', { pod: format(mirror), err: error.message }),
    )
  }

  private mirror(pod: Pod, worker: PodWorker | undefined): void {
    const { client, clock, log } = this.options
    const work = ensureMirror(client, pod, this.mirrors.get(fullName(pod)), this.node.current()).catch((error: Error) => {
      log.v(4).info('mirror pod not made yet', { pod: format(pod), err: error.message })
      return false
    })
    void work.then((there) => {
      if (!there && worker && !this.stopping && !worker.isEnding) clock.setTimeout(() => worker.wake(), MIRROR_RETRY_MS)
    })
  }

  // ---- the syncer's side of pod workers

  mustWait(pod: Pod): boolean {
    if (!isStatic(pod)) return false
    const name = fullName(pod)
    const holder = this.names.get(name)
    if (holder !== undefined && holder !== uidOf(pod) && this.workers.get(holder)?.state !== 'finished' && this.workers.has(holder)) return true
    this.names.set(name, uidOf(pod))
    return false
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<{ terminal: boolean; againInMs?: number }> {
    const uid = uidOf(pod)
    const { clock } = this.options
    await this.resolveHandler(pod)
    let state = await this.read(pod)
    const before = this.status.get(pod)
    this.prober.update(pod, state)
    const status = this.report(pod, state, false)
    if (isStatic(pod)) this.mirror(pod, this.workers.get(uid))
    if (status.phase === 'Failed' || status.phase === 'Succeeded' || before.phase === 'Failed' || before.phase === 'Succeeded') return { terminal: true }
    if (this.computedTerminal(pod, state)) return { terminal: true }
    const late = this.deadline(pod, status)
    if (late !== undefined && late <= 0) {
      const message = 'Pod was active on the node longer than the specified deadline'
      this.recorder.event(podReference(pod), 'Normal', 'DeadlineExceeded', message)
      this.workers.get(uid)?.end(undefined, (s) => {
        s.phase = 'Failed'
        s.reason = 'DeadlineExceeded'
        s.message = message
      })
      return { terminal: false }
    }
    const network = this.node.networkProblem()
    if (network !== undefined && !isHostNetwork(pod) && this.runtimeOf(pod) === this.runtimeOf(undefined)) {
      this.recorder.event(podReference(pod), 'Warning', 'NetworkNotReady', `network is not ready: ${network}`)
      return { terminal: false, againInMs: NETWORK_RETRY_MS }
    }
    if (this.runtimeOf(pod).pretend === undefined) await clock.track(fs.mkdir(join(this.volumes.podDir(uid), 'volumes'), { recursive: true, mode: 0o750 }))
    await this.volumes.mount(pod, signal)
    signal.throwIfAborted()
    const secrets = await this.pullSecrets(pod)
    const result = await this.podRuntime.syncPod(pod, state, secrets, signal)
    if (result.changed || result.error) {
      state = await this.read(pod)
      this.prober.update(pod, state)
      this.report(pod, state, false)
      this.prober.nudge(uid)
      await this.podRuntime.collect(state, 1)
    }
    if (result.changed) return { terminal: false, againInMs: result.error ? AFTER_FAILURE_MS : 0 }
    if (result.error) {
      if (result.retryAt === undefined) throw result.error
      return { terminal: false, againInMs: Math.max(100, result.retryAt - clock.now()) }
    }
    return late === undefined ? { terminal: false } : { terminal: false, againInMs: Math.min(late, HOUSEKEEPING_MS) }
  }

  async terminating(pod: Pod, graceSeconds: number | undefined, change: ((status: PodStatus) => void) | undefined): Promise<void> {
    const uid = uidOf(pod)
    let state = await this.read(pod)
    this.report(pod, state, false, change)
    this.prober.stopLiveness(uid)
    await this.podRuntime.killPod(pod, state, graceSeconds)
    this.prober.remove(uid)
    state = await this.read(pod)
    if (hasRunning(state)) throw new Error('containers are still running')
    this.report(pod, state, true, change)
  }

  async terminated(pod: Pod): Promise<void> {
    const uid = uidOf(pod)
    const state = await this.read(pod)
    this.report(pod, state, true)
    if (this.runtimeOf(pod).pretend === undefined) await this.options.clock.track(this.volumes.unmount(uid))
    this.status.terminate(pod)
  }

  finished(pod: Pod): void {
    const uid = uidOf(pod)
    if (this.names.get(fullName(pod)) === uid) this.names.delete(fullName(pod))
    const worker = this.workers.get(uid)
    if (this.removed.has(uid) && worker) this.forget(worker)
    else this.status.touch(uid)
    // One that waited for the name goes on.
    for (const w of this.workers.values()) if (w !== worker && fullName(w.pod) === fullName(pod)) w.wake()
  }

  hasten(pod: Pod, graceSeconds: number): void {
    const state = this.states.get(uidOf(pod))
    for (const c of state?.containers ?? []) {
      if (c.state === 'RUNNING') void this.runtime.stopContainer(c.id, Math.max(2, graceSeconds)).catch(() => {})
    }
  }

  private forget(worker: PodWorker): void {
    const { uid, pod } = worker
    const state = this.states.get(uid) ?? emptyPodState(uid, nameOf(pod), namespaceOf(pod), 0)
    worker.stop()
    this.workers.delete(uid)
    this.removed.add(uid)
    this.states.delete(uid)
    this.handlers.delete(uid)
    this.status.forget(uid)
    this.podRuntime.forget(uid)
    void this.podRuntime
      .removePod(state, state)
      .catch((error: Error) => this.options.log.v(2).info('pod not cleaned up', { pod: format(pod), err: error.message }))
      .then(() => {
        this.removed.delete(uid)
        const back = this.returned.get(uid)
        if (this.returned.delete(uid) && back) this.put(isStatic(back) ? 'file' : 'api', back)
      })
  }

  // ---- status

  private async read(pod: Pod): Promise<PodState> {
    const state = await readPodState(this.runtime, this.options.clock, { uid: uidOf(pod), name: nameOf(pod), namespace: namespaceOf(pod) })
    this.states.set(uidOf(pod), state)
    return state
  }

  private report(pod: Pod, state: PodState, terminating: boolean, change?: (status: PodStatus) => void): PodStatus {
    const status = this.statusOf(pod, state, terminating)
    change?.(status)
    return this.status.set(pod, status)
  }

  private statusOf(pod: Pod, state: PodState, terminating: boolean): PodStatus {
    const uid = uidOf(pod)
    const sources: StatusSources = {
      runtimeName: (id) => (this.runtime.route?.(id) ?? this.runtime).name,
      startFailure: (container) => this.podRuntime.startFailure(uid, container),
      terminationMessage: (s) => this.messages.get(s.id) ?? '',
    }
    this.collectMessages(pod, state)
    return podStatus(pod, state, {
      old: this.status.get(pod),
      apiConditions: this.apiPod(pod)?.status?.conditions ?? [],
      hostIPs: this.shape.addresses,
      prober: this.prober,
      sources,
      terminating,
      now: formatTime(this.options.clock.now()),
    })
  }

  /** Termination messages of ended containers, by id: their files may go before the status does. */
  private readonly messages = new BoundedMap<string, string>(MAX_MESSAGES)

  private collectMessages(pod: Pod, state: PodState): void {
    if (this.runtimeOf(pod).pretend) return
    for (const s of state.containers) {
      if (s.state !== 'EXITED' || this.messages.has(s.id)) continue
      this.messages.set(s.id, this.messageOf(s))
    }
  }

  private messageOf(s: ContainerStatus): string {
    const path = s.annotations[runtimeAnnotations.terminationMessagePath]
    const mount = s.mounts.find((m) => m.containerPath === path)
    const hasFile = (this.runtime.route?.(s.id) ?? this.runtime).logs === undefined
    return terminationMessage({
      file: mount?.hostPath,
      log: hasFile ? s.logPath : undefined,
      useLog: s.annotations[runtimeAnnotations.terminationMessagePolicy] === 'FallbackToLogsOnError' && s.exitCode !== 0,
    })
  }

  private computedTerminal(pod: Pod, state: PodState): boolean {
    const { phase } = this.statusOf(pod, state, false)
    return phase === 'Failed' || phase === 'Succeeded'
  }

  private sandboxReady(pod: Pod, _ips: string[]): void {
    void this.read(pod)
      .then((state) => {
        if (this.workers.get(uidOf(pod))?.state === 'syncing') this.report(pod, state, false)
      })
      .catch(() => {})
  }

  private deadline(pod: Pod, status: PodStatus): number | undefined {
    const seconds = pod.spec.activeDeadlineSeconds
    if (seconds === undefined || !status.startTime) return undefined
    return Date.parse(status.startTime) + seconds * 1000 - this.options.clock.now()
  }

  // ---- what Pods are made from

  private runtimeOf(pod: Pod | undefined): ContainerRuntime {
    const handler = pod ? (this.handlers.get(uidOf(pod)) ?? this.options.handlerOf?.(pod) ?? '') : ''
    return this.runtime.forHandler?.(handler) ?? this.runtime
  }

  private async resolveHandler(pod: Pod): Promise<void> {
    const uid = uidOf(pod)
    if (this.handlers.has(uid)) return
    const own = this.options.handlerOf?.(pod)
    if (own !== undefined) {
      this.handlers.set(uid, own)
      return
    }
    const name = pod.spec.runtimeClassName
    if (!name) {
      this.handlers.set(uid, '')
      return
    }
    try {
      const runtimeClass = await this.options.client.resource(resources.nodev1.runtimeclasses).get(name)
      if (/^k8ts-/.test(runtimeClass.handler)) throw new Error(`handler ${JSON.stringify(runtimeClass.handler)} is not for runtime classes`)
      this.handlers.set(uid, runtimeClass.handler)
    } catch (error) {
      this.recorder.event(
        podReference(pod),
        'Warning',
        'FailedCreatePodSandBox',
        `Failed to create pod sandbox: failed to get sandbox runtime: ${(error as Error).message}`,
      )
      throw error
    }
  }

  private services(): readonly Service[] | undefined {
    if (this.options.services) return this.options.services()
    return this.serviceList?.hasSynced() ? this.serviceList.lister.list() : undefined
  }

  private knownIPs(pod: Pod): readonly string[] {
    if (isHostNetwork(pod)) return this.shape.addresses
    const state = this.states.get(uidOf(pod))
    const ips = state ? podIPs(state) : []
    return ips.length > 0 ? ips : (this.status.get(pod).podIPs ?? []).map((p) => p.ip)
  }

  private fieldsOf(_pod: Pod, ips: readonly string[]): FieldSources {
    return { podIPs: ips, hostIPs: this.shape.addresses, allocatable: this.node.current()?.status?.allocatable ?? capacityOf(this.shape).allocatable }
  }

  private async pullSecrets(pod: Pod): Promise<Secret[]> {
    const names = (pod.spec.imagePullSecrets ?? []).map((r) => r.name ?? '').filter((n) => n !== '')
    if (names.length === 0) return []
    const found: Secret[] = []
    const missing: string[] = []
    for (const name of names) {
      try {
        found.push(await this.objects.secret(namespaceOf(pod), name))
      } catch {
        missing.push(name)
      }
    }
    if (missing.length > 0) {
      this.recorder.event(
        podReference(pod),
        'Warning',
        'FailedToRetrieveImagePullSecret',
        `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
      )
    }
    return found
  }

  // ---- the node

  private nodeForAdmission(): Node {
    const current = this.node.current()
    if (current?.status?.allocatable) return current
    const node = current ?? newNode(this.shape)
    return {
      ...node,
      status: nodeStatus(node, this.shape, { version: undefined, runtime: undefined, images: [], problems: [], pressure: this.pressure(), now: '' }),
    }
  }

  private pressure(): { memory: boolean; disk: boolean; pid: boolean } {
    return this.eviction?.pressure() ?? { memory: false, disk: false, pid: false }
  }

  private hadNode = false

  private onNode(): void {
    if (this.hadNode) return
    this.hadNode = true
    for (const w of this.workers.values()) if (isStatic(w.pod)) w.wake()
  }

  private async watchNode(signal: AbortSignal): Promise<void> {
    const { options } = this
    if (options.nodeSource) return options.nodeSource((node) => this.node.observe(node), signal)
    const informer = new SharedInformer<Node>(options, resources.corev1.nodes, { fieldSelector: `metadata.name=${this.nodeName}` })
    informer.addHandler({ onAdd: (node) => this.node.observe(node), onUpdate: (_before, node) => this.node.observe(node) })
    await informer.run(signal)
  }

  // ---- the runtime

  private async runtimeEvents(signal: AbortSignal): Promise<void> {
    const { clock } = this.options
    const listen = async () => {
      while (!signal.aborted) {
        try {
          await this.runtime.events((event) => {
            if (event.podUid !== undefined) this.workers.get(event.podUid)?.wakeSoon()
            else this.wakeOwner(event.containerId)
          }, signal)
        } catch {
          // Relisting sees what is missed.
        }
        if (!signal.aborted) await clock.sleep(RELIST_MS, signal).catch(() => {})
      }
    }
    await Promise.all([
      listen(),
      relist(
        {
          runtime: this.runtime,
          clock,
          everyMs: this.runtime.eventsReliable ? RELIABLE_RELIST_MS : RELIST_MS,
          onChange: (uid) => this.workers.get(uid)?.wake(),
        },
        signal,
      ),
    ])
  }

  private wakeOwner(id: string): void {
    for (const [uid, state] of this.states) {
      if (state.containers.some((c) => c.id === id) || state.sandboxes.some((s) => s.id === id)) this.workers.get(uid)?.wakeSoon()
    }
  }

  /** Memory, disk, logs and images of a node with real containers. */
  private async nodeCare(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options
    if ((this.runtime.forHandler?.('') ?? this.runtime).pretend) return
    let rounds = 0
    let imageFailures = 0
    while (!signal.aborted) {
      await clock.sleep(CARE_MS, signal).catch(() => {})
      if (signal.aborted) return
      try {
        await this.eviction?.round()
        await rotateLogs({ runtime: this.runtime, clock })
      } catch (error) {
        log.v(2).info('care for the node failed', { err: (error as Error).message })
      }
      if (!this.eviction || ++rounds % IMAGE_GC_ROUNDS !== 0) continue
      try {
        const problem = await this.imageGc.collect()
        if (problem) this.recorder.event(this.node.reference(), 'Warning', 'FreeDiskSpaceFailed', problem)
        imageFailures = 0
      } catch (error) {
        if (++imageFailures > 1) this.recorder.event(this.node.reference(), 'Warning', 'ImageGCFailed', (error as Error).message)
      }
    }
  }

  private async housekeeping(signal: AbortSignal): Promise<void> {
    const { clock } = this.options
    while (!signal.aborted) {
      await clock.sleep(HOUSEKEEPING_MS, signal).catch(() => {})
      if (signal.aborted) return
      this.podRuntime.gc()
      if (this.synced.api && this.synced.file)
        await this.cleanUp().catch((error: Error) => this.options.log.v(2).info('housekeeping failed', { err: error.message }))
    }
  }

  /** Ends and removes what the runtime and the disk hold of Pods that no source knows. */
  private async cleanUp(): Promise<void> {
    for (const mirror of this.mirrors.values()) if (!this.staticPod(fullName(mirror))) this.dropMirror(mirror)
    const unknown = new Map<string, { uid: string; name: string; namespace: string }>()
    for (const s of await this.runtime.listPodSandboxes()) {
      const uid = s.labels[runtimeLabels.podUid]
      if (uid === undefined || this.workers.has(uid)) continue
      unknown.set(uid, { uid, name: s.metadata.name, namespace: s.metadata.namespace })
    }
    for (const id of unknown.values()) {
      const state = await readPodState(this.runtime, this.options.clock, id)
      for (const c of state.containers) if (c.state === 'RUNNING') await this.runtime.stopContainer(c.id, ORPHAN_GRACE_SECONDS)
      await this.podRuntime.removePod(id, state)
    }
    for (const uid of await this.options.clock.track(this.volumes.onDisk())) if (!this.workers.has(uid)) await this.volumes.unmount(uid)
  }
}

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
