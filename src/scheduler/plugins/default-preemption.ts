import type { corev1, policyv1 } from '../../api/index.ts'
import { resources } from '../../api/index.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { reasonCounts } from '../framework/fit-error.ts'
import type { NodeInfo } from '../framework/node-info.ts'
import type { CycleState, Diagnosis, Plugin, PluginHandle, PostFilterResult } from '../framework/plugin.ts'
import type { PodInfo } from '../framework/pod-info.ts'
import { matchLabelSelector } from '../framework/pod-terms.ts'
import { isRejected, unresolvable, unschedulable } from '../framework/status.ts'

export interface PreemptionArgs {
  minCandidateNodesPercentage: number
  minCandidateNodesAbsolute: number
}

interface Candidate {
  node: NodeInfo
  victims: PodInfo[]
  pdbViolations: number
}

/** Copies plugin state so that Pods can be tried on and off. */
type CloneState = (state: CycleState) => CycleState

/**
 * Makes room for a Pod by evicting Pods of lower priority. Victims end in the background; meanwhile the Pod is held by
 * PreEnqueue and has its node in status.nominatedNodeName.
 */
export function defaultPreemption(
  handle: PluginHandle,
  cloneState: CloneState,
  args: PreemptionArgs = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
): Plugin {
  /** Pods whose victims are being evicted right now. */
  const preempting = new Set<string>()
  const gate = unresolvable('waiting for the preemption for this pod to be finished')

  return {
    name: 'DefaultPreemption',
    // Never wakes a Pod by itself: it only lets the gate be looked at again.
    events: () => [{ resource: 'AssignedPod', actions: ['Delete'], hint: () => false }],
    preEnqueue: (pod) => (preempting.has(pod.uid) ? gate : undefined),
    postFilter,
  }

  async function postFilter(state: CycleState, pod: PodInfo, diagnosis: Diagnosis): Promise<PostFilterResult> {
    const nodes = handle.snapshot().nodes
    if (pod.pod.spec.preemptionPolicy === 'Never') return { status: unschedulable('preemption: not eligible due to preemptionPolicy=Never.') }
    const nominated = pod.pod.status.nominatedNodeName
    if (nominated && (diagnosis.nodeStatuses.get(nominated) ?? diagnosis.absentStatus)?.code !== 'unresolvable' && handle.snapshot().get(nominated)) {
      const info = handle.snapshot().get(nominated) as NodeInfo
      for (const other of info.pods.values()) {
        if (
          other.priority < pod.priority &&
          other.pod.metadata.deletionTimestamp &&
          other.pod.status.conditions?.some((c) => c.type === 'DisruptionTarget' && c.reason === 'PreemptionByScheduler')
        ) {
          return { status: unschedulable('preemption: not eligible due to a terminating pod on the nominated node.') }
        }
      }
    }
    const possible = nodes.filter((n) => statusOf(diagnosis, n.name)?.code === 'unschedulable')
    const reasons: string[] = []
    for (const n of nodes) if (statusOf(diagnosis, n.name)?.code !== 'unschedulable') reasons.push('Preemption is not helpful for scheduling')
    const candidates = findCandidates(state, pod, possible, reasons)
    if (candidates.length === 0) {
      return { status: unschedulable(`preemption: 0/${nodes.length} nodes are available: ${reasonCounts(reasons)}.`), nominatedNode: '' }
    }
    const best = choose(candidates)
    evict(pod, best)
    return { nominatedNode: best.node.name }
  }

  function statusOf(diagnosis: Diagnosis, node: string) {
    return diagnosis.preFilterStatus ?? diagnosis.nodeStatuses.get(node) ?? diagnosis.absentStatus
  }

  function findCandidates(state: CycleState, pod: PodInfo, nodes: readonly NodeInfo[], reasons: string[]): Candidate[] {
    const want = Math.min(nodes.length, Math.max(Math.trunc((nodes.length * args.minCandidateNodesPercentage) / 100), args.minCandidateNodesAbsolute))
    const offset = nodes.length === 0 ? 0 : handle.random.int(nodes.length)
    const found: Candidate[] = []
    let clean = false
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[(offset + i) % nodes.length] as NodeInfo
      const result = victimsOn(state, pod, node)
      if (typeof result === 'string') reasons.push(result)
      else if (Array.isArray(result)) reasons.push(...result)
      else {
        found.push(result)
        if (result.pdbViolations === 0) clean = true
        if (clean && found.length >= want) break
      }
    }
    return found
  }

  /** The fewest and least important Pods whose leaving makes room, or the reasons why none do. */
  function victimsOn(original: CycleState, pod: PodInfo, node: NodeInfo): Candidate | string | string[] {
    const lower = [...node.pods.values()].filter((p) => p.priority < pod.priority)
    if (lower.length === 0) return 'No preemption victims found for incoming pod'
    const state = cloneState(original)
    const copy = node.clone()
    const take = (p: PodInfo) => {
      copy.removePod(p.uid)
      handle.adjust(state, pod, p, copy, -1)
    }
    const put = (p: PodInfo) => {
      copy.addPod(p)
      handle.adjust(state, pod, p, copy, 1)
    }
    for (const p of lower) take(p)
    const status = handle.filterOne(state, pod, copy)
    if (isRejected(status)) return [...status.reasons]
    lower.sort(moreImportantFirst)
    const { violating, safe } = splitByBudget(lower)
    const victims: PodInfo[] = []
    let pdbViolations = 0
    const reprieve = (p: PodInfo): boolean => {
      put(p)
      if (!handle.filterOne(state, pod, copy)) return true
      take(p)
      victims.push(p)
      return false
    }
    for (const p of violating) if (!reprieve(p)) pdbViolations++
    for (const p of safe) reprieve(p)
    victims.sort(moreImportantFirst)
    return { node, victims, pdbViolations }
  }

  function splitByBudget(pods: readonly PodInfo[]): { violating: PodInfo[]; safe: PodInfo[] } {
    const budgets = new Map<policyv1.PodDisruptionBudget, number>()
    const violating: PodInfo[] = []
    const safe: PodInfo[] = []
    for (const p of pods) {
      let violates = false
      const labels = p.pod.metadata.labels ?? {}
      if (Object.keys(labels).length > 0) {
        for (const pdb of handle.view.podDisruptionBudgets(p.pod.metadata.namespace ?? '')) {
          const selector = pdb.spec.selector
          const empty = !selector || (Object.keys(selector.matchLabels ?? {}).length === 0 && !selector.matchExpressions?.length)
          if (empty || !matchLabelSelector(selector)(labels)) continue
          if (Object.hasOwn(pdb.status.disruptedPods ?? {}, p.pod.metadata.name ?? '')) continue
          const left = (budgets.get(pdb) ?? pdb.status.disruptionsAllowed ?? 0) - 1
          budgets.set(pdb, left)
          if (left < 0) violates = true
        }
      }
      ;(violates ? violating : safe).push(p)
    }
    return { violating, safe }
  }

  function evict(pod: PodInfo, candidate: Candidate): void {
    const message = `${handle.schedulerName}: preempting to accommodate a higher priority pod`
    const one = async (victim: PodInfo): Promise<void> => {
      if (victim.pod.metadata.deletionTimestamp) return
      const { name = '', namespace } = victim.pod.metadata
      const pods = handle.client.resource(resources.corev1.pods).namespace(namespace)
      const now = formatTime(handle.clock.now())
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        observedGeneration: victim.pod.metadata.generation,
        lastProbeTime: null,
        lastTransitionTime: now,
        reason: 'PreemptionByScheduler',
        message,
      }
      await pods.patch(name, 'strategic', { status: { conditions: [condition] } }, { subresource: 'status' }).catch(ignoreNotFound)
      await pods.delete(name).catch(ignoreNotFound)
      handle.event(victim.pod, pod.pod, 'Normal', 'Preempted', 'Preempting', `Preempted by pod ${pod.uid} on node ${candidate.node.name}`)
    }
    preempting.add(pod.uid)
    const [last, ...others] = [...candidate.victims].reverse()
    const work = Promise.all(others.map(one)).then(() => (last ? one(last) : undefined))
    void handle.clock.track(
      work
        .catch((e) => handle.log.error('preemption failed', { pod: pod.key, node: candidate.node.name, error: String(e) }))
        .then(() => {
          preempting.delete(pod.uid)
          handle.activate(pod)
        }),
    )
  }
}

