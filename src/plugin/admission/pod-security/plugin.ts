import { type batchv1, type corev1, resources } from '../../../api/index.ts'
import { newInvalid } from '../../../apimachinery/errors.ts'
import { quote } from '../../../apimachinery/quote.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../../apiserver/admission/admission.ts'
import { deepEqual, yielder } from '../../../base/index.ts'
import { getOrUndefined } from '../../../client/rest/client.ts'
import type { AdmissionDependencies } from '../dependencies.ts'
import { refused } from '../refusal.ts'
import { reasonsText, violations, violationsText } from './evaluate.ts'
import { type LevelVersion, levelText, type NamespacePolicy, policyErrors, policyOf, strictness } from './level.ts'
import type { PodView } from './pod.ts'

/** Existing Pods looked at when a namespace becomes stricter, at most so many and for so long. */
const NAMESPACE_PODS_MAX = 3000
const NAMESPACE_MS = 1000

/** Kinds that make Pods from a template. */
const templates: Readonly<Record<string, (object: never) => PodView | undefined>> = {
  '/podtemplates': (o: corev1.PodTemplate) => o.template as PodView,
  '/replicationcontrollers': (o: corev1.ReplicationController) => o.spec.template as PodView | undefined,
  'apps/replicasets': workload,
  'apps/deployments': workload,
  'apps/statefulsets': workload,
  'apps/daemonsets': workload,
  'batch/jobs': workload,
  'batch/cronjobs': (o: batchv1.CronJob) => o.spec.jobTemplate?.spec?.template as PodView | undefined,
}
function workload(o: { spec?: { template?: unknown } }): PodView | undefined {
  return o.spec?.template as PodView | undefined
}

/** Holds Pods to the security level of their namespace: refuses, warns, or notes in the audit event. */
export function podSecurity({ client, informers, clock }: AdmissionDependencies): AdmissionPlugin {
  const namespaces = informers.informer(resources.corev1.namespaces).lister
  const pods = informers.informer(resources.corev1.pods).lister
  const policyFor = async (name: string): Promise<NamespacePolicy> => {
    const namespace = namespaces.get(name) ?? (await getOrUndefined(client.resource(resources.corev1.namespaces), name))
    return policyOf(namespace?.metadata.labels)
  }

  /** @param enforce refuse what the policy does not allow: Pods, not templates */
  const judge = (a: AdmissionAttributes, pod: PodView, policy: NamespacePolicy, enforce: boolean): void => {
    const found = (level: LevelVersion) => violations(pod, level)
    if (enforce) {
      a.annotate('pod-security.kubernetes.io/enforce-policy', levelText(policy.enforce))
      const broken = found(policy.enforce)
      if (broken.length) throw refused(a, `violates PodSecurity ${quote(levelText(policy.enforce))}: ${violationsText(broken)}`)
    }
    const noted = found(policy.audit)
    if (noted.length)
      a.annotate('pod-security.kubernetes.io/audit-violations', `would violate PodSecurity ${quote(levelText(policy.audit))}: ${violationsText(noted)}`)
    const warned = found(policy.warn)
    if (warned.length) a.warn(`would violate PodSecurity ${quote(levelText(policy.warn))}: ${violationsText(warned)}`)
  }

  const judgeNamespace = async (a: AdmissionAttributes): Promise<void> => {
    const namespace = a.object as corev1.Namespace
    const old = a.oldObject as corev1.Namespace | undefined
    const errors = policyErrors(namespace.metadata.labels)
    if (errors.length && !(old && deepEqual(policyErrors(old.metadata.labels), errors))) {
      throw newInvalid({ group: '', kind: 'Namespace' }, namespace.metadata.name ?? '', errors)
    }
    if (!old) return
    const now = policyOf(namespace.metadata.labels).enforce
    const before = policyOf(old.metadata.labels).enforce
    if (now.level === 'privileged' || (strictness(now.level) <= strictness(before.level) && now.minor === before.minor)) return
    await warnOfExisting(a, now)
  }

  const warnOfExisting = async (a: AdmissionAttributes, level: LevelVersion): Promise<void> => {
    const existing = pods.inNamespace(a.name).sort((x, y) => ((x.metadata.name ?? '') < (y.metadata.name ?? '') ? -1 : 1))
    const end = clock.monotonic() + NAMESPACE_MS
    const tick = yielder()
    const groups = new Map<string, { first: string; more: number }>()
    let checked = 0
    for (const pod of existing.slice(0, NAMESPACE_PODS_MAX)) {
      if (clock.monotonic() > end) break
      checked++
      const found = violations(pod as PodView, level)
      if (found.length) {
        const key = reasonsText(found)
        const group = groups.get(key)
        if (group) group.more++
        else groups.set(key, { first: pod.metadata.name ?? '', more: 0 })
      }
      await tick()
    }
    if (checked < existing.length) a.warn(`new PodSecurity enforce level only checked against the first ${checked} of ${existing.length} existing pods`)
    if (!groups.size) return
    a.warn(`existing pods in namespace ${quote(a.name)} violate the new PodSecurity enforce level ${quote(levelText(level))}`)
    for (const [reasons, { first, more }] of groups) {
      a.warn(`${first}${more === 0 ? '' : more === 1 ? ' (and 1 other pod)' : ` (and ${more} other pods)`}: ${reasons}`)
    }
  }
  return {
    name: 'PodSecurity',
    looksAt: ({ group, resource }) => {
      const key = `${group}/${resource}`
      return key === '/namespaces' || key === '/pods' || Object.hasOwn(templates, key)
    },
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    async validate(a) {
      const key = `${a.resource.group}/${a.resource.resource}`
      if (key === '/namespaces') return a.subresource === '' ? judgeNamespace(a) : undefined
      if (key === '/pods') {
        if (!['', 'ephemeralcontainers', 'resize'].includes(a.subresource)) return
        const pod = a.object as corev1.Pod
        if (a.operation === 'UPDATE' && !isSignificant(pod, a.oldObject as corev1.Pod)) return
        return judge(a, pod as PodView, await policyFor(a.namespace), true)
      }
      if (a.subresource !== '' || !Object.hasOwn(templates, key)) return
      const template = (templates[key] as (object: unknown) => PodView | undefined)(a.object)
      if (template?.spec) judge(a, template, await policyFor(a.namespace), false)
    },
  }
}

/** Updates of metadata, deadlines and tolerations change nothing that a level speaks of. */
function isSignificant(pod: corev1.Pod, old: corev1.Pod): boolean {
  const bare = ({ activeDeadlineSeconds: _, tolerations: __, terminationGracePeriodSeconds: ___, schedulingGates: ____, ...spec }: corev1.PodSpec) => spec
  return !deepEqual(bare(pod.spec), bare(old.spec))
}
