import type { corev1 } from '../../../api/index.ts'
import { newInvalid } from '../../../apimachinery/errors.ts'
import { type ErrorList, FieldPath, invalid } from '../../../apimachinery/field.ts'
import { deepEqual } from '../../../base/index.ts'
import { familyOf, validateClusterIPFields } from './cluster-ip-rules.ts'
import { HEADLESS, isHeadless, mayHaveNodePorts, needsClusterIP, needsHealthCheckPort, nodePortsOf } from './needs.ts'

type Service = corev1.Service

const SPEC = FieldPath.root('spec')

/** An update that leaves out what the server chose means the same values: it is taken from the stored object. */
export function keepAllocated(service: Service, old: Service): void {
  const { spec } = service
  if (needsClusterIP(old) && needsClusterIP(service)) {
    if (!spec.clusterIP && old.spec.clusterIP) spec.clusterIP = old.spec.clusterIP
    if (!spec.clusterIPs?.length && spec.clusterIP === old.spec.clusterIP && old.spec.clusterIPs) spec.clusterIPs = [...old.spec.clusterIPs]
  }
  if (mayHaveNodePorts(old) && mayHaveNodePorts(service)) {
    const before = new Set(nodePortsOf(old))
    const used = new Set(nodePortsOf(service).filter((p) => before.has(p)))
    const byName = new Map((old.spec.ports ?? []).map((p) => [p.name ?? '', p.nodePort ?? 0]))
    for (const port of spec.ports ?? []) {
      const known = byName.get(port.name ?? '') ?? 0
      if (port.nodePort || known === 0 || used.has(known)) continue
      port.nodePort = known
      used.add(known)
    }
  }
  if (needsHealthCheckPort(old) && needsHealthCheckPort(service) && !spec.healthCheckNodePort && old.spec.healthCheckNodePort)
    spec.healthCheckNodePort = old.spec.healthCheckNodePort
}

/** `clusterIP` and the first of `clusterIPs` are one value; who writes one of them need not write the other. */
export function syncClusterIPs(service: Service, old: Service | undefined): void {
  const { spec } = service
  if (!old) {
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP]
    return
  }
  const same = deepEqual(spec.clusterIPs ?? [], old.spec.clusterIPs ?? [])
  if ((spec.clusterIP ?? '') !== (old.spec.clusterIP ?? '')) {
    if (!spec.clusterIP && same) delete spec.clusterIPs
    else if (spec.clusterIP && (same || !spec.clusterIPs?.length)) spec.clusterIPs = [spec.clusterIP, ...(spec.clusterIPs ?? []).slice(1)]
  } else if (spec.clusterIP && !spec.clusterIPs?.length) delete spec.clusterIP
  else if (spec.clusterIPs?.length && !same && old.spec.clusterIPs?.length && spec.clusterIPs[0] !== spec.clusterIP)
    spec.clusterIP = spec.clusterIPs[0] as string
}

/**
 * Fills families and policy for a cluster of one family.
 * @throws StatusError when they cannot be had here
 */
export function fillFamilies(service: Service, old: Service | undefined, own: 'IPv4' | 'IPv6'): void {
  const { spec } = service
  if (spec.type === 'ExternalName') return
  const refuse = (errors: ErrorList) => {
    if (errors.length) throw newInvalid({ group: '', kind: 'Service' }, service.metadata.name ?? '', errors)
  }
  refuse(validateClusterIPFields(service, old))
  const errors: ErrorList = []
  const policy = spec.ipFamilyPolicy
  const path = SPEC.child('ipFamilyPolicy')
  if (policy === 'SingleStack') {
    const several = (what: string) => invalid(path, policy, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`)
    if (spec.clusterIPs?.length === 2) errors.push(several('cluster IPs'))
    if (spec.ipFamilies?.length === 2) errors.push(several('IP families'))
  }
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip === HEADLESS) break
    if (i < (spec.ipFamilies?.length ?? 0)) continue
    const family = familyOf(ip)
    if (family !== own) errors.push(invalid(SPEC.child('clusterIPs').index(i), spec.clusterIPs, `${family} is not configured on this cluster`))
    else spec.ipFamilies = [...(spec.ipFamilies ?? []), family]
  }
  refuse(errors)
  const alternative = own === 'IPv4' ? 'IPv6' : 'IPv4'
  if (isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0) {
    // Whoever fills in its endpoints by hand may give it both families, whatever the cluster has.
    if (!spec.ipFamilies?.length) spec.ipFamilies = [own]
    spec.ipFamilyPolicy ??= 'RequireDualStack'
    if (spec.ipFamilyPolicy !== 'SingleStack' && spec.ipFamilies.length === 1)
      spec.ipFamilies = [...spec.ipFamilies, spec.ipFamilies[0] === own ? alternative : own]
    return
  }
  if (spec.ipFamilyPolicy === undefined)
    spec.ipFamilyPolicy = spec.clusterIPs?.length === 2 || spec.ipFamilies?.length === 2 ? 'RequireDualStack' : 'SingleStack'
  for (const [i, family] of (spec.ipFamilies ?? []).entries())
    if (family !== own) errors.push(invalid(SPEC.child('ipFamilies').index(i), family, 'not configured on this cluster'))
  refuse(errors)
  if (!spec.ipFamilies?.length) spec.ipFamilies = [own]
  if (spec.ipFamilyPolicy === 'RequireDualStack') refuse([invalid(path, spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services')])
}

/** Two equal answers to "which family" in a row mean nothing changed: nothing is filled anew. */
export function familiesUnchanged(service: Service, old: Service): boolean {
  const keep = (s: Service) => [s.spec.type, s.spec.clusterIPs ?? [], s.spec.ipFamilies ?? [], s.spec.ipFamilyPolicy ?? null]
  return old.spec.ipFamilyPolicy === 'PreferDualStack' && deepEqual(keep(service), keep(old))
}
