import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { Informer } from '../../client/index.ts'
import { isPodTerminal } from '../../component-helpers/pod-conditions.ts'
import type { ControllerContext } from '../../controller-runtime/index.ts'

const PERIOD_MS = 20_000
const QUARANTINE_MS = 40_000
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** Removes Pods nobody else will: too many finished ones, those of nodes that are gone, and those that end without ever having had a node. */
export class PodGarbageCollector {
  private readonly context: ControllerContext
  private readonly threshold: number
  private readonly pods: Informer<Pod>
  private readonly nodes: Informer<Node>
  /** Node names that are missing, and since when. */
  private readonly missing = new Map<string, number>()

  constructor(context: ControllerContext, threshold = 12_500) {
    this.context = context
    this.threshold = threshold
    this.pods = context.informers.informer(resources.corev1.pods)
    this.nodes = context.informers.informer(resources.corev1.nodes)
  }

  async run(): Promise<void> {
    const { signal, clock, log } = this.context
    try {
      await Promise.all([this.pods.waitForSync(signal), this.nodes.waitForSync(signal)])
    } catch {
      return
    }
    while (!signal.aborted) {
      await this.collect().catch((error) => {
        if (!signal.aborted) log.error('failed to collect pods', { err: (error as Error).message })
      })
      await clock.sleep(PERIOD_MS, signal).catch(() => {})
    }
  }

  private async collect(): Promise<void> {
    const pods = this.pods.lister.list()
    if (this.threshold > 0) await this.collectFinished(pods)
    await this.collectOutOfService(pods)
    await this.collectOrphans(pods)
    for (const pod of pods) if (pod.metadata.deletionTimestamp && !pod.spec.nodeName) await this.remove(pod)
  }

  private async collectFinished(pods: readonly Pod[]): Promise<void> {
    const finished = pods.filter((p) => isPodTerminal(p) && !p.metadata.deletionTimestamp)
    const surplus = finished.length - this.threshold
    if (surplus <= 0) return
    const evicted = (p: Pod) => (p.status?.reason === 'Evicted' ? 0 : 1)
    finished.sort((a, b) => {
      const first = evicted(a) - evicted(b)
      if (first !== 0) return first
      const [ta, tb] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
      return ta === tb ? ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1) : ta < tb ? -1 : 1
    })
    for (const pod of finished.slice(0, surplus)) await this.remove(pod)
  }

  private async collectOutOfService(pods: readonly Pod[]): Promise<void> {
    for (const pod of pods) {
      if (!pod.metadata.deletionTimestamp) continue
      const node = this.nodes.lister.get(pod.spec.nodeName ?? '')
      const ready = node?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')
      if (node && !ready && node.spec?.taints?.some((t) => t.key === OUT_OF_SERVICE)) await this.remove(pod)
    }
  }

  private async collectOrphans(pods: readonly Pod[]): Promise<void> {
    const { clock, client } = this.context
    const now = clock.now()
    const absent = new Set(pods.map((p) => p.spec.nodeName ?? '').filter((n) => n !== '' && !this.nodes.lister.get(n)))
    for (const name of this.missing.keys()) if (!absent.has(name)) this.missing.delete(name)
    for (const name of absent) {
      const since = this.missing.get(name)
      if (since === undefined) {
        this.missing.set(name, now)
        continue
      }
      if (now - since < QUARANTINE_MS) continue
      try {
        await client.resource(resources.corev1.nodes).get(name)
        this.missing.delete(name)
        continue
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByPodGC',
        message: 'PodGC: node no longer exists',
        lastTransitionTime: formatTime(now),
      }
      for (const pod of pods) if (pod.spec.nodeName === name) await this.remove(pod, condition)
    }
  }

  /** A Pod that has not ended is marked failed first, so that its owner counts it. */
  private async remove(pod: Pod, condition?: object): Promise<void> {
    const client = this.context.client.resource(resources.corev1.pods).namespace(pod.metadata.namespace)
    const name = pod.metadata.name ?? ''
    try {
      if (!isPodTerminal(pod)) {
        const observed = pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}
        const status = { phase: 'Failed', ...(condition ? { conditions: [{ ...condition, ...observed }] } : {}) }
        await client.patch(name, 'strategic', { metadata: { uid: pod.metadata.uid }, status }, { subresource: 'status' })
      }
      await client.delete(name, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid ?? '' } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}
