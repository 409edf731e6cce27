import { plainText } from '../endpoints/plain.ts'
import type { Handler, RequestContext } from '../request/context.ts'

export interface InFlightLimits {
  /** @default 400 */
  readOnly?: number
  /** @default 200 */
  mutating?: number
}

/** How many requests run just now, for metrics. */
export interface InFlight {
  readOnly: number
  mutating: number
}

/**
 * Bounds how many requests run at once. Cluster administrators, health checks, leases, node status and events of leader election
 * have a lane of their own: load never makes a healthy node or leader look dead.
 */
export function withMaxInFlight(next: Handler, limits: InFlightLimits, counts: InFlight): Handler {
  const maxRead = limits.readOnly ?? 400
  const maxWrite = limits.mutating ?? 200
  return async (context) => {
    if (context.longRunning || isExempt(context)) return next(context)
    const mutating = isMutating(context.info.verb)
    if (mutating ? counts.mutating >= maxWrite : counts.readOnly >= maxRead) {
      return plainText(429, 'Too many requests, please try again later.', { 'retry-after': '1' })
    }
    if (mutating) counts.mutating++
    else counts.readOnly++
    try {
      return await next(context)
    } finally {
      if (mutating) counts.mutating--
      else counts.readOnly--
    }
  }
}

function isMutating(verb: string): boolean {
  return verb === 'create' || verb === 'update' || verb === 'patch' || verb === 'delete' || verb === 'deletecollection'
}

function isExempt(context: RequestContext): boolean {
  const { info, user } = context
  if (user.groups.includes('system:masters')) return true
  if (!info.isResource) return info.path === '/healthz' || info.path === '/livez' || info.path === '/readyz'
  if (info.resource === 'leases' && info.group === 'coordination.k8s.io') return true
  if (user.groups.includes('system:nodes')) return info.resource === 'nodes' || (info.resource === 'pods' && info.subresource === 'status')
  return false
}
