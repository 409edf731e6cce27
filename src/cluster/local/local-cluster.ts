import { mkdir, readFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { type corev1, resources } from '../../api/index.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import { type Clock, type Random, systemClock, systemRandom } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/rest/client.ts'
import { createLogger, type LogSink, version } from '../../component-base/index.ts'
import {
  BUILTIN_HANDLER,
  CompositeRuntime,
  type ContainerRuntime,
  createBuiltinRuntime,
  createSimulatedRuntime,
  isStatic,
  systemMounter,
} from '../../kubelet/index.ts'
import { podKind } from '../../registry/core/pod/strategy.ts'
import type { KV } from '../../storage/kv/kv.ts'
import { COREDNS_IMAGE, ensureCoreDns } from '../bootstrap/coredns.ts'
import { ensureKubeProxy, isKubeProxyPod } from '../bootstrap/kube-proxy.ts'
import { ensureKubeadmRbac } from '../bootstrap/kubeadm-rbac.ts'
import { controlPlaneManifests } from '../bootstrap/manifests.ts'
import { followingTransport } from '../control-plane/component-client.ts'
import type { ControlPlaneEnvironment } from '../control-plane/environment.ts'
import { controlPlaneUnits } from '../control-plane/units.ts'
import { EndpointTable } from '../endpoint-table.ts'
import { clusterKubeconfigs } from '../kubeconfigs.ts'
import { Nodes } from '../nodes.ts'
import { createPki, directoryPkiStore, type Pki, type PkiStore } from '../pki/index.ts'
import { type ClusterState, type DataDir, replaceFile } from './data-dir.ts'
import { unmountBelow } from './leftovers.ts'
import { NodeContainers } from './node-containers.ts'
import { nodeResolvConf } from './resolv-conf.ts'
import { releaseStaleLeases } from './stale-leases.ts'
import { waitForObject } from './wait-for-object.ts'

export interface LocalClusterOptions {
  dir: DataDir
  state: ClusterState
  /** For nodes' containers; undefined: an instance of the cluster's own. */
  containerRuntimeEndpoint?: string
  demoImages: boolean
  registryMirrors: readonly { registry: string; url: string }[]
  /** Holds etcd's port until etcd listens there for the first time. */
  etcdListener?: Server
  logSink: LogSink
  verbosity: number
  /** Parts of kubeadm's `init` that are left out: `addon/coredns`. */
  skipPhases?: ReadonlySet<string>
  /** Told of each step as it ends. */
  onStep(name: string, ms: number, note?: string): void
}

const SERVICE_RANGE = '10.96.0.0/12'
const POD_RANGE = '10.244.0.0/16'
/** The tenth address of the Services' range, as everywhere. */
const CLUSTER_DNS = '10.96.0.10'
const FIRST_POD_RANGE = '10.244.0.0/24'
const READY_TIMEOUT_MS = 60_000
const CONTROLLERS_TIMEOUT_MS = 10_000
const RETRY_MS = 20

/** A cluster on this machine, in this process: a kubelet that runs the control plane from its manifests, and everything else from there. */
export class LocalCluster {
  readonly nodes: Nodes
  private readonly options: LocalClusterOptions
  private readonly clock: Clock = systemClock()
  private readonly random: Random = systemRandom()
  private readonly apiServers = new EndpointTable<ApiServer>()
  private readonly etcds = new EndpointTable<KV>()
  private readonly server: string
  private pki: Pki | undefined
  private containers: NodeContainers | undefined
  /** Aborted with the reason why no start can succeed. */
  private readonly fatal = new AbortController()
  private etcdListener: Server | undefined

  constructor(options: LocalClusterOptions) {
    this.options = options
    this.etcdListener = options.etcdListener
    this.server = `https://127.0.0.1:${options.state.securePort}`
    this.nodes = new Nodes({
      clock: this.clock,
      random: this.random,
      log: this.logger('kubelet'),
      apiServers: this.apiServers,
      server: this.server,
      rootDir: join(options.dir.kubelet, 'simulated'),
    })
  }

  private logger(component: string) {
    return createLogger({ component, sink: this.options.logSink, clock: this.clock, verbosity: this.options.verbosity })
  }

  /** A client that may do everything, for what the cluster does to itself. */
  adminClient(): Client {
    return createClient(
      followingTransport(() => this.apiServers.lookup(this.server), { name: 'kubernetes-super-admin', groups: ['system:masters'] }, this.server),
      { userAgent: 'k8ts' },
    )
  }

  get containerdPid(): number | undefined {
    return this.containers?.pid
  }

  /** Starts everything; resolves when the first node is Ready. */
  async start(): Promise<void> {
    const startedAt = this.clock.now()
    const { state } = this.options
    const nodeIP = state.runtime === 'cri' ? NodeContainers.nodeAddress : '127.0.0.1'
    // Containers take longest: they start while certificates are made and the control plane comes up.
    const runtime = this.startRuntime(nodeIP)
    runtime.catch(() => {})
    const pki = await this.step('certificates', () => this.prepareFiles(nodeIP))
    // Keys are used at once, and the start ends when they are there to stay.
    const settled = pki.settled()
    settled.catch(() => {})
    await this.step('manifests', () => this.writeManifests(nodeIP))
    const main = await this.step(state.runtime === 'cri' ? 'containerd' : 'simulated runtime', () => runtime)
    await this.step('kubelet', async () => this.startFirstNode(main, nodeIP))
    const admin = this.adminClient()
    await this.step('API server', async () => {
      await this.within('the API server did not become ready', async (signal) => {
        await this.apiServers.waitFor([this.server], signal)
        // Before the components ask for them, which they do when the server is ready.
        const released = releaseStaleLeases(admin, state.nodeName, startedAt).catch(() => {})
        await this.waitForApi(signal)
        await released
      })
    })
    await Promise.all([
      this.step('node Ready', async () => {
        await this.within(`node ${state.nodeName} did not become Ready`, (signal) => this.waitForNode(state.nodeName, isReady, signal))
        await this.labelControlPlane()
      }),
      this.step('controllers', () => this.waitForControllers([state.nodeName])),
      ensureKubeadmRbac(admin),
      this.options.skipPhases?.has('addon/coredns') ? undefined : ensureCoreDns(admin, { clusterIP: CLUSTER_DNS, onControlPlane: state.runtime === 'cri' }),
      settled,
      // Simulated Pods send no packets, so nothing has to be routed.
      ...(state.runtime === 'cri' && !this.options.skipPhases?.has('addon/kube-proxy')
        ? [this.step('kube-proxy', () => this.addKubeProxy(admin, nodeIP))]
        : []),
    ])
    for (const [i, name] of state.simulatedNodes.entries()) this.nodes.startSimulated(name, i)
    if (state.simulatedNodes.length > 0)
      await this.step(`${state.simulatedNodes.length} simulated nodes`, async () => {
        await Promise.all(
          state.simulatedNodes.map((name) => this.within(`node ${name} did not become Ready`, (signal) => this.waitForNode(name, isReady, signal))),
        )
        await this.waitForControllers(state.simulatedNodes)
      })
  }

  private addKubeProxy(admin: Client, nodeIP: string): Promise<void> {
    const { securePort } = this.options.state
    return ensureKubeProxy(admin, { server: `https://${nodeIP}:${securePort}`, clusterCIDR: POD_RANGE, healthzBindAddress: `${nodeIP}:10256` })
  }

  /** @param containers also stop Pods' containers, each within its grace */
  async stop(options: { containers: boolean }): Promise<void> {
    // The kubelet goes first: it would start again whatever stops.
    await this.nodes.stopAll()
    if (options.containers) await this.containers?.stopPods()
    await this.containers?.stop(options)
    if (options.containers && this.containers) await unmountBelow(this.options.dir.root)
  }

  private async step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const start = this.clock.monotonic()
    const result = await work()
    this.options.onStep(name, this.clock.monotonic() - start)
    return result
  }

  private async prepareFiles(nodeIP: string): Promise<PkiStore> {
    const { dir, state } = this.options
    const store = directoryPkiStore(dir.pki, this.random)
    this.pki = await createPki({
      store,
      clock: this.clock,
      random: this.random,
      nodeName: state.nodeName,
      hostIPs: [...new Set([nodeIP, state.bindAddress])].filter((a) => a !== '127.0.0.1' && a !== '0.0.0.0'),
    })
    const configs = clusterKubeconfigs(this.pki, this.server, state.nodeName)
    for (const [name, text] of configs) {
      const path = join(dir.pki, '..', name)
      if ((await readFile(path, 'utf8').catch(() => '')) !== text) await replaceFile(path, text)
    }
    await replaceFile(dir.kubeconfig, configs.get('admin.conf') as string)
    return store
  }

  private async writeManifests(nodeIP: string): Promise<void> {
    const { dir, state } = this.options
    const manifests = controlPlaneManifests({
      pkiDir: dir.pki,
      etcdDataDir: dir.etcd,
      kubeconfigDir: dir.root,
      bindAddress: state.bindAddress,
      advertiseAddress: nodeIP,
      securePort: state.securePort,
      etcdPort: state.etcdPort,
      nodeName: state.nodeName,
      serviceClusterIPRange: SERVICE_RANGE,
      clusterCIDR: POD_RANGE,
    })
    for (const [name, text] of manifests) {
      const path = join(dir.manifests, name)
      const have = await readFile(path, 'utf8').catch(() => undefined)
      // What its owner changed stays; a manifest that names another port or folder is of no use any more.
      if (have === undefined || !sameFlags(have, text)) await replaceFile(path, text)
    }
  }

  private async startRuntime(nodeIP: string): Promise<ContainerRuntime> {
    const { dir, state } = this.options
    if (state.runtime === 'simulated') return createSimulatedRuntime({ clock: this.clock, random: this.random, podCIDR: FIRST_POD_RANGE })
    this.containers = new NodeContainers({
      dir: dir.containerd,
      clock: this.clock,
      log: this.logger('containerd'),
      podCIDR: FIRST_POD_RANGE,
      clusterCIDR: POD_RANGE,
      nodeIP,
      securePort: state.securePort,
      demoImages: this.options.demoImages,
      registryMirrors: this.options.registryMirrors,
      ...(this.options.containerRuntimeEndpoint ? { endpoint: this.options.containerRuntimeEndpoint } : {}),
    })
    return this.containers.start()
  }

  private async startFirstNode(main: ContainerRuntime, nodeIP: string): Promise<void> {
    const { dir, state } = this.options
    const environment: ControlPlaneEnvironment = {
      etcds: this.etcds,
      apiServers: this.apiServers,
      files: { read: (path) => readFile(path, 'utf8') },
      openStore: async (path) => {
        await mkdir(path, { recursive: true, mode: 0o700 })
        const { openEmbeddedKV } = await import('../../storage/kv/embedded/embedded-kv.ts')
        // A store that cannot be opened will not open by trying again: the start ends with its reason.
        return openEmbeddedKV({ path, clock: this.clock }).catch((e) => {
          this.fatal.abort(e instanceof Error ? e : new Error(String(e)))
          throw e
        })
      },
      serveStore: async (kv, o) => {
        const { serveEtcd } = await import('../../storage/kv/server/serve-etcd.ts')
        const tls = o.tls && { cert: o.tls.cert, key: o.tls.key, ...(o.tls.clientCA ? { ca: o.tls.clientCA } : {}) }
        const listener = o.port === state.etcdPort ? this.etcdListener : undefined
        this.etcdListener = undefined
        return serveEtcd(kv, { clock: this.clock, host: o.host, port: o.port, name: o.name, ...(tls ? { tls } : {}), ...(listener ? { listener } : {}) })
      },
      inProcess: true,
      listen: true,
      hostname: state.nodeName,
      extraApiAddresses: nodeIP === '127.0.0.1' ? [] : [nodeIP],
      inClusterServer: this.server,
      connectNode: (node) => this.nodes.connect(node),
    }
    const { logSink } = this.options
    const builtin = createBuiltinRuntime({
      clock: this.clock,
      random: this.random,
      units: controlPlaneUnits(environment),
      version: version.gitVersion,
      ...(this.containers ? { addresses: this.containers.addresses } : {}),
      onLog: (_, container, line) => logSink.write(`${container}: ${line}`),
    })
    const cri = state.runtime === 'cri'
    this.nodes.start(
      {
        nodeName: state.nodeName,
        runtime: new CompositeRuntime(main, builtin),
        rootDir: dir.kubelet,
        logDir: join(dir.logs, 'pods'),
        staticPodPath: dir.manifests,
        nodeIPs: [nodeIP],
        handlerOf: (pod) => ((isStatic(pod) && isComponentPod(pod)) || (cri && (isDnsPod(pod) || isKubeProxyPod(pod))) ? BUILTIN_HANDLER : undefined),
        clusterDNS: [CLUSTER_DNS],
        applyPodDefaults: (pod) => podKind.strategy.defaults?.(pod),
        ...(cri ? { mounter: systemMounter(), resolvConf: await nodeResolvConf() } : {}),
      },
      !cri,
    )
  }

  /** A kubelet may not give itself a role: the cluster does. */
  private async labelControlPlane(): Promise<void> {
    const labels = { 'node-role.kubernetes.io/control-plane': '', 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
    await this.adminClient().resource(resources.corev1.nodes).patch(this.options.state.nodeName, 'merge', { metadata: { labels } })
  }

  private async waitForApi(signal: AbortSignal): Promise<void> {
    const client = this.adminClient()
    for (;;) {
      const server = await this.apiServers.waitFor([this.server], signal)
      await unlessAborted(server.ready, signal)
      // Not all hooks may have succeeded, and then another server comes.
      const answer = await client.raw({ path: '/readyz' }).catch(() => undefined)
      if (answer?.status === 200) return
      await this.clock.sleep(RETRY_MS, signal)
    }
  }

  private waitForNode(name: string, asWanted: (node: corev1.Node) => boolean, signal: AbortSignal): Promise<void> {
    return waitForObject(this.adminClient().resource(resources.corev1.nodes), name, asWanted, this.clock, signal)
  }

  /**
   * Until a first Pod can be made and finds its node: the account it runs as is there, and nodes have no taint any more. A controller
   * manager that its owner changed may never see to that, so this wait is short and its end no failure.
   */
  private async waitForControllers(nodes: readonly string[]): Promise<void> {
    const accounts = this.adminClient().resource(resources.corev1.serviceaccounts).namespace('default')
    await this.within(
      'controllers did not make the cluster ready for Pods',
      (signal) =>
        Promise.all([
          waitForObject(accounts, 'default', () => true, this.clock, signal),
          ...nodes.map((name) => this.waitForNode(name, (node) => !isTainted(node), signal)),
        ]),
      CONTROLLERS_TIMEOUT_MS,
    ).catch((e: Error) => {
      if (this.fatal.signal.aborted) throw e
      this.logger('k8ts').warn(e.message)
    })
  }

  /** @throws Error when the work takes longer, or the cluster cannot start at all */
  private async within<T>(failure: string, work: (signal: AbortSignal) => Promise<T>, ms = READY_TIMEOUT_MS): Promise<T> {
    const stop = new AbortController()
    const { signal: fatal } = this.fatal
    const fail = () => stop.abort(fatal.reason)
    if (fatal.aborted) fail()
    fatal.addEventListener('abort', fail)
    const late = this.clock.deadline(() => stop.abort(new Error(`${failure} within ${ms / 1000} s: see ${this.options.dir.log}`)), ms)
    try {
      return await unlessAborted(work(stop.signal), stop.signal)
    } finally {
      late.cancel()
      fatal.removeEventListener('abort', fail)
    }
  }
}

function isReady(node: corev1.Node): boolean {
  return node.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false
}

/** By the node controller, which has not seen yet that the node is Ready. */
function isTainted(node: corev1.Node): boolean {
  return node.spec?.taints?.some((t) => t.key === 'node.kubernetes.io/not-ready' || t.key === 'node.kubernetes.io/unreachable') ?? false
}

/** The work's outcome, or the signal's reason if that comes first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

const COMPONENTS = new Set(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
const isComponentPod = ({ metadata, spec }: corev1.Pod) => metadata.namespace === 'kube-system' && COMPONENTS.has(spec.containers[0]?.command?.[0] ?? '')

/**
 * A Pod of cluster DNS. It comes from the API, and so it gets nothing of the host: an address of its own, its volumes, and its service account.
 * On a simulated node it is simulated as all others are: nobody there could ask it.
 */
const isDnsPod = ({ metadata, spec }: corev1.Pod) =>
  metadata.namespace === 'kube-system' &&
  metadata.labels?.['k8s-app'] === 'kube-dns' &&
  spec.serviceAccountName === 'coredns' &&
  !spec.hostNetwork &&
  spec.containers.length === 1 &&
  !spec.initContainers?.length &&
  spec.containers[0]?.image?.split(':')[0] === COREDNS_IMAGE &&
  !spec.containers[0].command?.length

/** The flags that say where things are agree; others are the owner's to change. */
function sameFlags(have: string, want: string): boolean {
  const places = (text: string) => (text.match(/^ {4}- --(?:[\w-]*(?:port|urls|servers|address))=.*$|^ {6}path: .*$/gm) ?? []).sort().join('\n')
  return places(have) === places(want)
}
