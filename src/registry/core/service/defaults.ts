import type { corev1 } from '../../../api/index.ts'
import { isExternallyAccessible, needsClusterIP } from './needs.ts'

/** Three hours. */
const AFFINITY_SECONDS = 10800

export function defaultService(service: corev1.Service): void {
  const { spec } = service
  spec.sessionAffinity ||= 'None'
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  else if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } }
  }
  spec.type ||= 'ClusterIP'
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP'
    if (port.targetPort === undefined || port.targetPort === null || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port ?? 0
  }
  if (isExternallyAccessible(service)) spec.externalTrafficPolicy ||= 'Cluster'
  if (needsClusterIP(service)) spec.internalTrafficPolicy ??= 'Cluster'
  if (spec.type === 'LoadBalancer') {
    spec.allocateLoadBalancerNodePorts ??= true
    for (const ingress of service.status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP'
  }
}
