import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/core/v1/types.generated.ts'
import { fromAmounts, podLimits, podRequests } from '../../component-helpers/pod-requests.ts'
import { computeQOSClass } from '../../component-helpers/qos.ts'
import { isHostNetwork, isSidecar } from '../pods/pod.ts'
import type { Prober } from '../prober/prober.ts'
import { latestContainer, type PodState, podIPs } from '../runtime/pod-state.ts'
import { containersReady, initialized, ready, readyToStart } from './conditions.ts'
import { containerStatuses, type StatusSources } from './container-statuses.ts'
import { podPhase } from './phase.ts'

export interface PodStatusInputs {
  /** The status so far. */
  old: PodStatus
  /** Conditions in the API, for readiness gates. */
  apiConditions: readonly PodCondition[]
  hostIPs: readonly string[]
  prober: Prober
  sources: StatusSources
  terminating: boolean
  now: string
}

/** The status of a Pod from what its runtime knows. */
export function podStatus(pod: Pod, state: PodState, i: PodStatusInputs): PodStatus {
  const { old } = i
  const initSpecs = pod.spec.initContainers ?? []
  const hasInit = initSpecs.length > 0
  const make = (specs: Parameters<typeof containerStatuses>[2], previous: ContainerStatus[] | undefined, isInit: boolean) =>
    containerStatuses(pod, state, specs, previous ?? [], { hasInit, isInit, sources: i.sources })
  const init = make(initSpecs, old.initContainerStatuses, true)
  const regular = make(pod.spec.containers, old.containerStatuses, false).sort(byName)
  const ephemeral = (pod.spec.ephemeralContainers ?? [])
    .filter((c) => latestContainer(state, c.name) || i.sources.startFailure(c.name))
    .map((c) => make([c], old.ephemeralContainerStatuses, false)[0] as ContainerStatus)
    .sort(byName)

  for (const s of regular)
    probed(
      s,
      pod.spec.containers.find((c) => c.name === s.name),
      state,
      i.prober,
    )
  for (const s of init) {
    const c = initSpecs.find((x) => x.name === s.name)
    if (c && isSidecar(c)) probed(s, c, state, i.prober)
    else {
      s.ready = s.state.terminated?.exitCode === 0
      s.started = s.state.running !== undefined
    }
  }
  for (const s of ephemeral) s.started = s.state.running !== undefined

  let phase = podPhase(pod, { init, regular }, i.terminating)
  if (old.phase === 'Failed' || old.phase === 'Succeeded') phase = old.phase
  const status: PodStatus = {
    phase,
    ...(old.phase === phase && old.reason ? { reason: old.reason } : {}),
    ...(old.phase === phase && old.message ? { message: old.message } : {}),
    startTime: old.startTime ?? i.now,
    qosClass: computeQOSClass(pod),
    containerStatuses: regular,
    ...(hasInit ? { initContainerStatuses: init } : {}),
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
  }

  if (i.hostIPs.length > 0) {
    status.hostIP = i.hostIPs[0] as string
    status.hostIPs = i.hostIPs.map((ip) => ({ ip }))
  }
  const ips = isHostNetwork(pod) ? (old.podIPs?.map((p) => p.ip) ?? [...i.hostIPs]) : podIPs(state)
  if (ips.length > 0) {
    status.podIP = ips[0] as string
    status.podIPs = ips.map((ip) => ({ ip }))
  } else if (old.podIP) {
    status.podIP = old.podIP
    if (old.podIPs) status.podIPs = old.podIPs
  }

  const requests = fromAmounts(podRequests(pod))
  const limits = fromAmounts(podLimits(pod))
  if (Object.keys(requests).length > 0) status.allocatedResources = requests
  if (Object.keys(requests).length > 0 || Object.keys(limits).length > 0) {
    status.resources = { ...(Object.keys(limits).length ? { limits } : {}), ...(Object.keys(requests).length ? { requests } : {}) }
  }

  const disruption = old.conditions?.find((c) => c.type === 'DisruptionTarget')
  const containers = containersReady(pod, init, regular, phase)
  status.conditions = [
    ...(disruption ? [disruption] : []),
    readyToStart(pod, state),
    initialized(pod, init, regular, phase),
    ready(pod, i.apiConditions, containers),
    containers,
    { type: 'PodScheduled', status: 'True' },
  ] as PodCondition[]
  return status
}

const byName = (a: ContainerStatus, b: ContainerStatus): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

function probed(s: ContainerStatus, c: Container | undefined, state: PodState, prober: Prober): void {
  const latest = latestContainer(state, s.name)
  if (!c || !latest) return
  s.started = prober.isStarted(c, latest)
  s.ready = prober.isReady(c, latest)
}
