import type { Pod } from '../../../api/core/v1/types.generated.ts'
import { resources } from '../../../api/index.ts'
import type { Eviction, PodDisruptionBudget } from '../../../api/policy/v1/types.generated.ts'
import { isConflict, newBadRequest, newConflict, newForbidden, StatusError } from '../../../apimachinery/errors.ts'
import type { DeleteOptions } from '../../../apimachinery/meta/v1/types.generated.ts'
import { formatTime } from '../../../apimachinery/time.ts'
import type { CreateHandler } from '../../../apiserver/registry/create-handler.ts'
import { deepCopy } from '../../../base/deep-freeze.ts'
import type { Clock } from '../../../base/index.ts'
import type { Client } from '../../../client/client.ts'
import { isPodReady, isPodTerminal } from '../../../component-helpers/pod-conditions.ts'
import { isEmptySelector, selectorMatches } from '../../workload-template.ts'
import { successStatus } from './binding.ts'

const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
/** Evictions that the budget's controller has not seen yet. */
const MAX_DISRUPTED_PODS = 2000
const ATTEMPTS = 20

function tooManyRequests(text: string, retryAfterSeconds: number): StatusError {
  return new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: REFUSED,
    details: { causes: [{ reason: 'DisruptionBudget', message: text }], ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}) },
  })
}

/** Pods whose going disturbs nobody. */
const needsNoBudget = (pod: Pod): boolean => isPodTerminal(pod) || pod.status?.phase === 'Pending' || Boolean(pod.metadata.deletionTimestamp)

function matches(budget: PodDisruptionBudget, pod: Pod): boolean {
  const selector = budget.spec?.selector
  return selector !== undefined && (isEmptySelector(selector) || selectorMatches(selector, pod.metadata.labels))
}

/** A Pod that is running but not ready goes without using up the budget, where its policy says so (KEP-3017). */
function unreadyGoesFree(pod: Pod, budget: PodDisruptionBudget): boolean {
  if (isPodReady(pod)) return false
  if (budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {}
  return currentHealthy >= desiredHealthy && desiredHealthy > 0
}

/** Takes one disruption from the budget in place; throws when there is none. */
function takeDisruption(budget: PodDisruptionBudget, pod: Pod, now: string): void {
  const name = budget.metadata.name ?? ''
  const status = budget.status
  if ((status?.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) {
    throw tooManyRequests(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
  const gr = { group: 'policy', resource: 'poddisruptionbudget' }
  if (status.disruptionsAllowed < 0) throw newForbidden(gr, name, 'pdb disruptions allowed is negative')
  if (Object.keys(status.disruptedPods ?? {}).length > MAX_DISRUPTED_PODS) {
    throw newForbidden(gr, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller')
  }
  if (status.disruptionsAllowed === 0) {
    const failed = status.conditions?.some((c) => c.type === 'DisruptionAllowed' && c.status === 'False' && c.reason === 'SyncFailed')
    throw tooManyRequests(
      failed || status.currentHealthy > status.desiredHealthy
        ? `The disruption budget ${name} does not allow evicting pods currently`
        : `The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`,
      0,
    )
  }
  status.disruptionsAllowed--
  status.disruptedPods = { ...status.disruptedPods, [pod.metadata.name ?? '']: now }
  if (status.disruptionsAllowed === 0) {
    const condition = status.conditions?.find((c) => c.type === 'DisruptionAllowed')
    if (condition && condition.status !== 'False') {
      condition.status = 'False'
      condition.reason = 'InsufficientPods'
      condition.lastTransitionTime = now
    }
  }
}

/** pods/eviction: deletes a Pod if its disruption budget allows it (KEP-85). */
export function evictionHandler(client: Client, clock: Pick<Clock, 'now'>): CreateHandler<Eviction> {
  const time = () => formatTime(clock.now())

  async function useBudget(pod: Pod, dryRun: boolean): Promise<void> {
    const namespace = pod.metadata.namespace ?? ''
    const budgets = client.resource(resources.policyv1.poddisruptionbudgets).namespace(namespace)
    for (let attempt = 1; ; attempt++) {
      const own = (await budgets.list()).items.filter((budget) => matches(budget, pod))
      if (own.length > 1) {
        throw new StatusError({
          code: 500,
          reason: '',
          message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
        })
      }
      const [found] = own
      if (!found || unreadyGoesFree(pod, found)) return
      const budget = deepCopy(found)
      takeDisruption(budget, pod, time())
      if (dryRun) return
      try {
        await budgets.updateStatus(budget)
        return
      } catch (error) {
        if (!isConflict(error) || attempt >= ATTEMPTS) throw error
      }
    }
  }

  async function remove(pod: Pod, options: DeleteOptions, dryRun: boolean): Promise<void> {
    const pods = client.resource(resources.corev1.pods).namespace(pod.metadata.namespace)
    const name = pod.metadata.name ?? ''
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = options as DeleteOptions & { apiVersion?: string; kind?: string }
    const wanted: DeleteOptions = { ...rest, preconditions: { uid: pod.metadata.uid ?? '', ...rest.preconditions }, ...(dryRun ? { dryRun: ['All'] } : {}) }
    if (!dryRun && !isPodTerminal(pod)) {
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: time(),
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
      }
      const conditions = [...(pod.status?.conditions ?? []).filter((c) => c.type !== 'DisruptionTarget'), condition]
      await client.raw({
        method: 'PATCH',
        path: `/api/v1/namespaces/${pod.metadata.namespace}/pods/${name}/status`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ status: { conditions } }),
      } as never)
    }
    await pods.delete(name, wanted)
  }

  return {
    group: '',
    resource: 'pods',
    subresource: 'eviction',
    async create(eviction, context) {
      const { name, namespace } = context
      if ((eviction.metadata.name ?? '') !== name) throw newBadRequest('name in URL does not match name in Eviction object')
      const options = eviction.deleteOptions ?? {}
      const dryRun = context.dryRun || (options.dryRun?.length ?? 0) > 0
      const pod = await client.resource(resources.corev1.pods).namespace(namespace).get(name)
      const uid = options.preconditions?.uid
      if (uid !== undefined && uid !== pod.metadata.uid) {
        const text = `the UID in the precondition (${uid}) does not match the UID in record (${pod.metadata.uid}). The object might have been deleted and then recreated`
        throw newConflict({ group: '', resource: 'Pod' }, name, text)
      }
      if (!needsNoBudget(pod)) await useBudget(pod, dryRun)
      await remove(pod, options, dryRun)
      return successStatus()
    },
  }
}
