import type { networkingv1 } from '../../api/index.ts'
import { ageOf } from '../../component-helpers/age.ts'
import { firstFew, formatSelector } from '../columns.ts'
import { loadBalancerText } from '../core/service/columns.ts'
import { NONE, namedColumns, nameOrDefault } from '../named-age.ts'

export const ingressColumns = namedColumns<networkingv1.Ingress>('Class|Hosts|Address|Ports|Age', ({ spec, status }) => {
  const rules = spec?.rules ?? []
  const hosts = rules.map((r) => r.host ?? '').filter((h) => h !== '')
  return [
    spec?.ingressClassName ?? NONE,
    hosts.length ? firstFew(hosts, 3, rules.length - 3) : '*',
    loadBalancerText(status?.loadBalancer),
    spec?.tls?.length ? '80, 443' : '80',
  ]
})

export const ingressClassColumns = namedColumns<networkingv1.IngressClass>(
  'Controller|Parameters|Age',
  ({ spec }) => {
    const p = spec?.parameters
    return [spec?.controller ?? '', p ? `${p.kind}${p.apiGroup ? `.${p.apiGroup}` : ''}/${p.name}` : NONE]
  },
  nameOrDefault('ingressclass.kubernetes.io/is-default-class'),
)

export const networkPolicyColumns = namedColumns<networkingv1.NetworkPolicy>('Pod-Selector|Age', ({ spec }) => [formatSelector(spec?.podSelector)])

export const serviceCIDRColumns = namedColumns<networkingv1.ServiceCIDR>('CIDRs|Age', ({ spec }) => [(spec?.cidrs ?? []).join(',')])

/** The age is in the rows, as upstream has it, though no column says so. */
export const ipAddressColumns = namedColumns<networkingv1.IPAddress>('ParentRef', ({ metadata, spec }, now) => {
  const ref = spec?.parentRef
  const age = ageOf(metadata.creationTimestamp, now)
  if (!ref) return [NONE, age]
  const resource = `${ref.resource}${ref.group ? `.${ref.group}` : ''}`
  return [`${resource}${ref.namespace ? `/${ref.namespace}` : ''}/${ref.name}`.toLowerCase(), age]
})
