import type { ControllerRevision, StatefulSet } from '../../api/apps/v1/types.generated.ts'
import type { PersistentVolumeClaim, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import { deepCopy } from '../../base/index.ts'
import { controllerRef } from '../../controller-runtime/index.ts'
import { podFromTemplate } from '../../controller-runtime/pods/pod-control.ts'

export const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name'
export const INDEX_LABEL = 'apps.kubernetes.io/pod-index'
export const REVISION_LABEL = 'controller-revision-hash'

/** The ordinal in a Pod's name when it is of this set; undefined otherwise. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const name = pod.metadata.name ?? ''
  const prefix = `${set.metadata.name}-`
  if (!name.startsWith(prefix)) return undefined
  const rest = name.slice(prefix.length)
  return /^(0|[1-9][0-9]{0,9})$/.test(rest) ? Number(rest) : undefined
}

export const startOrdinal = (set: StatefulSet): number => set.spec.ordinals?.start ?? 0
export const replicasOf = (set: StatefulSet): number => set.spec.replicas ?? 1
export const inRange = (set: StatefulSet, ordinal: number): boolean => ordinal >= startOrdinal(set) && ordinal < startOrdinal(set) + replicasOf(set)
export const claimName = (set: StatefulSet, template: string, ordinal: number): string => `${template}-${set.metadata.name}-${ordinal}`
export const revisionOf = (pod: Pod): string => pod.metadata.labels?.[REVISION_LABEL] ?? ''

/** The claims the Pod of an ordinal needs. */
export function claimsFor(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  return (set.spec.volumeClaimTemplates ?? []).map((template) => {
    const claim = deepCopy(template)
    const name = claimName(set, template.metadata.name ?? '', ordinal)
    claim.metadata = {
      ...claim.metadata,
      name,
      ...(set.metadata.namespace ? { namespace: set.metadata.namespace } : {}),
      labels: { ...claim.metadata.labels, ...set.spec.selector?.matchLabels },
    }
    return claim
  })
}

/** The Pod of an ordinal at a revision of the set. */
export function statefulPod(set: StatefulSet, ordinal: number, revision: string): Pod {
  const name = `${set.metadata.name}-${ordinal}`
  const pod = podFromTemplate(
    set.spec.template,
    { name: set.metadata.name ?? '', namespace: set.metadata.namespace },
    controllerRef(resources.appsv1.statefulsets, set),
  )
  pod.metadata.name = name
  pod.metadata.labels = { ...pod.metadata.labels, [REVISION_LABEL]: revision, [POD_NAME_LABEL]: name, [INDEX_LABEL]: String(ordinal) }
  pod.spec.hostname = name
  if (set.spec.serviceName) pod.spec.subdomain = set.spec.serviceName
  const claims = (set.spec.volumeClaimTemplates ?? []).map((t) => t.metadata.name ?? '')
  const own = claims.map((t) => ({ name: t, persistentVolumeClaim: { claimName: claimName(set, t, ordinal) } }))
  const volumes = [...own, ...(pod.spec.volumes ?? []).filter((v) => !claims.includes(v.name))]
  if (volumes.length > 0) pod.spec.volumes = volumes
  return pod
}

/** The set as it was at a revision. */
export function setAtRevision(set: StatefulSet, revision: ControllerRevision): StatefulSet {
  const template = (revision.data as { spec?: { template?: StatefulSet['spec']['template'] & { $patch?: string } } } | undefined)?.spec?.template
  if (!template) return set
  const { $patch: _, ...plain } = template
  return { ...set, spec: { ...set.spec, template: deepCopy(plain) as StatefulSet['spec']['template'] } }
}
