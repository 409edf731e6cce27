import type { corev1 } from '../../../api/index.ts'
import type { TableColumns } from '../../../apiserver/registry/strategy.ts'
import { ageOf } from '../../../component-helpers/age.ts'
import { columnList, labelsText } from '../../columns.ts'

type Service = corev1.Service

export const serviceColumns: TableColumns<Service> = {
  columns: columnList('Name/name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*'),
  cells(service, now) {
    const { metadata, spec } = service
    return [
      metadata.name ?? '',
      spec.type ?? '',
      spec.clusterIPs?.[0] || '<none>',
      externalText(service),
      portsText(spec.ports),
      ageOf(metadata.creationTimestamp, now),
      labelsText(spec.selector),
    ]
  },
}

function externalText({ spec, status }: Service): string {
  const own = spec.externalIPs ?? []
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return own.length ? own.join(',') : '<none>'
    case 'LoadBalancer': {
      const balanced = loadBalancerText(status?.loadBalancer)
      if (own.length) return [...(balanced ? balanced.split(',') : []), ...own].join(',')
      return balanced || '<pending>'
    }
    case 'ExternalName':
      return spec.externalName ?? ''
    default:
      return '<unknown>'
  }
}

/** Addresses of a load balancer, sorted, each once. */
export function loadBalancerText(status: { ingress?: readonly { ip?: string; hostname?: string }[] } | undefined): string {
  return [...new Set((status?.ingress ?? []).map((i) => i.ip || i.hostname || '').filter((t) => t !== ''))].sort().join(',')
}

function portsText(ports: readonly corev1.ServicePort[] | undefined): string {
  if (!ports?.length) return '<none>'
  return ports.map((p) => `${p.nodePort ? `${p.port}:${p.nodePort}` : p.port}/${p.protocol}`).join(',')
}
