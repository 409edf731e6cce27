import { setMaxListeners } from 'node:events'
import { resources } from '../api/index.ts'
import type { UserInfo } from '../apiserver/authentication/authenticator.ts'
import type { ApiServer } from '../apiserver/server.ts'
import { type Clock, type Random, systemClock, systemRandom } from '../base/index.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/rest/client.ts'
import { type ComponentContext, createFeatureGates, createLogger, type Logger, MemoryLogSink } from '../component-base/index.ts'
import { runControllerManager } from '../controllers/index.ts'
import type { Machine } from '../kubelet/index.ts'
import { runScheduler } from '../scheduler/index.ts'
import { createMemoryKV } from '../storage/kv/memory/memory-kv.ts'
import { buildApiServer } from './control-plane/api-server.ts'
import { followingTransport } from './control-plane/component-client.ts'
import { EndpointTable } from './endpoint-table.ts'
import { Nodes } from './nodes.ts'
import { createPki, kubeconfigFor, type Pki } from './pki/index.ts'

export interface ClusterOptions {
  /** How many simulated nodes. @default 1 */
  nodes?: number
  /** Name of the first node; the others are NAME-m02 and so on. @default node */
  nodeName?: string
  /** Time: the machine's, or a `VirtualClock` that the test moves. @default the machine's */
  clock?: Clock
  /** Chance and ids; a seeded one makes two runs alike. @default the machine's */
  random?: Random
  /** @default true */
  controllers?: boolean
  /** @default true */
  scheduler?: boolean
  /** Also listen on loopback, for kubectl and other clients: a free port, or this one. @default false */
  listen?: boolean | number
  /** What a simulated node says it is. @default 4 cores, 16 GiB */
  machine?: Partial<Machine>
}

const URL = 'https://127.0.0.1:6443'
const MACHINE: Machine = {
  arch: 'amd64',
  os: 'linux',
  cpus: 4,
  memoryBytes: 16 * 2 ** 30,
  storageBytes: 100 * 2 ** 30,
  swapBytes: 0,
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: 'simulated',
  osImage: 'k8ts simulated node',
  hugePages: {},
}
const READY_MS = 60_000

/**
 * A whole cluster inside this process: API server, controllers, scheduler and simulated nodes over a store in memory. Nothing
 * is written and, unless asked, nothing listens; two clusters never see each other.
 *
 * ```ts
 * const cluster = await Cluster.start()
 * await cluster.client.resource(resources.appsv1.deployments).namespace('default').create(deployment)
 * await cluster.stop()
 * ```
 */
export class Cluster {
  /** May do everything (system:masters). */
  readonly client: Client
  readonly clock: Clock
  /** The last lines that components logged. */
  readonly logs: MemoryLogSink
  private readonly server: ApiServer
  private readonly nodes: Nodes
  private readonly stopping: AbortController
  private readonly running: Promise<unknown>[]
  private readonly closeStore: () => Promise<void>
  private readonly pki: Pki
  private readonly port: number | undefined

  private constructor(parts: {
    server: ApiServer
    client: Client
    clock: Clock
    logs: MemoryLogSink
    nodes: Nodes
    stopping: AbortController
    running: Promise<unknown>[]
    closeStore: () => Promise<void>
    pki: Pki
    port: number | undefined
  }) {
    this.server = parts.server
    this.client = parts.client
    this.clock = parts.clock
    this.logs = parts.logs
    this.nodes = parts.nodes
    this.stopping = parts.stopping
    this.running = parts.running
    this.closeStore = parts.closeStore
    this.pki = parts.pki
    this.port = parts.port
  }

  /** Resolves when the API server is ready and every node is Ready; under a virtual clock, time is moved as far as that needs. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const clock = options.clock ?? systemClock()
    const random = options.random ?? systemRandom()
    const logs = new MemoryLogSink()
    const log = createLogger({ component: 'k8ts', sink: logs, clock, verbosity: 1 })
    const stopping = new AbortController()
    setMaxListeners(0, stopping.signal)
    const { signal } = stopping
    const apiServers = new EndpointTable<ApiServer>()
    const nodes = new Nodes({ clock, random, log, apiServers, server: URL, rootDir: '/nonexistent/k8ts' })
    const kv = createMemoryKV({ clock })
    const listen = options.listen !== undefined && options.listen !== false
    const pki = await createPki({ clock, random, nodeName: options.nodeName ?? 'node' })
    const as = (user: UserInfo): Client =>
      createClient(
        followingTransport(() => apiServers.lookup(URL), user, URL),
        { userAgent: 'k8ts' },
      )
    const client = as({ name: 'kubernetes-super-admin', groups: ['system:masters'] })
    const { server } = buildApiServer({
      kv,
      clock,
      random,
      log,
      features: createFeatureGates(),
      clientCA: pki.ca.certificate,
      serviceAccounts: {
        issuer: 'https://kubernetes.default.svc.cluster.local',
        publicKeys: [pki.serviceAccount.publicKey],
        signingKey: pki.serviceAccount.privateKey,
      },
      serviceClusterIPRange: '10.96.0.0/12',
      advertiseAddress: '127.0.0.1',
      securePort: 6443,
      rbac: true,
      connectNode: (node) => nodes.connect(node),
      signal,
    })
    apiServers.register(URL, server)
    const listener = listen
      ? await server.listen({
          port: typeof options.listen === 'number' ? options.listen : 0,
          cert: pki.apiserver.certificate,
          key: pki.apiserver.key,
          clientCA: pki.ca.certificate,
        })
      : undefined
    const running = startComponents(options, { clock, random, log, signal }, as, pki.ca.certificate)
    const cluster = new Cluster({ server, client, clock, logs, nodes, stopping, running, closeStore: () => kv.close(), pki, port: listener?.port })
    try {
      const name = options.nodeName ?? 'node'
      const names = Array.from({ length: options.nodes ?? 1 }, (_, i) => (i === 0 ? name : `${name}-m${String(i + 1).padStart(2, '0')}`))
      await cluster.until(() => server.ready.then(() => true))
      names.forEach((n, i) => {
        nodes.startSimulated(n, i, { ...MACHINE, ...options.machine })
      })
      // Pods are admitted once their namespace has its service account, which a controller makes.
      if (options.controllers !== false) {
        const accounts = client.resource(resources.corev1.serviceaccounts).namespace('default')
        await cluster.until(() =>
          accounts.get('default').then(
            () => true,
            () => false,
          ),
        )
      }
      const list = client.resource(resources.corev1.nodes)
      await cluster.until(async () => {
        const { items } = await list.list()
        return names.every((n) =>
          items.some((node) => node.metadata.name === n && node.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')),
        )
      })
    } catch (e) {
      await cluster.stop()
      throw e
    }
    return cluster
  }

  /** A kubeconfig of the administrator. @throws Error unless the cluster was started with `listen` */
  kubeconfig(): string {
    if (this.port === undefined) throw new Error('the cluster does not listen: start it with { listen: true }')
    return kubeconfigFor({
      server: `https://127.0.0.1:${this.port}`,
      certificateAuthority: this.pki.ca.certificate,
      user: 'kubernetes-super-admin',
      credentials: this.pki.superAdmin,
    })
  }

