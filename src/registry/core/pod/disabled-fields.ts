import type { Container, PodSpec } from '../../../api/core/v1/types.generated.ts'

/** Drops what belongs to features that are off, unless the stored object has it already. */
export function dropDisabledFields(spec: PodSpec | undefined, old: PodSpec | undefined, isFeatureEnabled: (gate: string) => boolean): void {
  if (!spec) return
  const off = (gate: string, inUse: boolean): boolean => !inUse && !isFeatureEnabled(gate)
  if (off('GenericWorkload', old?.schedulingGroup !== undefined)) delete spec.schedulingGroup
  if (off('HostnameOverride', old?.hostnameOverride !== undefined)) delete spec.hostnameOverride
  if (off('PodLevelResources', old?.resources !== undefined)) delete spec.resources
  const containers = allContainers(spec)
  const before = old ? allContainers(old) : []
  if (
    off(
      'ContainerStopSignals',
      before.some((c) => c.lifecycle?.stopSignal !== undefined),
    )
  ) {
    for (const c of containers) {
      if (c.lifecycle?.stopSignal === undefined) continue
      delete c.lifecycle.stopSignal
      if (Object.keys(c.lifecycle).length === 0) delete c.lifecycle
    }
  }
  if (
    off(
      'ContainerRestartRules',
      before.some((c) => c.restartPolicyRules !== undefined),
    )
  ) {
    for (const c of containers) delete c.restartPolicyRules
  }
  if (
    off(
      'EnvFiles',
      before.some((c) => c.env?.some((e) => e.valueFrom?.fileKeyRef)),
    )
  ) {
    for (const c of containers) for (const e of c.env ?? []) if (e.valueFrom) delete e.valueFrom.fileKeyRef
  }
  if (off('ClusterTrustBundleProjection', hasProjection(old, 'clusterTrustBundle'))) dropProjection(spec, 'clusterTrustBundle')
  if (off('PodCertificateRequest', hasProjection(old, 'podCertificate'))) dropProjection(spec, 'podCertificate')
}

function allContainers(spec: PodSpec): Pick<Container, 'lifecycle' | 'restartPolicyRules' | 'env'>[] {
  return [...(spec.containers ?? []), ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]
}

type Projection = 'clusterTrustBundle' | 'podCertificate'

const hasProjection = (spec: PodSpec | undefined, name: Projection): boolean => spec?.volumes?.some((v) => v.projected?.sources?.some((s) => s[name])) ?? false

function dropProjection(spec: PodSpec, name: Projection): void {
  for (const volume of spec.volumes ?? []) for (const source of volume.projected?.sources ?? []) delete source[name]
}
