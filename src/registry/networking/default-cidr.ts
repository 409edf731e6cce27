import { type networkingv1, resources } from '../../api/index.ts'
import { isAlreadyExists, isNotFound } from '../../apimachinery/errors.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'

const NAME = 'kubernetes'

/** The ServiceCIDR of the server's own range, ready for use. */
export async function ensureDefaultCIDR(client: Client, range: string, now: () => number): Promise<void> {
  const cidrs = client.resource(resources.networkingv1.servicecidrs)
  let found = await cidrs.get(NAME).catch((error) => {
    if (!isNotFound(error)) throw error
    return undefined
  })
  found ??= await cidrs.create({ metadata: { name: NAME }, spec: { cidrs: [range] } } as networkingv1.ServiceCIDR).catch((error) => {
    if (!isAlreadyExists(error)) throw error
    return cidrs.get(NAME)
  })
  if (found.status?.conditions?.some((c) => c.type === 'Ready') || found.metadata.deletionTimestamp) return
  const ready = deepCopy(found)
  ready.status = {
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(now()), reason: '', message: 'Kubernetes Service CIDR is ready' }],
  }
  await cidrs.updateStatus(ready)
}
