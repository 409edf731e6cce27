import { setMaxListeners } from 'node:events'
import type { corev1 } from '../api/index.ts'
import { resources } from '../api/index.ts'
import type { ApiServer } from '../apiserver/server.ts'
import type { Clock, Random } from '../base/index.ts'
import { SharedInformer } from '../client/cache/informer.ts'
import { type Client, ConnectionError } from '../client/client.ts'
import { createClient } from '../client/rest/client.ts'
import type { Logger } from '../component-base/index.ts'
import {
  createKubelet,
  createSimulatedRuntime,
  type Kubelet,
  KubeletApi,
  type KubeletOptions,
  type Machine,
  SharedNodeSource,
  SharedPodSource,
} from '../kubelet/index.ts'
import type { NodeConnection } from '../registry/core/pod/connect.ts'
import { firstTime, followingTransport } from './control-plane/component-client.ts'
import type { EndpointTable } from './endpoint-table.ts'

export interface NodesOptions {
  clock: Clock
  random: Random
  log: Logger
  apiServers: EndpointTable<ApiServer>
  /** Of the API server. */
  server: string
  /** Folder under which each simulated node keeps its own. */
  rootDir: string
}

interface RunningNode {
  kubelet: Kubelet
  api: KubeletApi
  stop: AbortController
  done: Promise<void>
  simulated: boolean
}

/** The kubelets of this process: one with containers at most, any number of simulated ones. */
export class Nodes {
  private readonly options: NodesOptions
  private readonly running = new Map<string, RunningNode>()
  private readonly stopped = new Set<string>()
  private shared: { pods: SharedPodSource; nodes: SharedNodeSource; stop: AbortController; done: Promise<unknown> } | undefined

  constructor(options: NodesOptions) {
    this.options = options
  }

  /** The kubelet's API by node, for logs and streams; undefined when no kubelet of that node runs here. */
  api(nodeName: string): KubeletApi | undefined {
    return this.running.get(nodeName)?.api
  }

  kubelet(nodeName: string): Kubelet | undefined {
    return this.running.get(nodeName)?.kubelet
  }

  /** How the API server reaches a node's kubelet. @throws ConnectionError when it does not run */
  async connect(node: corev1.Node): Promise<NodeConnection> {
    const api = this.api(node.metadata.name ?? '')
    if (api) return { kind: 'in-process', handle: (r) => api.handle(r), upgrade: (r, socket, head) => api.upgrade(r, socket, head) }
    const addresses = node.status.addresses ?? []
    if (addresses.length === 0) throw new Error('no preferred addresses found; known addresses: []')
    const address = addresses.find((a) => a.type === 'InternalIP')?.address ?? node.metadata.name
    throw new ConnectionError(`dial tcp ${address}:${node.status.daemonEndpoints?.kubeletEndpoint?.Port ?? 10250}: connect: connection refused`, 'ECONNREFUSED')
  }

  names(): { name: string; running: boolean; simulated: boolean }[] {
    const out = [...this.running].map(([name, n]) => ({ name, running: true, simulated: n.simulated }))
    for (const name of this.stopped) out.push({ name, running: false, simulated: true })
    return out
  }

  /** A client of the API server as this node, in-process. @param until what it waits for before the first request, beside the server's being there */
  private nodeClient(nodeName: string, until?: (server: ApiServer) => Promise<void>): Client {
    const { apiServers, server, clock } = this.options
    return createClient(
      followingTransport(
        () => apiServers.lookup(server),
        { name: `system:node:${nodeName}`, groups: ['system:nodes'] },
        server,
        firstTime(apiServers, server, clock, until),
      ),
      { userAgent: 'kubelet' },
    )
  }

  start(options: Omit<KubeletOptions, 'clock' | 'random' | 'log' | 'client' | 'eventClient'>, simulated: boolean): Kubelet {
    const { clock, random, log } = this.options
    const { nodeName } = options
    if (this.running.has(nodeName)) throw new Error(`node ${nodeName} runs already`)
    // A node can be made as soon as somebody listens; events are lost until there are namespaces for them.
    const eventClient = this.nodeClient(nodeName, (s) => s.ready)
    const kubelet = createKubelet({ ...options, client: this.nodeClient(nodeName), eventClient, clock, random, log: log.with({ node: nodeName }) })
    const stop = new AbortController()
    setMaxListeners(0, stop.signal)
    const done = kubelet.run(stop.signal).catch((e) => {
      if (!stop.signal.aborted) log.error('kubelet failed', { node: nodeName, err: e instanceof Error ? (e.stack ?? e.message) : String(e) })
    })
    this.running.set(nodeName, { kubelet, api: new KubeletApi({ kubelet }), stop, done, simulated })
    this.stopped.delete(nodeName)
    return kubelet
  }

  /** A node without a machine: its Pods live through every phase and cost next to nothing. */
  startSimulated(nodeName: string, index: number, machine?: Machine): Kubelet {
    const { clock, random } = this.options
    const shared = this.watches()
    return this.start(
      {
        nodeName,
        runtime: createSimulatedRuntime({ clock, random }),
        rootDir: `${this.options.rootDir}/${nodeName}`,
        logDir: `${this.options.rootDir}/${nodeName}/logs`,
        nodeIPs: [simulatedAddress(index)],
        podSource: shared.pods.forNode(nodeName),
        nodeSource: shared.nodes.forNode(nodeName),
        services: () => [],
        ...(machine ? { machine } : {}),
      },
      true,
    )
  }

  /** As if the machine were switched off: no word to the API server. */
  async stopNode(nodeName: string): Promise<void> {
    const node = this.running.get(nodeName)
    if (!node) throw new Error(`no node ${nodeName} runs here`)
    this.running.delete(nodeName)
    if (node.simulated) this.stopped.add(nodeName)
    node.stop.abort(new Error('node stopped'))
    await node.done
  }

  forget(nodeName: string): void {
    this.stopped.delete(nodeName)
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.running.keys()].map((n) => this.stopNode(n)))
    this.shared?.stop.abort(new Error('nodes stopped'))
    await this.shared?.done
    this.shared = undefined
  }

  /** One watch of all Pods and one of all Nodes, dealt out to the simulated nodes. */
  private watches() {
    if (this.shared) return this.shared
    const { clock, random, log, apiServers, server } = this.options
    const client = createClient(
      followingTransport(() => apiServers.lookup(server), { name: 'system:k8ts-nodes', groups: ['system:masters'] }, server),
      { userAgent: 'k8ts-nodes' },
    )
    const pods = new SharedInformer({ client, clock, random, log }, resources.corev1.pods)
    const nodes = new SharedInformer({ client, clock, random, log }, resources.corev1.nodes)
    const stop = new AbortController()
    setMaxListeners(0, stop.signal)
    const done = Promise.all([pods, nodes].map((informer) => informer.run(stop.signal).catch(() => {})))
    this.shared = { pods: new SharedPodSource(pods), nodes: new SharedNodeSource(nodes), stop, done }
    return this.shared
  }
}

/** 10.201.0.2 and on. */
function simulatedAddress(index: number): string {
  return `10.${201 + Math.floor(index / 65_000)}.${Math.floor((index % 65_000) / 250)}.${(index % 250) + 2}`
}
