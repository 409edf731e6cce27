import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/index.ts'
import type { Clock, Random } from '../../base/index.ts'
import { type Informer, SharedInformer } from '../../client/cache/informer.ts'
import type { Client } from '../../client/client.ts'
import type { Logger } from '../../component-base/component.ts'

/** Where a source puts the Pods it knows. `put` is told of new and changed ones alike. */
export interface PodSink {
  put(pod: Pod): void
  remove(pod: Pod): void
  /** Everything the source has at its start was put. */
  synced(): void
}

export interface PodSource {
  /** Feeds the sink until the signal aborts. */
  run(sink: PodSink, signal: AbortSignal): Promise<void>
}

/** The Pods the API binds to one node, by a watch of its own. */
export function apiPodSource(options: { client: Client; clock: Clock; random: Random; log: Logger; nodeName: string }): PodSource {
  return {
    async run(sink, signal) {
      const informer = new SharedInformer<Pod>(options, resources.corev1.pods, { fieldSelector: `spec.nodeName=${options.nodeName}` })
      feed(informer, sink)
      informer.waitForSync(signal).then(
        () => sink.synced(),
        () => {},
      )
      await informer.run(signal)
    },
  }
}

function feed(informer: Informer<Pod>, sink: PodSink): void {
  informer.addHandler({
    onAdd: (pod) => sink.put(pod),
    onUpdate: (before, pod) => {
      if (before.metadata.uid !== pod.metadata.uid) sink.remove(before)
      sink.put(pod)
    },
    onDelete: (pod) => sink.remove(pod),
  })
}

/** One watch of all Pods, dealt out by node: for many kubelets in one process. */
export class SharedPodSource {
  private readonly sinks = new Map<string, PodSink>()
  private readonly informer: Informer<Pod>

  /** @param informer of all Pods, run by its owner */
  constructor(informer: Informer<Pod>) {
    this.informer = informer
    const to = (pod: Pod) => this.sinks.get(pod.spec.nodeName ?? '')
    informer.addHandler({
      onAdd: (pod) => to(pod)?.put(pod),
      onUpdate: (before, pod) => {
        if (before.metadata.uid !== pod.metadata.uid || before.spec.nodeName !== pod.spec.nodeName) to(before)?.remove(before)
        to(pod)?.put(pod)
      },
      onDelete: (pod) => to(pod)?.remove(pod),
    })
    informer.addIndex('spec.nodeName', (pod) => [pod.spec.nodeName ?? ''])
  }

  forNode(nodeName: string): PodSource {
    return {
      run: async (sink, signal) => {
        await this.informer.waitForSync(signal).catch(() => {})
        if (signal.aborted) return
        this.sinks.set(nodeName, sink)
        for (const pod of this.informer.lister.byIndex('spec.nodeName', nodeName)) sink.put(pod)
        sink.synced()
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
        this.sinks.delete(nodeName)
      },
    }
  }
}

/** One watch of all Nodes, dealt out by name: `forNode` is a kubelet's `nodeSource`. */
export class SharedNodeSource {
  private readonly listeners = new Map<string, (node: Node) => void>()
  private readonly informer: Informer<Node>

  /** @param informer of all Nodes, run by its owner */
  constructor(informer: Informer<Node>) {
    this.informer = informer
    const tell = (node: Node) => this.listeners.get(node.metadata.name ?? '')?.(node)
    informer.addHandler({ onAdd: tell, onUpdate: (_before, node) => tell(node) })
  }

  forNode(nodeName: string): (onNode: (node: Node) => void, signal: AbortSignal) => Promise<void> {
    return async (onNode, signal) => {
      this.listeners.set(nodeName, onNode)
      const known = this.informer.lister.get(nodeName)
      if (known) onNode(known)
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      this.listeners.delete(nodeName)
    }
  }
}
