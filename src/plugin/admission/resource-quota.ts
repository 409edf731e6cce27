import { type corev1, resources } from '../../api/index.ts'
import { isConflict, isNotFound } from '../../apimachinery/errors.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { deepCopy } from '../../base/index.ts'
import { parseAmount } from '../../component-helpers/amounts.ts'
import type { Amounts } from '../../component-helpers/pod-requests.ts'
import { matchesQuotaScopes, missingForQuota, quotaCovers, quotaUsage } from '../../component-helpers/quota.ts'
import type { AdmissionDependencies } from './dependencies.ts'
import { refused } from './refusal.ts'

/** Charging is tried anew this often when somebody else changes the quota meanwhile. */
const RETRIES = 3
/** Quotas charged here that the cache may not show yet. */
const CHARGED_MAX = 1000

/** Charges new objects to the quotas of their namespace, before they are stored; one that would go beyond is refused. */
export function resourceQuota({ client, informers, clock }: AdmissionDependencies): AdmissionPlugin {
  const { lister } = informers.informer(resources.corev1.resourcequotas)
  const charged = new BoundedMap<string, corev1.ResourceQuota>(CHARGED_MAX)
  const queues = new Map<string, Promise<void>>()

  /** The newest state known of each quota, by name. */
  const quotasOf = (namespace: string): corev1.ResourceQuota[] =>
    lister
      .inNamespace(namespace)
      .map((cached) => {
        const own = charged.get(cached.metadata.uid ?? '')
        return own && Number(own.metadata.resourceVersion) > Number(cached.metadata.resourceVersion) ? own : cached
      })
      .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))

  const remember = (quota: corev1.ResourceQuota) => {
    const uid = quota.metadata.uid ?? ''
    charged.set(uid, quota)
  }

  const charge = async (a: AdmissionAttributes): Promise<void> => {
    const used = chargeFor(a, clock.now())
    if (!used) return
    for (let attempt = 0; ; attempt++) {
      const next = quotasOf(a.namespace).flatMap((quota) => checked(a, quota, used) ?? [])
      if (a.dryRun) return
      const results = await Promise.all(
        next.map(async (quota) => {
          try {
            remember(await client.resource(resources.corev1.resourcequotas).namespace(a.namespace).updateStatus(quota))
            return true
          } catch (error) {
            if (isNotFound(error)) return true
            if (!isConflict(error)) throw error
            const fresh = await client
              .resource(resources.corev1.resourcequotas)
              .namespace(a.namespace)
              .get(quota.metadata.name ?? '')
            remember(fresh)
            return false
          }
        }),
      )
      if (results.every(Boolean)) return
      if (attempt >= RETRIES) throw refused(a, 'Operation cannot be fulfilled: the quota has been modified; please try again')
    }
  }
  return {
    name: 'ResourceQuota',
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    validate(a) {
      if (a.namespace === '' || (a.resource.group === '' && a.resource.resource === 'namespaces')) return
      if (!isCharged(a) || quotasOf(a.namespace).length === 0) return
      return chargeInTurn(a)
    },
  }
  async function chargeInTurn(a: AdmissionAttributes): Promise<void> {
    // One at a time in a namespace: two that fit alone need not fit together.
    const before = queues.get(a.namespace) ?? Promise.resolve()
    const work = before.then(() => charge(a))
    const settled = work.catch(() => {})
    queues.set(a.namespace, settled)
    try {
      await work
    } finally {
      if (queues.get(a.namespace) === settled) queues.delete(a.namespace)
    }
  }
}

/** New objects, and changes that may cost more: of Services and claims, and resized Pods. */
function isCharged({ operation, resource, subresource }: AdmissionAttributes): boolean {
  if (operation === 'CREATE') return subresource === ''
  if (resource.group !== '') return false
  if (resource.resource === 'pods') return subresource === 'resize'
  return subresource === '' && (resource.resource === 'services' || resource.resource === 'persistentvolumeclaims')
}

/** What a write adds; undefined when nothing grows. */
function chargeFor({ operation, resource, object, oldObject }: AdmissionAttributes, now: number): Amounts | undefined {
  if (!object) return undefined
  const usage = quotaUsage(resource, object, now)
  if (operation === 'UPDATE' && oldObject) {
    for (const [name, before] of quotaUsage(resource, oldObject, now)) {
      const after = usage.get(name) ?? parseAmount('0')
      usage.set(name, after.sub(before))
    }
  }
  return [...usage.values()].some((amount) => amount.nano > 0n) ? usage : undefined
}

/** The quota with the charge added; undefined when it does not concern the object. @throws StatusError Forbidden */
function checked(a: AdmissionAttributes, quota: corev1.ResourceQuota, usage: Amounts): corev1.ResourceQuota | undefined {
  const { object, resource } = a
  const hard = quota.status?.hard ?? {}
  const used = quota.status?.used ?? {}
  const name = quota.metadata.name ?? ''
  const limited = Object.keys(hard)
    .filter((n) => quotaCovers(resource, n))
    .sort()
  if (!limited.length || !object || !matchesQuotaScopes(quota, resource, object)) return undefined
  if (a.operation === 'CREATE' && resource.group === '' && resource.resource === 'pods') {
    const missing = missingForQuota(object as corev1.Pod, limited)
    if (missing) throw refused(a, `failed quota: ${name}: must specify ${missing}`)
  }
  const unknown = limited.filter((n) => used[n] === undefined)
  if (unknown.length) throw refused(a, `status unknown for quota: ${name}, resources: ${unknown.join(',')}`)
  const asked = limited.filter((n) => (usage.get(n)?.nano ?? 0n) !== 0n)
  if (!asked.length) return undefined
  const sum = (n: string) => parseAmount(used[n]).add(usage.get(n) ?? parseAmount('0'))
  const exceeded = asked.filter((n) => (usage.get(n)?.nano ?? 0n) > 0n && sum(n).nano > parseAmount(hard[n]).nano)
  if (exceeded.length) {
    const list = (value: (n: string) => string) => exceeded.map((n) => `${n}=${value(n)}`).join(',')
    throw refused(
      a,
      `exceeded quota: ${name}, requested: ${list((n) => (usage.get(n) ?? parseAmount('0')).toString())}, used: ${list((n) => used[n] as string)}, limited: ${list((n) => hard[n] as string)}`,
    )
  }
  const next = deepCopy(quota) as corev1.ResourceQuota
  next.status.used = { ...used, ...Object.fromEntries(asked.map((n) => [n, sum(n).toString()])) }
  return next
}
