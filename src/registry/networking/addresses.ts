import type { networkingv1 } from '../../api/index.ts'
import { type ErrorList, FieldPath, invalid, required } from '../../apimachinery/field.ts'
import { isCIDR, isIP, parseCIDR } from '../../apimachinery/validation/ip.ts'
import { IMMUTABLE } from '../../apimachinery/validation/messages.ts'
import { isDNS1123Subdomain, isPathSegmentName } from '../../apimachinery/validation/names.ts'
import type { KindRegistration } from '../../apiserver/registry/strategy.ts'
import { deepCopy, deepEqual } from '../../base/index.ts'
import { internalForm } from '../internal-form.ts'
import { ipAddressColumns, serviceCIDRColumns } from './columns.ts'

const SPEC = FieldPath.root('spec')
const REF = SPEC.child('parentRef')
const CIDRS = SPEC.child('cidrs')

function validateCIDRs(item: networkingv1.ServiceCIDR): ErrorList {
  const cidrs = item.spec?.cidrs ?? []
  if (cidrs.length === 0) return [required(CIDRS, 'at least one CIDR required')]
  if (cidrs.length > 2) return [invalid(CIDRS, { CIDRs: cidrs }, 'may only hold up to 2 values')]
  const errors: ErrorList = []
  if (cidrs.length === 2) {
    const [a, b] = cidrs.map(parseCIDR)
    if (a && b && a.address.family === b.address.family)
      errors.push(invalid(CIDRS, cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'))
  }
  for (const [i, cidr] of cidrs.entries()) for (const text of isCIDR(cidr)) errors.push(invalid(CIDRS.index(i), cidr, text))
  return errors
}

export const serviceCIDRKind: KindRegistration<networkingv1.ServiceCIDR> = {
  group: 'networking.k8s.io',
  resource: 'servicecidrs',
  storage: { group: 'networking.k8s.io', version: 'v1', kind: 'ServiceCIDR' },
  strategy: {
    validate: validateCIDRs,
    validateUpdate(item, old) {
      const errors: ErrorList = []
      const [now, before] = [item.spec?.cidrs ?? [], old.spec?.cidrs ?? []]
      if (now.length < before.length || (before.length === 2 && !deepEqual(now, before))) errors.push(invalid(CIDRS, now, IMMUTABLE))
      else if (before[0] !== now[0]) errors.push(invalid(CIDRS.index(0), now[0] ?? '', IMMUTABLE))
      if (before.length === 1 && now.length === 2) errors.push(...validateCIDRs(item))
      return errors
    },
  },
  status: {
    prepareForUpdate(item, old) {
      item.spec = deepCopy(old.spec)
      for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
        if (old.metadata[field] === undefined) delete item.metadata[field]
        else item.metadata[field] = old.metadata[field] as never
      }
    },
  },
  columns: serviceCIDRColumns,
}

function validateAddress(item: networkingv1.IPAddress): ErrorList {
  const ref = item.spec?.parentRef
  if (!ref) return [required(REF)]
  const errors: ErrorList = []
  const part = (field: 'resource' | 'name') => {
    const value = ref[field] ?? ''
    if (value === '') errors.push(required(REF.child(field)))
    else for (const text of isPathSegmentName(value)) errors.push(invalid(REF.child(field), value, text))
  }
  if (ref.group) for (const text of isDNS1123Subdomain(ref.group)) errors.push(invalid(REF.child('group'), ref.group, text))
  part('resource')
  part('name')
  return errors
}

export const ipAddressKind: KindRegistration<networkingv1.IPAddress> = {
  group: 'networking.k8s.io',
  resource: 'ipaddresses',
  storage: { group: 'networking.k8s.io', version: 'v1', kind: 'IPAddress' },
  strategy: {
    nameRule: (name) => isIP(name),
    generation: 'none',
    validate: validateAddress,
    validateUpdate(item, old) {
      return deepEqual(item.spec?.parentRef, old.spec?.parentRef) ? [] : [invalid(REF, internalForm('ParentReference', item.spec?.parentRef), IMMUTABLE)]
    },
  },
  columns: ipAddressColumns,
}
