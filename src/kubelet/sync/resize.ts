import type { Container, Pod } from '../../api/core/v1/types.generated.ts'
import { type AnyContainer, findContainer } from '../pods/pod.ts'
import type { ContainerStatus, LinuxContainerResources } from '../runtime/runtime.ts'
import { linuxResources } from './container-config.ts'

/** One running container whose limits or shares are to change (KEP-1287). */
export interface Resize {
  status: ContainerStatus
  container: AnyContainer
  resources: LinuxContainerResources
  /** The container's policy for what changes wants it restarted. */
  restart: boolean
}

const FIELDS = ['cpuShares', 'cpuQuota', 'memoryLimitInBytes'] as const

/** Running containers whose resources in force are not those of the spec. @param applied what was given last, by container id */
export function pendingResizes(
  pod: Pod,
  running: readonly ContainerStatus[],
  applied: ReadonlyMap<string, LinuxContainerResources>,
  memoryCapacity: number,
): Resize[] {
  const out: Resize[] = []
  for (const status of running) {
    const given = applied.get(status.id)
    const container = findContainer(pod, status.metadata.name)
    if (status.state !== 'RUNNING' || !given || !container) continue
    const wanted = linuxResources(pod, container, memoryCapacity)
    const changed = FIELDS.filter((f) => Math.max(0, wanted[f] ?? 0) !== Math.max(0, given[f] ?? 0))
    if (changed.length === 0) continue
    const policy = (resource: string) => (container as Container).resizePolicy?.find((p) => p.resourceName === resource)?.restartPolicy
    const restart = changed.some((f) => policy(f === 'memoryLimitInBytes' ? 'memory' : 'cpu') === 'RestartContainer')
    out.push({ status, container, restart, resources: Object.fromEntries(changed.map((f) => [f, wanted[f] ?? 0])) })
  }
  return out
}

/** What resize events carry. */
export function resizeText(pod: Pod, resizes: readonly Resize[], error?: string): string {
  const init = new Set((pod.spec.initContainers ?? []).map((c) => c.name))
  const part = (list: readonly Resize[]) => list.map((r) => ({ name: r.container.name, resources: r.container.resources ?? {} }))
  const inits = resizes.filter((r) => init.has(r.container.name))
  const rest = resizes.filter((r) => !init.has(r.container.name))
  return JSON.stringify({
    ...(inits.length ? { initContainers: part(inits) } : {}),
    ...(rest.length ? { containers: part(rest) } : {}),
    ...(pod.metadata.generation === undefined ? {} : { generation: pod.metadata.generation }),
    ...(error ? { error } : {}),
  })
}
