import type { ContainerStatus, Pod, PodCondition } from '../../api/core/v1/types.generated.ts'
import { isHostNetwork, isSidecar } from '../pods/pod.ts'
import type { PodState } from '../runtime/pod-state.ts'

type Made = Omit<PodCondition, 'lastTransitionTime' | 'lastProbeTime'>

const list = (names: string[]): string => `[${names.join(' ')}]`

/** A ready, newest and only sandbox, with an address unless it uses the host's network. */
export function readyToStart(pod: Pod, state: PodState): Made {
  const ready = state.sandboxes.filter((s) => s.state === 'READY')
  const ok = ready.length === 1 && state.sandboxes[0] === ready[0] && (isHostNetwork(pod) || (ready[0]?.ips.length ?? 0) > 0)
  return { type: 'PodReadyToStartContainers', status: ok ? 'True' : 'False' }
}

export function initialized(pod: Pod, init: ContainerStatus[], regular: ContainerStatus[], phase: string): Made {
  const type = 'Initialized'
  const specs = pod.spec.initContainers ?? []
  if (init.length === 0 && specs.length > 0) return { type, status: 'False', reason: 'UnknownContainerStatuses' }
  const unknown: string[] = []
  const incomplete: string[] = []
  for (const c of specs) {
    const s = init.find((x) => x.name === c.name)
    if (!s) unknown.push(c.name)
    else if (isSidecar(c) ? !s.started : !s.ready) incomplete.push(c.name)
  }
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'True', reason: 'PodCompleted' }
  if (regular.some((s) => s.state.running || s.state.terminated || s.lastState.terminated)) return { type, status: 'True' }
  const parts: string[] = []
  if (unknown.length > 0) parts.push(`containers with unknown status: ${list(unknown)}`)
  if (incomplete.length > 0) parts.push(`containers with incomplete status: ${list(incomplete)}`)
  return parts.length > 0 ? { type, status: 'False', reason: 'ContainersNotInitialized', message: parts.join(', ') } : { type, status: 'True' }
}

export function containersReady(pod: Pod, init: ContainerStatus[], regular: ContainerStatus[], phase: string): Made {
  const type = 'ContainersReady'
  const unknown: string[] = []
  const unready: string[] = []
  const look = (name: string, s: ContainerStatus | undefined) => {
    if (!s) unknown.push(name)
    else if (!s.ready) unready.push(name)
  }
  if (regular.length === 0 && phase !== 'Succeeded' && phase !== 'Failed') return { type, status: 'False', reason: 'UnknownContainerStatuses' }
  for (const c of pod.spec.initContainers ?? [])
    if (isSidecar(c))
      look(
        c.name,
        init.find((s) => s.name === c.name),
      )
  for (const c of pod.spec.containers)
    look(
      c.name,
      regular.find((s) => s.name === c.name),
    )
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' }
  const parts: string[] = []
  if (unknown.length > 0) parts.push(`containers with unknown status: ${list(unknown)}`)
  if (unready.length > 0) parts.push(`containers with unready status: ${list(unready)}`)
  return parts.length > 0 ? { type, status: 'False', reason: 'ContainersNotReady', message: parts.join(', ') } : { type, status: 'True' }
}

export function ready(pod: Pod, conditions: readonly PodCondition[], containers: Made): Made {
  if (containers.status !== 'True') return { ...containers, type: 'Ready' }
  const missing: string[] = []
  for (const gate of pod.spec.readinessGates ?? []) {
    const found = conditions.find((c) => c.type === gate.conditionType)
    if (!found) missing.push(`corresponding condition of pod readiness gate ${JSON.stringify(gate.conditionType)} does not exist.`)
    else if (found.status !== 'True') missing.push(`the status of pod readiness gate ${JSON.stringify(gate.conditionType)} is not "True", but ${found.status}`)
  }
  return missing.length > 0
    ? { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', message: missing.join(', ') }
    : { type: 'Ready', status: 'True' }
}
