import type { corev1 } from '../../api/index.ts'
import { compileTerms, type PodTerm, type WeightedPodTerm, weightedTerms } from './pod-terms.ts'
import { amountOf, Resources } from './resources.ts'

const DEFAULT_MILLI_CPU = 100
const DEFAULT_MEMORY = 200 * 1024 * 1024

const NO_CLAIMS: readonly string[] = Object.freeze([])

export interface HostPort {
  ip: string
  protocol: string
  port: number
}

/** A Pod with everything the plugins ask again and again worked out once. */
export interface PodInfo {
  readonly pod: corev1.Pod
  readonly key: string
  readonly uid: string
  readonly priority: number
  readonly requests: Resources
  /** As `requests`, but containers that ask for nothing count 100m CPU and 200Mi memory: for scoring. */
  readonly nonZero: Resources
  readonly hostPorts: readonly HostPort[]
  /** Keys (`namespace/name`) of the claims its volumes name; those of generic ephemeral volumes are its own and not listed. */
  readonly claims: readonly string[]
  readonly requiredAffinity: readonly PodTerm[]
  readonly requiredAntiAffinity: readonly PodTerm[]
  readonly preferredAffinity: readonly WeightedPodTerm[]
  readonly preferredAntiAffinity: readonly WeightedPodTerm[]
}

export function podInfo(pod: corev1.Pod): PodInfo {
  const affinity = pod.spec.affinity
  const ns = pod.metadata.namespace ?? ''
  return {
    pod,
    key: `${ns}/${pod.metadata.name}`,
    uid: pod.metadata.uid ?? '',
    priority: pod.spec.priority ?? 0,
    requests: schedulingRequests(pod, false),
    nonZero: schedulingRequests(pod, true),
    hostPorts: hostPorts(pod),
    claims: claims(pod, ns),
    requiredAffinity: compileTerms(affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, ns),
    requiredAntiAffinity: compileTerms(affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, ns),
    preferredAffinity: weightedTerms(affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, ns),
    preferredAntiAffinity: weightedTerms(affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, ns),
  }
}

const isSidecar = (c: corev1.Container) => c.restartPolicy === 'Always'

/**
 * The request of a Pod as the scheduler counts it: the larger of what runs together and of each init container's moment,
 * then the Pod's own `resources`, then overhead. Containers of scheduled Pods count with what they hold, too (KEP-1287).
 */
function schedulingRequests(pod: corev1.Pod, nonZero: boolean): Resources {
  const podLevel = pod.spec.resources?.requests
  const statuses = new Map<string, corev1.ContainerStatus>()
  const infeasible = pod.status.conditions?.some((c) => c.type === 'PodResizePending' && c.reason === 'Infeasible') ?? false
  if (pod.spec.nodeName) for (const s of [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])]) statuses.set(s.name, s)
  const requestOf = (c: corev1.Container): Resources => {
    const status = statuses.get(c.name)
    const held = status?.resources?.requests ?? status?.allocatedResources
    const r = infeasible && held ? new Resources() : Resources.of(c.resources.requests)
    if (status?.resources?.requests) r.maxOf(Resources.of(status.resources.requests))
    if (status?.allocatedResources) r.maxOf(Resources.of(status.allocatedResources))
    if (nonZero) {
      const asked = c.resources.requests
      if (asked?.cpu === undefined && podLevel?.cpu === undefined) r.milliCpu = Math.max(r.milliCpu, DEFAULT_MILLI_CPU)
      if (asked?.memory === undefined && podLevel?.memory === undefined) r.memory = Math.max(r.memory, DEFAULT_MEMORY)
    }
    return r
  }
  const total = new Resources()
  for (const c of pod.spec.containers) total.add(requestOf(c))
  const sidecars = new Resources()
  const peak = new Resources()
  for (const c of pod.spec.initContainers ?? []) {
    const own = requestOf(c)
    if (isSidecar(c)) {
      sidecars.add(own)
      total.add(own)
      peak.maxOf(sidecars)
    } else {
      own.add(sidecars)
      peak.maxOf(own)
    }
  }
  total.maxOf(peak)
  if (podLevel) {
    for (const name of Object.keys(podLevel)) {
      if (name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')) total.set(name, amountOf(name, podLevel[name] as string))
    }
  }
  if (pod.spec.overhead) total.add(Resources.of(pod.spec.overhead))
  return total
}

function claims(pod: corev1.Pod, namespace: string): readonly string[] {
  let out: Set<string> | undefined
  for (const v of pod.spec.volumes ?? []) if (v.persistentVolumeClaim) (out ??= new Set()).add(`${namespace}/${v.persistentVolumeClaim.claimName}`)
  return out ? [...out] : NO_CLAIMS
}

function hostPorts(pod: corev1.Pod): HostPort[] {
  const out: HostPort[] = []
  const from = (c: corev1.Container) => {
    for (const p of c.ports ?? []) if (p.hostPort) out.push({ ip: p.hostIP || '0.0.0.0', protocol: p.protocol || 'TCP', port: p.hostPort })
  }
  for (const c of pod.spec.initContainers ?? []) if (isSidecar(c)) from(c)
  for (const c of pod.spec.containers) from(c)
  return out
}
