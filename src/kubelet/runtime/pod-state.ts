import type { Clock } from '../../base/index.ts'
import { type ContainerRuntime, type ContainerStatus, isRuntimeNotFound, type PodSandboxStatus, runtimeLabels } from './runtime.ts'

/** What the runtime knows of one Pod at one moment. Both lists are newest first. */
export interface PodState {
  uid: string
  name: string
  namespace: string
  sandboxes: PodSandboxStatus[]
  containers: ContainerStatus[]
  /** When it was read, in ms. */
  at: number
}

/** Reads a Pod's sandboxes and containers. What vanishes between list and status is left out. */
export async function readPodState(runtime: ContainerRuntime, clock: Clock, pod: { uid: string; name: string; namespace: string }): Promise<PodState> {
  const labelSelector = { [runtimeLabels.podUid]: pod.uid }
  const at = clock.now()
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandboxes({ labelSelector }), runtime.listContainers({ labelSelector })])
  const [sandboxStatuses, containerStatuses] = await Promise.all([
    Promise.all(sandboxes.map((s) => present(runtime.podSandboxStatus(s.id)))),
    Promise.all(containers.map((c) => present(runtime.containerStatus(c.id)))),
  ])
  return {
    ...pod,
    at,
    sandboxes: sandboxStatuses.filter((s) => s !== undefined).sort((a, b) => b.createdAt - a.createdAt || b.metadata.attempt - a.metadata.attempt),
    containers: containerStatuses.filter((c) => c !== undefined).sort((a, b) => b.createdAt - a.createdAt || b.metadata.attempt - a.metadata.attempt),
  }
}

async function present<T>(status: Promise<T>): Promise<T | undefined> {
  try {
    return await status
  } catch (error) {
    if (isRuntimeNotFound(error)) return undefined
    throw error
  }
}

export const emptyPodState = (uid: string, name: string, namespace: string, at: number): PodState => ({
  uid,
  name,
  namespace,
  sandboxes: [],
  containers: [],
  at,
})

/** The newest container of that name. */
export function latestContainer(state: PodState, name: string): ContainerStatus | undefined {
  return state.containers.find((c) => c.metadata.name === name)
}

export function hasRunning(state: PodState): boolean {
  return state.containers.some((c) => c.state === 'RUNNING')
}

/** Addresses of the newest sandbox. */
export function podIPs(state: PodState): string[] {
  const [newest] = state.sandboxes
  return newest && newest.state === 'READY' ? newest.ips : []
}
