import type { Node, Pod, PodStatus, Service } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/index.ts'
import { SharedInformer } from '../client/cache/informer.ts'
import { EventBroadcaster, type EventRecorder } from '../client/record/event-recorder.ts'
import { admit } from './admission/admission.ts'
import { KUBELET_VERSION, type KubeletOptions } from './config.ts'
import type { FieldSources } from './env/field-path.ts'
import { EvictionManager } from './eviction/eviction-manager.ts'
import { ImageGc } from './gc/image-gc.ts'
import { careForNode } from './gc/node-care.ts'
import { removeOrphans } from './gc/orphans.ts'
import { ImageManager } from './images/image-manager.ts'
import { firstAddress, thisMachine } from './node/machine.ts'
import { NodeManager } from './node/node-manager.ts'
import { capacityOf, type NodeShape, newNode, nodeStatus } from './node/node-object.ts'
import { format, isHostNetwork, nameOf, podReference, uidOf } from './pods/pod.ts'
import { PodManager } from './pods/pod-manager.ts'
import { apiPodSource } from './pods/pod-source.ts'
import { Prober } from './prober/prober.ts'
import { watchRuntime } from './runtime/changes.ts'
import { RuntimeHandlers } from './runtime/handlers.ts'
import { type PodState, podIPs } from './runtime/pod-state.ts'
import { PodStates } from './runtime/pod-states.ts'
import type { ContainerRuntime } from './runtime/runtime.ts'
import { FileSource } from './static-pods/file-source.ts'
import { StatusManager } from './status/status-manager.ts'
import { dnsFor } from './sync/dns.ts'
import { PodLifecycle } from './sync/pod-lifecycle.ts'
import { PodRuntime } from './sync/pod-runtime.ts'
import { ObjectCache } from './volumes/object-cache.ts'
import { TokenCache } from './volumes/token-cache.ts'
import { VolumeManager } from './volumes/volume-manager.ts'

export function createKubelet(options: KubeletOptions): Kubelet {
  return new Kubelet(options)
}

const HOUSEKEEPING_MS = 60_000