function ignoreNotFound(e: unknown): void {
  if (!isNotFound(e)) throw e
}

const startOf = (p: PodInfo) => (p.pod.status.startTime ? Date.parse(p.pod.status.startTime) : Number.POSITIVE_INFINITY)

function moreImportantFirst(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || startOf(a) - startOf(b)
}

/** Fewest broken budgets, then least important victims, then least in sum, then fewest, then latest started. */
function choose(candidates: readonly Candidate[]): Candidate {
  const keys: ((c: Candidate) => number)[] = [
    (c) => c.pdbViolations,
    (c) => c.victims[0]?.priority ?? Number.NEGATIVE_INFINITY,
    (c) => c.victims.reduce((sum, v) => sum + v.priority + 2 ** 31, 0),
    (c) => c.victims.length,
    (c) => -Math.min(...c.victims.filter((v) => v.priority === c.victims[0]?.priority).map(startOf)),
  ]
  let left = [...candidates]
  for (const key of keys) {
    const best = Math.min(...left.map(key))
    left = left.filter((c) => key(c) === best || (Number.isNaN(key(c)) && Number.isNaN(best)))
    if (left.length <= 1) break
  }
  return (left[0] ?? candidates[0]) as Candidate
}

/** Binds by the Pod's binding subresource. */
export function defaultBinder(handle: PluginHandle): Plugin {
  return {
    name: 'DefaultBinder',
    async bind(_, pod, nodeName) {
      const { name = '', namespace, uid } = pod.pod.metadata
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target: { kind: 'Node', name: nodeName } } as corev1.Binding
      await handle.client.resource(resources.corev1.pods).namespace(namespace).createSubresource(name, 'binding', binding)
      return undefined
    },
  }
}

/**
 * The part of dynamic resource allocation that every Pod meets. Pods with resource claims are refused with a reason
 * that says so: devices are not allocated here.
 */
export function dynamicResources(): Plugin {
  const refused = unresolvable('resource claims are not allocated by this scheduler')
  return {
    name: 'DynamicResources',
    preFilter: (_, pod) => (pod.pod.spec.resourceClaims?.length ? refused : undefined),
    async postFilter(_, pod, diagnosis) {
      const by = diagnosis.preFilterStatus
      if (by?.code === 'unresolvable' && by.plugin !== 'DynamicResources') return { status: { code: 'error', reasons: ['not found'] } }
      return { status: unschedulable(pod.pod.spec.resourceClaims?.length ? 'still not schedulable' : 'no new claims to deallocate') }
    },
  }
}
