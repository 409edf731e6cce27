import type { Node, Pod } from '../../api/core/v1/types.generated.ts'
import { parseAmount } from '../../component-helpers/amounts.ts'
import { matchesRequiredNodeAffinity } from '../../component-helpers/node-affinity.ts'
import { type Amounts, addTo, podRequests, toAmounts } from '../../component-helpers/pod-requests.ts'
import { findUntoleratedTaint } from '../../component-helpers/taints.ts'
import { allContainers, isCritical, isStatic } from '../pods/pod.ts'

export interface Refusal {
  reason: string
  message: string
}

export interface AdmissionInputs {
  node: Node
  nodeName: string
  /** Pods already admitted, which hold their resources. */
  others: readonly Pod[]
  pressure: { memory: boolean; disk: boolean; pid: boolean }
  os: string
}

const value = (name: string, nano: bigint): string => (name === 'cpu' ? String((nano + 999_999n) / 1_000_000n) : String((nano + 999_999_999n) / 1_000_000_000n))

/** Whether the node takes a Pod that was bound to it; the first refusal is returned. */
export function admit(pod: Pod, i: AdmissionInputs): Refusal | undefined {
  return underPressure(pod, i) ?? wrongSystem(pod, i) ?? notEnough(pod, i) ?? unfit(pod, i)
}

function underPressure(pod: Pod, { pressure }: AdmissionInputs): Refusal | undefined {
  const on = [...(pressure.memory ? ['MemoryPressure'] : []), ...(pressure.disk ? ['DiskPressure'] : []), ...(pressure.pid ? ['PIDPressure'] : [])]
  if (on.length === 0 || isCritical(pod)) return undefined
  if (on.length === 1 && pressure.memory) {
    const bestEffort = allContainers(pod).every((c) => Object.keys({ ...c.resources?.requests, ...c.resources?.limits }).length === 0)
    if (!bestEffort) return undefined
    if (!findUntoleratedTaint([{ key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' }], pod.spec.tolerations)) return undefined
  }
  return { reason: 'Evicted', message: `The node had condition: [${on.join(' ')}]. ` }
}

function wrongSystem(pod: Pod, { os }: AdmissionInputs): Refusal | undefined {
  const selector = pod.spec.nodeSelector?.['kubernetes.io/os']
  if (selector !== undefined && selector !== os) {
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label" }
  }
  if (pod.spec.os && pod.spec.os.name !== os) return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" }
  return undefined
}

function notEnough(pod: Pod, { node, others }: AdmissionInputs): Refusal | undefined {
  const allocatable: Amounts = toAmounts(node.status?.allocatable)
  const refuse = (name: string, requested: string, used: string, capacity: string): Refusal => ({
    reason: `OutOf${name}`,
    message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  })
  const pods = allocatable.get('pods')
  if (pods && BigInt(others.length + 1) * 1_000_000_000n > pods.nano) return refuse('pods', '1', String(others.length), pods.toString())
  const wanted = podRequests(pod)
  let used: Amounts | undefined
  for (const [name, amount] of wanted) {
    if (amount.nano === 0n) continue
    const have = allocatable.get(name)
    if (!have && name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage') continue
    if (!used) {
      used = new Map()
      for (const o of others) addTo(used, podRequests(o, { useStatusResources: true }))
    }
    const taken = used.get(name) ?? parseAmount('0')
    const capacity = have ?? parseAmount('0')
    if (taken.nano + amount.nano > capacity.nano) return refuse(name, value(name, amount.nano), value(name, taken.nano), value(name, capacity.nano))
  }
  return undefined
}

function unfit(pod: Pod, { node, nodeName, others }: AdmissionInputs): Refusal | undefined {
  const failed = (name: string, text: string): Refusal => ({ reason: name, message: `Predicate ${name} failed: ${text}` })
  if (!matchesRequiredNodeAffinity(pod, node)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")
  if (pod.spec.nodeName && pod.spec.nodeName !== nodeName) return failed('NodeName', "node(s) didn't match the requested node name")
  if (portsClash(pod, others)) return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
  if (!isStatic(pod) && findUntoleratedTaint(node.spec?.taints, pod.spec.tolerations, (t) => t.effect === 'NoExecute')) {
    return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate")
  }
  return undefined
}

function hostPorts(pod: Pod): { ip: string; protocol: string; port: number }[] {
  return allContainers(pod).flatMap((c) =>
    (c.ports ?? []).filter((p) => p.hostPort).map((p) => ({ ip: p.hostIP || '0.0.0.0', protocol: p.protocol ?? 'TCP', port: p.hostPort as number })),
  )
}

function portsClash(pod: Pod, others: readonly Pod[]): boolean {
  const own = hostPorts(pod)
  if (own.length === 0) return false
  return others.some((o) =>
    hostPorts(o).some((b) => own.some((a) => a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0'))),
  )
}