/** The agent of one node: Pods from the API and from manifests, run through a container runtime, told of in the API. */
export class Kubelet {
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
  private readonly states: PodStates
  private readonly handlers: RuntimeHandlers
  private readonly pods: PodManager
  private readonly lifecycle: PodLifecycle
  private serviceList: SharedInformer<Service> | undefined
  private hadNode = false

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
    this.states = new PodStates(runtime, clock)
    this.handlers = new RuntimeHandlers({ client, recorder, runtime, handlerOf: options.handlerOf && ((pod) => options.handlerOf?.(pod)) })
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
      apiPod: (pod) => this.pods.apiPod(pod),
      canBeDeleted: (uid) => this.pods.isOver(uid),
    })
    this.pods = new PodManager({
      client,
      clock,
      random,
      log,
      recorder,
      status: this.status,
      syncer: () => this.lifecycle,
      node: () => this.node.current(),
      admit: (pod, others) => admit(pod, { node: this.nodeForAdmission(), nodeName: this.nodeName, others, pressure: this.pressure(), os: machine.os }),
      onSynced: () => void this.cleanUp().catch(() => {}),
      onGone: (pod) => this.lifecycle.clear(pod),
    })
    this.prober = new Prober({
      runtime,
      clock,
      random,
      recorder,
      hostIP: () => this.shape.addresses[0] ?? '127.0.0.1',
      onChange: (uid) => this.pods.worker(uid)?.wake(),
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
      isPretend: (pod) => this.handlers.runtimeOf(pod).pretend !== undefined,
    })
    this.imageGc = new ImageGc({ runtime, clock })
    this.eviction =
      this.handlers.main.pretend || !options.evictionHard
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
      handlerOf: (pod) => this.handlers.of(pod),
      onSandboxReady: (pod) => this.lifecycle.sandboxReady(pod),
    })
    this.lifecycle = new PodLifecycle({
      clock,
      recorder,
      runtime,
      handlers: this.handlers,
      states: this.states,
      pods: this.pods,
      status: this.status,
      prober: this.prober,
      volumes: this.volumes,
      podRuntime: this.podRuntime,
      objects: this.objects,
      hostIPs: this.shape.addresses,
      networkProblem: () => this.node.networkProblem(),
    })
  }

  /** Runs until the signal aborts; containers are left as they are. */
  async run(signal: AbortSignal): Promise<void> {
    const { options } = this
    const { client, clock, random, log } = options
    const broadcaster = new EventBroadcaster({ client: options.eventClient ?? client, clock, random, log, signal })
    this.recorder = broadcaster.recorder('kubelet', this.nodeName)
    this.pods.start(options.staticPodPath !== undefined && options.staticPodPath !== '')
    this.recorder.event(this.node.reference(), 'Normal', 'Starting', 'Starting kubelet.')
    this.status.start(signal)
    const apiSource = options.podSource ?? apiPodSource({ client, clock, random, log, nodeName: this.nodeName })
    const work: Promise<unknown>[] = [
      this.node.run(signal),
      this.watchNode(signal),
      apiSource.run(this.pods.sink('api'), signal),
      this.watchRuntime(signal),
      this.housekeeping(signal),
      ...(this.handlers.main.pretend
        ? []
        : [
            careForNode(
              { runtime: this.runtime, clock, log, recorder: this.recorder, node: this.node, imageGc: this.imageGc, eviction: this.eviction },
              signal,
            ),
          ]),
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
      work.push(files.run(this.pods.sink('file'), signal))
    }
    if (!options.services) {
      this.serviceList = new SharedInformer<Service>({ client, clock, random, log }, resources.corev1.services)
      work.push(this.serviceList.run(signal))
    }
    log.info('kubelet started', { node: this.nodeName, version: this.shape.kubeletVersion })
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    this.pods.stop()
    this.prober.stopAll()
    await Promise.allSettled([...work, broadcaster.stopped()])
  }

  /** Every Pod the kubelet runs now, static ones as it holds them. */
  allPods(): Pod[] {
    return [...this.pods.all()].map((w) => ({ ...w.pod, status: this.status.get(w.pod) }))
  }

  /** A Pod by name, and by uid where one is given: that of a mirror Pod means the static one. */
  findPod(namespace: string, name: string, uid?: string): Pod | undefined {
    return this.pods.find(namespace, name, uid)
  }

  stateOf(uid: string): PodState | undefined {
    return this.states.get(uid)
  }

  /** Ends a Pod for a reason of the node's own; the status tells why. */
  evict(uid: string, graceSeconds: number, change: (status: PodStatus) => void): void {
    this.pods.end(uid, graceSeconds, change)
  }

  // ---- what Pods are made from

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

  private onNode(): void {
    if (this.hadNode) return
    this.hadNode = true
    this.pods.wakeStatic()
  }

  private async watchNode(signal: AbortSignal): Promise<void> {
    const { options } = this
    if (options.nodeSource) return options.nodeSource((node) => this.node.observe(node), signal)
    const informer = new SharedInformer<Node>(options, resources.corev1.nodes, { fieldSelector: `metadata.name=${this.nodeName}` })
    informer.addHandler({ onAdd: (node) => this.node.observe(node), onUpdate: (_before, node) => this.node.observe(node) })
    await informer.run(signal)
  }

  // ---- the runtime

  private watchRuntime(signal: AbortSignal): Promise<void> {
    const { runtime, pods, states } = this
    return watchRuntime(
      {
        runtime,
        clock: this.options.clock,
        onEvent: (event) => {
          for (const uid of 'podUid' in event ? [event.podUid] : states.ownersOf(event.id)) pods.worker(uid)?.wakeSoon()
        },
        onRelist: (uid) => pods.worker(uid)?.wake(),
      },
      signal,
    )
  }

  private async housekeeping(signal: AbortSignal): Promise<void> {
    const { clock } = this.options
    while (!signal.aborted) {
      await clock.sleep(HOUSEKEEPING_MS, signal).catch(() => {})
      if (signal.aborted) return
      this.podRuntime.gc()
      if (this.pods.synced) await this.cleanUp().catch((error: Error) => this.options.log.v(2).info('housekeeping failed', { err: error.message }))
    }
  }

  private async cleanUp(): Promise<void> {
    const { runtime, podRuntime, volumes, pods } = this
    pods.dropMirrors()
    await removeOrphans({ runtime, clock: this.options.clock, podRuntime, volumes, isKnown: (uid) => pods.worker(uid) !== undefined })
  }
}
