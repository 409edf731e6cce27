import { setMaxListeners } from 'node:events'
import type { Event, Pod } from '../../src/api/core/v1/types.generated.ts'
import { resources } from '../../src/api/index.ts'
import { isNotFound } from '../../src/apimachinery/errors.ts'
import { seededRandom, VirtualClock } from '../../src/base/index.ts'
import { type Client, createClient } from '../../src/client/index.ts'
import { buildApiServer } from '../../src/cluster/control-plane/api-server.ts'
import { createFeatureGates, createLogger, MemoryLogSink } from '../../src/component-base/index.ts'
import type { ContainerRuntime, KubeletOptions } from '../../src/kubelet/index.ts'
import { createKubelet, createSimulatedRuntime, type Kubelet, KubeletApi } from '../../src/kubelet/index.ts'
import { createMemoryKV } from '../../src/storage/kv/memory/memory-kv.ts'

export const machine = {
  arch: 'amd64',
  os: 'linux',
  cpus: 4,
  memoryBytes: 8 * 2 ** 30,
  storageBytes: 100 * 2 ** 30,
  swapBytes: 0,
  machineID: 'm',
  systemUUID: 's',
  bootID: 'b',
  kernelVersion: '6.1.0',
  osImage: 'Test Linux',
  hugePages: {},
}

export interface KubeletHarness {
  clock: VirtualClock
  client: Client
  kubelet: Kubelet
  runtime: ContainerRuntime
  logs: MemoryLogSink
  pod(spec: Partial<Pod['spec']>, metadata?: Pod['metadata']): Promise<Pod>
  get(name: string, namespace?: string): Promise<Pod | undefined>
  events(name: string): Promise<string[]>
  until(name: string, condition: (pod: Pod) => boolean, ms?: number): Promise<Pod>
  gone(name: string, ms?: number): Promise<void>
  stop(): Promise<void>
  /** A new kubelet over the same runtime and API. */
  restart(): Promise<void>
}

/** A kubelet with simulated Pods against the whole API server, all under virtual time. */
export async function kubeletHarness(
  given: Partial<KubeletOptions> & { makeRuntime?: (clock: VirtualClock) => ContainerRuntime } = {},
): Promise<KubeletHarness> {
  const { makeRuntime, ...options } = given
  const clock = new VirtualClock()
  const random = seededRandom(7)
  const logs = new MemoryLogSink()
  const log = createLogger({ component: 'test', sink: logs, clock, verbosity: 4 })
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const { server, loopback } = buildApiServer({
    kv: createMemoryKV({ clock }),
    clock,
    random,
    log,
    features: createFeatureGates(),
    serviceAccounts: { issuer: 'https://kubernetes.default.svc', publicKeys: [] },
    serviceClusterIPRange: '10.96.0.0/12',
    advertiseAddress: '127.0.0.1',
    securePort: 6443,
    rbac: false,
    connectNode: async () => ({
      kind: 'in-process',
      handle: (r) => new KubeletApi({ kubelet }).handle(r),
      upgrade: (r, s, b) => new KubeletApi({ kubelet }).upgrade(r, s, b),
    }),
    signal: stop.signal,
  })
  void loopback
  const client = createClient(server.inProcess({ name: 'system:admin', groups: ['system:masters'] }), { clock })
  const namespaces = client.resource(resources.corev1.namespaces)
  for (const name of ['default', 'kube-system', 'kube-node-lease']) {
    await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as never).catch(() => {})
    // Admission would wait for it, and nobody moves the clock then.
    await client
      .resource(resources.corev1.serviceaccounts)
      .namespace(name)
      .create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } } as never)
  }
  const runtime = makeRuntime?.(clock) ?? createSimulatedRuntime({ clock, random })
  const make = () =>
    createKubelet({
      nodeName: 'node1',
      client,
      runtime,
      clock,
      random,
      log,
      machine,
      nodeIPs: ['192.0.2.1'],
      clusterDNS: ['10.96.0.10'],
      rootDir: '/tmp/k8ts-kubelet-test',
      logDir: '/tmp/k8ts-kubelet-test/logs',
      ...options,
    })
  let kubelet = make()
  let life = new AbortController()
  setMaxListeners(0, life.signal)
  let running = kubelet.run(life.signal)
  await clock.advance(3000)
  const pods = client.resource(resources.corev1.pods)
  const harness: KubeletHarness = {
    clock,
    client,
    runtime,
    logs,
    get kubelet() {
      return kubelet
    },
    async pod(spec, metadata) {
      const created = await pods.namespace(metadata?.namespace ?? 'default').create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p', namespace: 'default', ...metadata },
        spec: { nodeName: 'node1', automountServiceAccountToken: false, containers: [{ name: 'app', image: 'nginx:1.27', resources: {} }], ...spec },
      } as never)
      await clock.settle()
      return created
    },
    async get(name, namespace = 'default') {
      return pods
        .namespace(namespace)
        .get(name)
        .catch((e: unknown) => {
          if (isNotFound(e)) return undefined
          throw e
        })
    },
    async events(name) {
      await clock.advance(1000)
      const list = await client.resource(resources.corev1.events).list()
      return (list.items as Event[])
        .filter((e) => e.involvedObject.name === name)
        .map((e) => `${e.type} ${e.reason} ${e.message}${(e.count ?? 1) > 1 ? ` x${e.count}` : ''}`)
    },
    async until(name, condition, ms = 600_000) {
      let last: Pod | undefined
      const end = clock.now() + ms
      // Small steps: the API's own work takes turns of the event loop, which virtual time must not outrun.
      while (clock.now() < end) {
        for (let i = 0; i < 3; i++) await clock.settle()
        last = (await harness.get(name, 'default')) ?? (await harness.get(name, 'kube-system'))
        if (last && condition(last)) return last
        const next = clock.nextTimer() ?? end
        await clock.advance(Math.max(1, Math.min(250, next - clock.now())))
      }
      throw new Error(`condition not met within ${ms} ms: ${JSON.stringify(last?.status, null, 1)}`)
    },
    async gone(name, ms = 120_000) {
      await clock.advanceUntil(async () => (await harness.get(name)) === undefined, ms)
    },
    async stop() {
      life.abort(new Error('stop'))
      await running
      stop.abort(new Error('stop'))
      await clock.settle()
    },
    async restart() {
      life.abort(new Error('restart'))
      await running
      life = new AbortController()
      setMaxListeners(0, life.signal)
      kubelet = make()
      running = kubelet.run(life.signal)
      await clock.advance(3000)
    },
  }
  return harness
}
