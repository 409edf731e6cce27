import { setMaxListeners } from 'node:events'
import type { Event } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/index.ts'
import { seededRandom, VirtualClock } from '../base/index.ts'
import { createClient, EventBroadcaster, InformerFactory } from '../client/index.ts'
import { buildApiServer } from '../cluster/control-plane/api-server.ts'
import { createFeatureGates, createLogger, MemoryLogSink } from '../component-base/index.ts'
import type { ControllerContext } from '../controller-runtime/index.ts'
import { createMemoryKV } from '../storage/kv/memory/memory-kv.ts'
import type { Harness } from './controller-harness.ts'

/** Controllers on the real API server over the memory store, all under virtual time. */
export async function realHarness(seed = 1): Promise<Omit<Harness, 'api'>> {
  const clock = new VirtualClock()
  const random = seededRandom(seed)
  const logs = new MemoryLogSink(5000)
  const log = createLogger({ component: 'test', sink: logs, clock, verbosity: 4 })
  const stop = new AbortController()
  const serverStop = new AbortController()
  setMaxListeners(0, stop.signal, serverStop.signal)
  const gates = createFeatureGates()
  const kv = createMemoryKV({ clock })
  const { server } = buildApiServer({
    kv,
    clock,
    random,
    log: createLogger({ component: 'apiserver', sink: logs, clock, verbosity: 0 }),
    features: gates,
    serviceAccounts: { issuer: 'https://kubernetes.default.svc.cluster.local', publicKeys: [] },
    serviceClusterIPRange: '10.96.0.0/12',
    advertiseAddress: '127.0.0.1',
    securePort: 6443,
    rbac: true,
    signal: serverStop.signal,
  })
  await clock.advance(1000)
  await server.ready
  const transport = server.inProcess({ name: 'admin', groups: ['system:masters'] })
  const client = createClient(transport, { clock, userAgent: 'kube-controller-manager' })
  const informers = new InformerFactory({ client, clock, random, log })
  const events = new EventBroadcaster({ client, clock, random, log, signal: stop.signal })
  const context: ControllerContext = { client, clock, random, log, signal: stop.signal, informers, events, gates }
  await clock.advance(2000)
  const running: Promise<void>[] = []
  return {
    clock,
    client,
    context,
    logs,
    async start(...controllers) {
      for (const c of controllers) running.push(c.run())
      informers.start(stop.signal)
      await clock.settle()
    },
    async stop() {
      stop.abort(new Error('stop'))
      await clock.settle()
      await Promise.all(running)
      await informers.stopped()
      await events.stopped()
      transport.close()
      serverStop.abort(new Error('stop'))
      const stopped = server.close(0)
      await clock.advance(5000)
      await stopped
      return { timers: 0, watches: 0 }
    },
    create: (handle, object, namespace = 'default') =>
      client
        .resource(handle)
        .namespace(handle.namespaced ? namespace : undefined)
        .create(object as never),
    list: async (handle, namespace) => (await client.resource(handle).namespace(namespace).list()).items,
    async events(component) {
      const list = (await client.resource(resources.corev1.events).list()).items as Event[]
      return list
        .filter((e) => !component || e.source.component === component)
        .map((e) => `${e.type} ${e.reason} ${e.message}${(e.count ?? 1) > 1 ? ` (${e.count})` : ''}`)
    },
  }
}
