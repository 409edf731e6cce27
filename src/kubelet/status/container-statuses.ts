import type { ContainerStatus as ApiContainerStatus, Container, ContainerState, Pod, VolumeMountStatus } from '../../api/core/v1/types.generated.ts'
import { formatTime } from '../../apimachinery/time.ts'
import type { AnyContainer } from '../pods/pod.ts'
import { isSidecar } from '../pods/pod.ts'
import type { PodState } from '../runtime/pod-state.ts'
import type { ContainerStatus } from '../runtime/runtime.ts'
import { restartsAfter, shouldStart } from '../sync/restart-policy.ts'
import { resourcesOf } from './container-resources.ts'

export interface StatusSources {
  /** `containerd`. */
  runtimeName(containerId: string): string
  /** Why the last attempt to start the container failed. */
  startFailure(container: string): { reason: string; message: string } | undefined
  terminationMessage(status: ContainerStatus): string
}

/** The statuses of one list of containers of a Pod, in the list's order. */
export function containerStatuses(
  pod: Pod,
  state: PodState,
  specs: readonly AnyContainer[],
  previous: readonly ApiContainerStatus[],
  options: { hasInit: boolean; isInit: boolean; sources: StatusSources },
): ApiContainerStatus[] {
  const { sources } = options
  const out: ApiContainerStatus[] = []
  const waitingReason = options.hasInit ? 'PodInitializing' : 'ContainerCreating'
  const anyRegularStarted = pod.spec.containers.some((c) => state.containers.some((s) => s.metadata.name === c.name && s.startedAt > 0))

  for (const spec of specs) {
    const runs = state.containers.filter((s) => s.metadata.name === spec.name)
    const old = previous.find((p) => p.name === spec.name)
    const [newest, second] = runs
    let status: ApiContainerStatus
    if (newest) {
      status = fromRuntime(newest, spec, pod, sources)
      if (second) status.lastState = stateOf(second, sources)
      else if (old) status.lastState = oldState(old, newest, sources)
    } else {
      status = {
        name: spec.name,
        image: spec.image ?? '',
        imageID: '',
        ready: false,
        restartCount: old?.restartCount ?? 0,
        started: false,
        state: { waiting: { reason: waitingReason } },
        lastState: {},
      }
      lost(status, old, spec, options.isInit, anyRegularStarted)
    }
    const failure = sources.startFailure(spec.name)
    if (failure && status.state.running === undefined && shouldStart(pod, spec, state) && newest?.state !== 'RUNNING') {
      // The exit moves on to lastState; state tells why the next run does not start.
      if (status.state.terminated) status.lastState = status.state
      status.state = { waiting: { reason: failure.reason, ...(failure.message ? { message: failure.message } : {}) } }
    }
    const mounts = mountStatuses(spec)
    if (mounts.length > 0) status.volumeMounts = mounts
    Object.assign(status, resourcesOf(spec, newest))
    out.push(status)
  }
  return out
}

/** A container the runtime does not know, though an earlier status says it ran. */
function lost(status: ApiContainerStatus, old: ApiContainerStatus | undefined, spec: AnyContainer, isInit: boolean, anyRegularStarted: boolean): void {
  if (!old) return
  if (old.state.terminated) {
    if (isInit && !isSidecar(spec)) {
      status.state = old.state
      status.ready = old.ready
      status.imageID = old.imageID
      status.image = old.image
      if (old.containerID) status.containerID = old.containerID
    }
    status.lastState = isInit && !isSidecar(spec) ? old.lastState : old.state
    return
  }
  if (old.state.running) {
    if (isInit && anyRegularStarted && !isSidecar(spec)) {
      status.state = {
        terminated: {
          exitCode: 0,
          reason: 'Completed',
          message: 'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
        },
      }
      return
    }
    status.restartCount = old.restartCount + 1
    status.lastState = {
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was deleted.  The container used to be Running',
      },
    }
    return
  }
  status.lastState = old.lastState
}

function oldState(old: ApiContainerStatus, newest: ContainerStatus, sources: StatusSources): ContainerState {
  const id = `${sources.runtimeName(newest.id)}://${newest.id}`
  if (old.containerID === id || !old.containerID) return old.lastState ?? {}
  return old.state.terminated ? old.state : (old.lastState ?? {})
}

function fromRuntime(s: ContainerStatus, spec: AnyContainer, pod: Pod, sources: StatusSources): ApiContainerStatus {
  const status: ApiContainerStatus = {
    name: spec.name,
    image: s.image.image || (spec.image ?? ''),
    imageID: s.imageRef,
    containerID: `${sources.runtimeName(s.id)}://${s.id}`,
    ready: false,
    started: false,
    restartCount: restartCountOf(s),
    state: stateOf(s, sources),
    lastState: {},
  }
  if (s.user) {
    status.user = {
      linux: { uid: s.user.uid, gid: s.user.gid, ...(s.user.supplementalGroups.length ? { supplementalGroups: s.user.supplementalGroups } : {}) },
    }
  }
  // A created container that has not started yet counts as waiting for it.
  if (s.state === 'CREATED') status.state = { waiting: { reason: (pod.spec.initContainers?.length ?? 0) > 0 ? 'PodInitializing' : 'ContainerCreating' } }
  return status
}

export function restartCountOf(s: ContainerStatus): number {
  const text = s.annotations['io.kubernetes.container.restartCount']
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : s.metadata.attempt
}

function stateOf(s: ContainerStatus, sources: StatusSources): ContainerState {
  if (s.state === 'RUNNING') return { running: { startedAt: formatTime(s.startedAt) } }
  if (s.state === 'EXITED') {
    const termination = sources.terminationMessage(s)
    const message = [s.message, termination].filter((m) => m !== '').join(': ')
    return {
      terminated: {
        exitCode: s.exitCode,
        reason: s.reason || (s.exitCode === 0 ? 'Completed' : 'Error'),
        ...(message ? { message } : {}),
        startedAt: formatTime(s.startedAt || s.createdAt),
        finishedAt: formatTime(s.finishedAt || s.createdAt),
        containerID: `${sources.runtimeName(s.id)}://${s.id}`,
      },
    }
  }
  return { waiting: {} }
}

function mountStatuses(spec: AnyContainer): VolumeMountStatus[] {
  return (spec.volumeMounts ?? []).map((m) => ({
    name: m.name,
    mountPath: m.mountPath,
    ...(m.readOnly
      ? { readOnly: true, recursiveReadOnly: m.recursiveReadOnly === 'Enabled' || m.recursiveReadOnly === 'IfPossible' ? 'Enabled' : 'Disabled' }
      : {}),
  }))
}

/** Whether every container of the Pod has ended for good. */
export function allEnded(pod: Pod, statuses: readonly ApiContainerStatus[]): boolean {
  return statuses.every((s) => {
    const spec = pod.spec.containers.find((c) => c.name === s.name) as Container | undefined
    const ended = s.state.terminated
    return !spec || (ended !== undefined && !restartsAfter(pod, spec, ended.exitCode))
  })
}
