import type { ContainerStatus, Pod } from '../api/core/v1/types.generated.ts'
import { findPodCondition, isPodConditionTrue, isSidecar } from './pod-conditions.ts'

/** What tables show of a Pod: the words are those of `kubectl get pods`. */
export interface PodSummary {
  readonly ready: number
  readonly total: number
  readonly status: string
  readonly restarts: number
  /** ms since the epoch of the latest end of an earlier run; undefined without restarts. */
  readonly lastRestart: number | undefined
}

interface Walk {
  ready: number
  status: string
  restarts: number
  restartable: number
  lastRestart: number | undefined
  lastSidecarRestart: number | undefined
}

const finishedAt = (status: ContainerStatus): number | undefined => {
  const at = status.lastState?.terminated?.finishedAt
  return at ? Date.parse(at) : undefined
}

const later = (a: number | undefined, b: number | undefined): number | undefined => (a === undefined ? b : b === undefined ? a : Math.max(a, b))

function terminatedText(state: { reason?: string; signal?: number; exitCode: number }): string {
  if (state.reason) return state.reason
  return state.signal ? `Signal:${state.signal}` : `ExitCode:${state.exitCode}`
}

/** Walks the init containers up to the first unfinished one; true when it found one. */
function walkInit(pod: Pod, walk: Walk): boolean {
  const initContainers = pod.spec?.initContainers ?? []
  const sidecars = new Map(initContainers.map((c) => [c.name, isSidecar(c)]))
  for (const [i, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    walk.restarts += status.restartCount
    walk.lastRestart = later(walk.lastRestart, finishedAt(status))
    const sidecar = sidecars.get(status.name) ?? false
    if (sidecar) {
      walk.restartable += status.restartCount
      walk.lastSidecarRestart = later(walk.lastSidecarRestart, finishedAt(status))
    }
    const { terminated, waiting } = status.state ?? {}
    if (terminated && terminated.exitCode === 0) continue
    if (sidecar && status.started) {
      if (status.ready) walk.ready++
      continue
    }
    if (terminated) walk.status = `Init:${terminatedText(terminated)}`
    else if (waiting?.reason && waiting.reason !== 'PodInitializing') walk.status = `Init:${waiting.reason}`
    else walk.status = `Init:${i}/${initContainers.length}`
    return true
  }
  return false
}

function walkContainers(pod: Pod, walk: Walk): void {
  let running = false
  let failed = ''
  walk.restarts = walk.restartable
  walk.lastRestart = walk.lastSidecarRestart
  const statuses = pod.status?.containerStatuses ?? []
  for (let i = statuses.length - 1; i >= 0; i--) {
    const status = statuses[i] as ContainerStatus
    walk.restarts += status.restartCount
    walk.lastRestart = later(walk.lastRestart, finishedAt(status))
    const { waiting, terminated, running: runs } = status.state ?? {}
    if (waiting?.reason) walk.status = waiting.reason
    else if (terminated) {
      walk.status = terminatedText(terminated)
      if (terminated.exitCode !== 0) failed = walk.status
    } else if (status.ready && runs) {
      running = true
      walk.ready++
    }
  }
  if (walk.status !== 'Completed') return
  if (running && isPodConditionTrue(pod, 'Ready')) walk.status = 'Running'
  else if (failed !== '') walk.status = failed
  else if (running) walk.status = 'NotReady'
}

export function summarizePod(pod: Pod): PodSummary {
  const status = pod.status ?? {}
  const walk: Walk = {
    ready: 0,
    status: status.reason || status.phase || '',
    restarts: 0,
    restartable: 0,
    lastRestart: undefined,
    lastSidecarRestart: undefined,
  }
  if (findPodCondition(pod, 'PodScheduled')?.reason === 'SchedulingGated') walk.status = 'SchedulingGated'
  const initializing = walkInit(pod, walk)
  if (!initializing || isPodConditionTrue(pod, 'Initialized')) walkContainers(pod, walk)
  if (pod.metadata.deletionTimestamp) {
    if (status.reason === 'NodeLost') walk.status = 'Unknown'
    else if (status.phase !== 'Succeeded' && status.phase !== 'Failed') walk.status = 'Terminating'
  }
  return {
    ready: walk.ready,
    total: (pod.spec?.containers.length ?? 0) + (pod.spec?.initContainers ?? []).filter(isSidecar).length,
    status: walk.status,
    restarts: walk.restarts,
    lastRestart: walk.restarts > 0 ? walk.lastRestart : undefined,
  }
}
