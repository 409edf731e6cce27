import type { corev1 } from '../../../api/index.ts'
import { duplicate, type ErrorList, FieldPath, invalid, notSupported, required } from '../../../apimachinery/field.ts'
import { parseIP, validateLegacyIP } from '../../../apimachinery/validation/ip.ts'
import { HEADLESS, isHeadless } from './needs.ts'

type Service = corev1.Service

const SPEC = FieldPath.root('spec')
const CLUSTER_IPS = SPEC.child('clusterIPs')
const FAMILIES = SPEC.child('ipFamilies')
const POLICY = SPEC.child('ipFamilyPolicy')
export const IP_FAMILIES = ['IPv4', 'IPv6'] as const
const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack']

/** What the addresses, their families and the policy must be among themselves, whatever the cluster has. */
export function validateClusterIPFields(service: Service, old: Service | undefined): ErrorList {
  const { spec } = service
  if (spec.type === 'ExternalName') return []
  const errors: ErrorList = []
  const ips = spec.clusterIPs ?? []
  if (spec.clusterIP) {
    if (ips.length === 0) errors.push(required(CLUSTER_IPS))
    else if (ips[0] !== spec.clusterIP) errors.push(invalid(CLUSTER_IPS, ips, 'first value must match `clusterIP`'))
  } else if (ips.length) errors.push(invalid(CLUSTER_IPS, ips, 'must be empty when `clusterIP` is not specified'))
  const families = spec.ipFamilies ?? []
  for (const [i, family] of families.entries()) {
    if (!IP_FAMILIES.includes(family as never)) errors.push(notSupported(FAMILIES.index(i), family, IP_FAMILIES))
    if (families.indexOf(family) < i) errors.push(duplicate(FAMILIES.index(i), family))
  }
  if (spec.ipFamilyPolicy !== undefined && !POLICIES.includes(spec.ipFamilyPolicy)) errors.push(notSupported(POLICY, spec.ipFamilyPolicy, POLICIES))
  let broken = false
  for (const [i, ip] of ips.entries()) {
    if (i === 0 && ip === HEADLESS) {
      if (ips.length > 1) {
        broken = true
        errors.push(invalid(CLUSTER_IPS, ips, "'None' must be the first and only value"))
      }
      continue
    }
    const wrong = validateLegacyIP(ip, CLUSTER_IPS.index(i), old?.spec.clusterIPs)
    broken ||= wrong.length > 0
    errors.push(...wrong)
  }
  if (ips.length > 2) errors.push(invalid(CLUSTER_IPS, ips, 'may only hold up to 2 values'))
  if (broken) return errors
  if (ips.length > 1 && new Set(ips.map(familyOf)).size !== ips.length) {
    errors.push(invalid(CLUSTER_IPS, ips, 'may specify no more than one IP for each IP family'))
  }
  if (!isHeadless(service)) {
    for (const [i, ip] of ips.slice(0, families.length).entries()) {
      const family = families[i] as string
      if (IP_FAMILIES.includes(family as never) && familyOf(ip) !== family)
        errors.push(invalid(CLUSTER_IPS.index(i), ip, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``))
    }
  }
  return errors
}

export function familyOf(ip: string): 'IPv4' | 'IPv6' {
  return parseIP(ip)?.family === 6 ? 'IPv6' : 'IPv4'
}

/** Addresses stay; a second one may be added or, with the policy saying so, given up. */
export function validateClusterIPChange(service: Service, old: Service): ErrorList {
  if (service.spec.type === 'ExternalName' || old.spec.type === 'ExternalName' || (isHeadless(service) && isHeadless(old))) return []
  const [now, before] = [service.spec.clusterIPs ?? [], old.spec.clusterIPs ?? []]
  const changed = (i: number) => (now[i] === before[i] ? [] : [invalid(CLUSTER_IPS.index(i), now, 'may not change once set')])
  if (now.length >= before.length) return before.flatMap((_, i) => changed(i))
  if (now.length === 0) return [invalid(CLUSTER_IPS.index(0), now, 'primary clusterIP can not be unset')]
  const errors = changed(0)
  if (before.length === 2 && service.spec.ipFamilyPolicy !== 'SingleStack')
    errors.push(invalid(POLICY, service.spec.ipFamilyPolicy ?? null, "must be set to 'SingleStack' when releasing the secondary clusterIP"))
  return errors
}

export function validateFamilyChange(service: Service, old: Service): ErrorList {
  if (service.spec.type === 'ExternalName' || old.spec.type === 'ExternalName') return []
  if (isHeadless(service) && isHeadless(old)) return []
  const [now, before] = [service.spec.ipFamilies ?? [], old.spec.ipFamilies ?? []]
  const changed = (i: number) => (now[i] === before[i] ? [] : [invalid(FAMILIES.index(i), now, 'may not change once set')])
  if (now.length >= before.length) return before.flatMap((_, i) => changed(i))
  if (now.length === 0) return [invalid(FAMILIES.index(0), now, 'primary ipFamily can not be unset')]
  const errors = changed(0)
  if (before.length === 2 && service.spec.ipFamilyPolicy !== 'SingleStack')
    errors.push(invalid(POLICY, service.spec.ipFamilyPolicy ?? null, "must be set to 'SingleStack' when releasing the secondary ipFamily"))
  return errors
}