  /** A client as somebody else: what it may do is decided as for any user. */
  as(user: UserInfo): Client {
    return createClient(this.server.inProcess(user), { userAgent: 'k8ts' })
  }

  /** Adds a simulated node; it is Ready a moment later. */
  addNode(name: string): void {
    this.nodes.startSimulated(name, this.nodes.names().length, MACHINE)
  }

  /** As if the node's power failed: it says nothing more, and its Pods go on counting until the cluster gives them up. */
  stopNode(name: string): Promise<void> {
    return this.nodes.stopNode(name)
  }

  /** Moves on until `condition` holds: waits, or moves a virtual clock. @throws Error after `limitMs` of the cluster's time */
  async until(condition: () => boolean | Promise<boolean>, limitMs = READY_MS): Promise<void> {
    const virtual = this.clock as Clock & { advance?(ms: number): Promise<void> }
    for (const start = this.clock.monotonic(); ; ) {
      if (await settled(condition, virtual)) return
      if (this.clock.monotonic() - start > limitMs) throw new Error(`what was waited for did not happen within ${limitMs / 1000} s`)
      if (virtual.advance) await virtual.advance(100)
      else await this.clock.sleep(5)
    }
  }

  /** Waits for `work`, moving a virtual clock as far as it needs: what the server itself waits for would otherwise never come. */
  async run<T>(work: Promise<T>): Promise<T> {
    let done = false
    const mark = () => {
      done = true
    }
    work.then(mark, mark)
    await this.until(() => done)
    return work
  }

  /** Ends everything; afterwards no timer, watch or socket of the cluster is left. */
  async stop(): Promise<void> {
    const ended = (async () => {
      await this.nodes.stopAll()
      this.stopping.abort(new Error('the cluster was stopped'))
      await Promise.allSettled(this.running)
      await this.server.close()
      await this.closeStore()
    })()
    const virtual = this.clock as Clock & { advance?(ms: number): Promise<void> }
    if (!virtual.advance) return ended
    let done = false
    void ended.finally(() => {
      done = true
    })
    while (!done) await virtual.advance(100)
    return ended
  }
}

/** A condition that itself needs time must not wait for a clock that stands still. */
async function settled(condition: () => boolean | Promise<boolean>, clock: { advance?(ms: number): Promise<void> }): Promise<boolean> {
  const answer = condition()
  if (typeof answer === 'boolean') return answer
  if (!clock.advance) return answer
  let value: boolean | undefined
  let failed: unknown
  answer.then(
    (v) => {
      value = v
    },
    (e) => {
      failed = e ?? new Error('failed')
    },
  )
  for (let i = 0; value === undefined && failed === undefined; i++) {
    if (i > 100_000) throw new Error('a condition did not settle')
    await clock.advance(i < 10 ? 0 : 10)
  }
  if (failed !== undefined) throw failed
  return value === true
}

function startComponents(
  options: ClusterOptions,
  context: ComponentContext & { log: Logger },
  as: (user: UserInfo) => Client,
  rootCA: string,
): Promise<unknown>[] {
  const running: Promise<unknown>[] = []
  const account = (name: string): UserInfo => ({
    name: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
  })
  const guard = (name: string, run: Promise<void>) =>
    running.push(
      run.catch((e) => void (context.signal.aborted || context.log.error('component failed', { component: name, err: String((e as Error)?.stack ?? e) }))),
    )
  if (options.controllers !== false) {
    guard(
      'kube-controller-manager',
      runControllerManager({
        ...context,
        client: as({ name: 'system:kube-controller-manager', groups: [] }),
        options: { leaderElect: false, rootCA, allocateNodeCidrs: true, clusterCidr: '10.244.0.0/16', clientFor: (name) => as(account(name)) },
      }),
    )
  }
  if (options.scheduler !== false) {
    guard('kube-scheduler', runScheduler(context, { client: as({ name: 'system:kube-scheduler', groups: [] }), hostname: 'k8ts', leaderElect: false }))
  }
  return running
}
