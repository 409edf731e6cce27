import type { ContainerStatus as ApiContainerStatus, ResourceList } from '../../api/core/v1/types.generated.ts'
import { milliValue, wholeValue } from '../../component-helpers/amounts.ts'
import type { AnyContainer } from '../pods/pod.ts'
import type { ContainerStatus } from '../runtime/runtime.ts'

/**
 * The resources a container has: allocated requests, and the limits and requests in force. What a running container reports
 * is preferred where it differs from the spec in a way the units of cgroups can show.
 */
export function resourcesOf(spec: AnyContainer, running: ContainerStatus | undefined): Pick<ApiContainerStatus, 'allocatedResources' | 'resources'> {
  const { requests, limits } = spec.resources ?? {}
  const out: Pick<ApiContainerStatus, 'allocatedResources' | 'resources'> = {}
  if (requests && Object.keys(requests).length > 0) out.allocatedResources = requests
  const actual = running?.state === 'RUNNING' ? running.resources : undefined
  const shownRequests = withActual(requests, actual?.cpuShares === undefined ? undefined : { cpu: [Math.ceil((actual.cpuShares * 1000) / 1024), 2] })
  const cpuLimit = actual?.cpuQuota && actual.cpuPeriod && actual.cpuQuota > 0 ? Math.ceil((actual.cpuQuota * 1000) / actual.cpuPeriod) : undefined
  const shownLimits = withActual(limits, {
    ...(cpuLimit === undefined ? {} : { cpu: [cpuLimit, 10] as [number, number] }),
    ...(actual?.memoryLimitInBytes ? { memory: [actual.memoryLimitInBytes, 0] as [number, number] } : {}),
  })
  if (shownRequests || shownLimits || spec.resources) {
    out.resources = { ...(shownLimits ? { limits: shownLimits } : {}), ...(shownRequests ? { requests: shownRequests } : {}) }
  }
  return out
}

/** Replaces amounts that differ from what is in force; values at or below the second figure are shown as the spec has them. */
function withActual(spec: ResourceList | undefined, actual: Record<string, [number, number]> | undefined): ResourceList | undefined {
  if (!spec || Object.keys(spec).length === 0) return undefined
  if (!actual) return spec
  const out: ResourceList = { ...spec }
  for (const [name, [value, floor]] of Object.entries(actual)) {
    const text = spec[name]
    if (text === undefined || value <= floor) continue
    if (name === 'cpu') {
      // Shares are coarser than millis: one off is the same.
      if (Math.abs(milliValue(text) - value) > 1) out[name] = `${value}m`
    } else if (wholeValue(text) !== value) out[name] = String(value)
  }
  return out
}
