import { setMaxListeners } from 'node:events'
import type { Event, Pod } from '../api/core/v1/types.generated.ts'
import { resources } from '../api/index.ts'
import type { KubeObject, ResourceHandle } from '../apimachinery/object.ts'
import { formatTime } from '../apimachinery/time.ts'
import { deepCopy, seededRandom, VirtualClock } from '../base/index.ts'
import { type Client, createClient, EventBroadcaster, InformerFactory } from '../client/index.ts'
import { createFeatureGates, createLogger, MemoryLogSink } from '../component-base/index.ts'
import type { ControllerContext } from '../controller-runtime/index.ts'
import { FakeApi } from './fake-api.ts'

export interface Harness {
  clock: VirtualClock
  api: FakeApi
  client: Client
  context: ControllerContext
  logs: MemoryLogSink
  /** Runs controllers until `stop`. */
  start(...controllers: { run(): Promise<void> }[]): Promise<void>
  /** Stops all and says what was left behind. */
  stop(): Promise<{ timers: number; watches: number }>
  create<T extends KubeObject>(handle: ResourceHandle<T>, object: unknown, namespace?: string): Promise<T>
  list<T extends KubeObject>(handle: ResourceHandle<T>, namespace?: string): Promise<T[]>
  /** Events as `Type Reason message (count)`, in order of writing. */
  events(component?: string): Promise<string[]>
}

/** Controllers on a fake API under virtual time. */
export function controllerHarness(seed = 1): Harness {
  const clock = new VirtualClock()
  const random = seededRandom(seed)
  const api = new FakeApi(clock, random)
  const client = createClient(api, { clock })
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const logs = new MemoryLogSink()
  const log = createLogger({ component: 'test', sink: logs, clock, verbosity: 4 })
  const informers = new InformerFactory({ client, clock, random, log })
  const events = new EventBroadcaster({ client, clock, random, log, signal: stop.signal })
  const context: ControllerContext = { client, clock, random, log, signal: stop.signal, informers, events, gates: createFeatureGates() }
  const running: Promise<void>[] = []
  return {
    clock,
    api,
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
      await Promise.all(running)
      await informers.stopped()
      await events.stopped()
      await clock.settle()
      return { timers: clock.timerCount(), watches: api.openWatches }
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

/** Stands for scheduler and kubelet: Pods get a node, run and become ready `readyAfterMs` after they were seen, and end when deleted. */
export class FakeNode {
  private readonly context: ControllerContext
  private readonly readyAfterMs: number
  private readonly node: string
  /** Pods for which this is true stay Pending. */
  hold: (pod: Pod) => boolean = () => false

  constructor(context: ControllerContext, options: { readyAfterMs?: number; node?: string } = {}) {
    this.context = context
    this.readyAfterMs = options.readyAfterMs ?? 1000
    this.node = options.node ?? 'node-1'
  }

  async run(): Promise<void> {
    const pods = this.context.informers.informer(resources.corev1.pods)
    pods.addHandler({ onAdd: (pod) => this.see(pod), onUpdate: (_, pod) => this.see(pod) })
  }

  private see(pod: Pod): void {
    const { client, clock, signal } = this.context
    const pods = client.resource(resources.corev1.pods).namespace(pod.metadata.namespace)
    const name = pod.metadata.name ?? ''
    const soon = (ms: number, work: () => Promise<unknown>) => {
      const timer = clock.setTimeout(() => {
        signal.removeEventListener('abort', cancel)
        clock.track(work().catch(() => {}))
      }, ms)
      const cancel = () => timer.cancel()
      signal.addEventListener('abort', cancel, { once: true })
    }
    if (pod.metadata.deletionTimestamp) {
      soon(500, () => pods.delete(name, { gracePeriodSeconds: 0 }))
      return
    }
    if (pod.status?.phase !== 'Pending' || this.hold(pod)) return
    if (!pod.spec.nodeName) {
      clock.track(pods.createSubresource(name, 'binding', { metadata: { name }, target: { kind: 'Node', name: this.node } } as never).catch(() => {}))
      return
    }
    soon(this.readyAfterMs, async () => {
      const now = deepCopy(await pods.get(name))
      const time = formatTime(clock.now())
      now.status = {
        ...now.status,
        phase: 'Running',
        podIP: '10.0.0.9',
        podIPs: [{ ip: '10.0.0.9' }],
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time }],
      }
      await pods.updateStatus(now)
    })
  }
}
