import type { corev1 } from '../../../api/index.ts'

type Service = corev1.Service

export const HEADLESS = 'None'

export const isHeadless = (s: Service): boolean => s.spec.clusterIPs?.[0] === HEADLESS || (!s.spec.clusterIPs?.length && s.spec.clusterIP === HEADLESS)
export const needsClusterIP = (s: Service): boolean => s.spec.type === 'ClusterIP' || s.spec.type === 'NodePort' || s.spec.type === 'LoadBalancer'
export const needsNodePort = (s: Service): boolean =>
  s.spec.type === 'NodePort' || (s.spec.type === 'LoadBalancer' && s.spec.allocateLoadBalancerNodePorts !== false)
export const mayHaveNodePorts = (s: Service): boolean => s.spec.type === 'NodePort' || s.spec.type === 'LoadBalancer'
export const isExternallyAccessible = (s: Service): boolean => mayHaveNodePorts(s) || (s.spec.type === 'ClusterIP' && !!s.spec.externalIPs?.length)
export const needsHealthCheckPort = (s: Service): boolean => s.spec.type === 'LoadBalancer' && s.spec.externalTrafficPolicy === 'Local'
export const nodePortsOf = (s: Service): number[] => (s.spec.ports ?? []).map((p) => p.nodePort ?? 0).filter((p) => p !== 0)
