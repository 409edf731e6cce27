import type { corev1 } from '../../../api/index.ts'
import { FieldPath } from '../../../apimachinery/field.ts'
import { cidrWarnings, ipWarnings } from '../../address-warnings.ts'
import { isHeadless } from './needs.ts'

const SPEC = FieldPath.root('spec')

export function serviceWarnings(service: corev1.Service): string[] {
  const { spec } = service
  const out: string[] = []
  if (isHeadless(service)) {
    if (spec.loadBalancerIP) out.push('spec.loadBalancerIP is ignored for headless services')
    if (spec.externalIPs?.length) out.push('spec.externalIPs is ignored for headless services')
    if (spec.sessionAffinity !== 'None') out.push('spec.SessionAffinity is ignored for headless services')
  } else {
    for (const [i, ip] of (spec.clusterIPs ?? []).entries()) out.push(...ipWarnings(ip, SPEC.child('clusterIPs').index(i)))
    for (const [i, ip] of (spec.externalIPs ?? []).entries()) out.push(...ipWarnings(ip, SPEC.child('externalIPs').index(i)))
    if (spec.loadBalancerIP) out.push(...ipWarnings(spec.loadBalancerIP, SPEC.child('loadBalancerIP')))
    for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries())
      out.push(...cidrWarnings(range.trim(), SPEC.child('loadBalancerSourceRanges').index(i)))
  }
  if (spec.type !== 'ExternalName' && spec.externalName) out.push('spec.externalName is ignored when spec.type is not "ExternalName"')
  if (spec.trafficDistribution === 'PreferClose') out.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  if (spec.externalIPs?.length && !isHeadless(service)) out.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters')
  return out
}
