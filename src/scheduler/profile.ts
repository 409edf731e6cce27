import type { corev1 } from '../api/index.ts'
import type { ClusterCache } from './cache/cluster-cache.ts'
import type { NodeInfo } from './framework/node-info.ts'
import type { CycleState, Diagnosis, PluginHandle } from './framework/plugin.ts'
import type { PodInfo } from './framework/pod-info.ts'
import { FrameworkRunner } from './framework/runner.ts'
import type { Status } from './framework/status.ts'
import { defaultPlugins } from './plugins/registry.ts'

const MIN_FEASIBLE = 100

/** One scheduler name with its plugins; picks a node for a Pod. */
export class Profile {
  readonly schedulerName: string
  readonly runner: FrameworkRunner
  private readonly cache: ClusterCache
  private readonly handle: PluginHandle
  private readonly percentage: number
  private startIndex = 0

  /** @param handle everything but what the profile itself provides */
  constructor(
    schedulerName: string,
    cache: ClusterCache,
    handle: Omit<PluginHandle, 'snapshot' | 'filterOne' | 'adjust' | 'schedulerName'>,
    percentageOfNodesToScore = 0,
  ) {
    this.schedulerName = schedulerName
    this.cache = cache
    this.percentage = percentageOfNodesToScore
    this.handle = {
      ...handle,
      schedulerName,
      snapshot: () => cache,
      filterOne: (state, pod, node) => this.filterWithNominated(state, pod, node),
      adjust: (state, pod, other, node, sign) => this.runner.adjust(state, pod, other, node, sign),
    }
    this.runner = new FrameworkRunner(defaultPlugins(this.handle, (state) => this.runner.cloneState(state)))
  }

  /** The node to use, or why there is none. Throws PluginError. */
  pick(state: CycleState, pod: PodInfo): { node: string } | { diagnosis: Diagnosis } {
    const diagnosis: Diagnosis = { nodeStatuses: new Map(), plugins: new Set(), pendingPlugins: new Set() }
    const nodes = this.cache.nodes
    if (nodes.length === 0) return { diagnosis }
    const names = this.runner.preFilter(state, pod, this.cache, diagnosis)
    if (names === null) return { diagnosis }
    const nominated = pod.pod.status.nominatedNodeName
    if (nominated && (!names || names.has(nominated))) {
      const node = this.cache.get(nominated)
      if (node && !this.filterWithNominated(state, pod, node)) return { node: nominated }
    }
    const feasible = this.feasible(state, pod, names, diagnosis)
    if (feasible.length === 0) {
      if (diagnosis.absentStatus && names) for (const p of ['NodeAffinity']) diagnosis.plugins.add(p)
      return { diagnosis }
    }
    if (feasible.length === 1) return { node: (feasible[0] as NodeInfo).name }
    const scores = this.runner.score(state, pod, feasible, this.cache)
    return { node: this.best(feasible, scores).name }
  }

  private feasible(state: CycleState, pod: PodInfo, names: ReadonlySet<string> | undefined, diagnosis: Diagnosis): NodeInfo[] {
    const all = names ? [...names].map((n) => this.cache.get(n)).filter((n) => n !== undefined) : this.cache.nodes
    const want = names ? all.length : this.nodesToFind(all.length)
    const found: NodeInfo[] = []
    let looked = 0
    for (; looked < all.length && found.length < want; looked++) {
      const node = all[(this.startIndex + looked) % all.length] as NodeInfo
      const status = this.filterWithNominated(state, pod, node)
      if (!status) found.push(node)
      else {
        diagnosis.nodeStatuses.set(node.name, status)
        if (status.plugin) (status.code === 'pending' ? diagnosis.pendingPlugins : diagnosis.plugins).add(status.plugin)
      }
    }
    if (!names) this.startIndex = (this.startIndex + looked) % Math.max(1, all.length)
    return found
  }

  private nodesToFind(total: number): number {
    if (total < MIN_FEASIBLE) return total
    const percentage = this.percentage > 0 ? this.percentage : Math.max(5, 50 - Math.trunc(total / 125))
    if (percentage >= 100) return total
    return Math.max(MIN_FEASIBLE, Math.trunc((total * percentage) / 100))
  }

  /** With Pods nominated to the node counted as if they were there, and again without: both must pass. */
  private filterWithNominated(state: CycleState, pod: PodInfo, node: NodeInfo): Status | undefined {
    const nominated = this.handle.nominatedOn(node.name).filter((p) => p.uid !== pod.uid && p.priority >= pod.priority && !node.pods.has(p.uid))
    if (nominated.length > 0) {
      const copy = node.clone()
      const copyState = this.runner.cloneState(state)
      for (const p of nominated) {
        copy.addPod(p)
        this.runner.adjust(copyState, pod, p, copy, 1)
      }
      const status = this.runner.filter(copyState, pod, copy)
      if (status) return status
    }
    return this.runner.filter(state, pod, node)
  }

  private best(nodes: readonly NodeInfo[], scores: readonly number[]): NodeInfo {
    let top = Number.NEGATIVE_INFINITY
    let ties = 0
    let chosen = 0
    for (let i = 0; i < nodes.length; i++) {
      const s = scores[i] as number
      if (s > top) {
        top = s
        chosen = i
        ties = 1
      } else if (s === top && this.handle.random.int(++ties) === 0) chosen = i
    }
    return nodes[chosen] as NodeInfo
  }

  postFilterPlugins() {
    return this.runner.plugins.filter((p) => p.postFilter)
  }
}

/** A Pod this scheduler has to place: no node yet, not over, and of one of its names. */
export function isWaiting(pod: corev1.Pod, names: (schedulerName: string) => boolean): boolean {
  return !pod.spec.nodeName && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed' && names(pod.spec.schedulerName ?? 'default-scheduler')
}
