import { type coordinationv1, resources } from '../../api/index.ts'
import { timeMs } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import type { Client } from '../../client/client.ts'
import { getOrUndefined } from '../../client/rest/client.ts'

const LEADERS = ['kube-controller-manager', 'kube-scheduler']

/**
 * A killed cluster could not give back its leaders' leases, and whoever comes next would wait 15 s for them to run out. Those that this
 * node held and did not renew since `startedAt` (ms) belong to processes that are known to be gone.
 */
export async function releaseStaleLeases(client: Client, nodeName: string, startedAt: number): Promise<void> {
  const leases = client.resource(resources.coordinationv1.leases).namespace('kube-system')
  await Promise.all(
    LEADERS.map(async (name) => {
      const lease = await getOrUndefined(leases, name)
      const { holderIdentity, renewTime } = lease?.spec ?? {}
      if (!lease || !holderIdentity?.startsWith(`${nodeName}_`) || !renewTime || (timeMs(renewTime) ?? Number.POSITIVE_INFINITY) >= startedAt) return
      const free = deepCopy(lease) as coordinationv1.Lease
      free.spec = { ...free.spec, holderIdentity: '', leaseDurationSeconds: 1 }
      // A conflict: somebody has it by now.
      await leases.update(free).catch(() => {})
    }),
  )
}
