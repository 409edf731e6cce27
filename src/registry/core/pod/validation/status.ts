import type { ContainerStatus, Pod, PodStatus } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath, forbidden, invalid } from '../../../../apimachinery/field.ts'
import { IMMUTABLE, isDNS1123Subdomain, parseIP, validateLegacyIP } from '../../../../apimachinery/validation/index.ts'
import { isSidecar } from '../../../../component-helpers/pod-conditions.ts'
import { internalForm } from '../../../internal-form.ts'
import { validateAnnotationUpdate } from './update.ts'

const STATUS = FieldPath.root('status')

/** Containers that must not run again stay ended. */
function validateTransitions(
  now: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  path: FieldPath,
  mayRestart: (status: ContainerStatus) => boolean,
): ErrorList {
  const errs: ErrorList = []
  for (const before of old ?? []) {
    if (!before.state?.terminated || mayRestart(before)) continue
    now?.forEach((status, i) => {
      if (status.name === before.name && !status.state?.terminated)
        errs.push(forbidden(path.index(i).child('state'), 'may not be transitioned to non-terminated state'))
    })
  }
  return errs
}

function validateAllTransitions(pod: Pod, old: Pod): ErrorList {
  const spec = old.spec
  const own = new Map([...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map((c) => [c.name, c]))
  const mayRestart = (status: ContainerStatus): boolean => {
    const container = own.get(status.name)
    if (container?.restartPolicyRules?.length || [...own.values()].some((c) => c.restartPolicyRules?.some((r) => r.action === 'RestartAllContainers')))
      return true
    const policy = container?.restartPolicy ?? spec?.restartPolicy
    return policy === 'Always' || (policy === 'OnFailure' && status.state?.terminated?.exitCode !== 0)
  }
  const initMayRestart = (status: ContainerStatus): boolean => {
    const container = own.get(status.name)
    if (container && isSidecar(container)) return true
    return mayRestart(status) && status.state?.terminated?.exitCode !== 0
  }
  return [
    ...validateTransitions(pod.status?.containerStatuses, old.status?.containerStatuses, STATUS.child('containerStatuses'), mayRestart),
    ...validateTransitions(pod.status?.initContainerStatuses, old.status?.initContainerStatuses, STATUS.child('initContainerStatuses'), initMayRestart),
    ...validateTransitions(
      pod.status?.ephemeralContainerStatuses,
      old.status?.ephemeralContainerStatuses,
      STATUS.child('ephemeralContainerStatuses'),
      () => false,
    ),
  ]
}

function validateIPs(status: PodStatus, old: PodStatus | undefined): ErrorList {
  const errs: ErrorList = []
  const podIPs = status.podIPs ?? []
  const known = (old?.podIPs ?? []).map((p) => p.ip)
  podIPs.forEach(({ ip }, i) => {
    errs.push(...validateLegacyIP(ip, STATUS.child('podIPs').index(i), known))
  })
  if (podIPs.length > 1 && tooManyOfAFamily(podIPs.map((p) => p.ip))) {
    errs.push(invalid(STATUS.child('podIPs'), internalForm('PodIP', podIPs), 'may specify no more than one IP for each IP family'))
  }
  const seen = new Set<string>()
  podIPs.forEach(({ ip }, i) => {
    if (seen.has(ip))
      errs.push({
        type: 'FieldValueDuplicate',
        field: String(STATUS.child('podIPs').index(i)),
        body: `Duplicate value: ${JSON.stringify(internalForm('PodIP', { ip }))}`,
      })
    seen.add(ip)
  })
  return errs
}

function tooManyOfAFamily(ips: readonly string[]): boolean {
  const families = ips.map((ip) => parseIP(ip)?.family)
  return ips.length > 2 || (families[0] !== undefined && families[0] === families[1])
}

function validateHostIPs(status: PodStatus, old: PodStatus | undefined): ErrorList {
  const errs: ErrorList = []
  const hostIPs = status.hostIPs ?? []
  if (hostIPs.length === 0) return errs
  const path = STATUS.child('hostIPs')
  const first = hostIPs[0]?.ip ?? ''
  if (first !== (status.hostIP ?? '')) errs.push(invalid(path.index(0).child('ip'), first, 'must be equal to `hostIP`'))
  const known = (old?.hostIPs ?? []).map((p) => p.ip)
  hostIPs.forEach(({ ip }, i) => {
    errs.push(...validateLegacyIP(ip, path.index(i), known))
  })
  if (hostIPs.length > 1 && tooManyOfAFamily(hostIPs.map((p) => p.ip))) {
    errs.push(invalid(path, internalForm('HostIP', hostIPs), 'may specify no more than one IP for each IP family'))
  }
  return errs
}

export function validatePodStatusUpdate(pod: Pod, old: Pod): ErrorList {
  const errs = validateAnnotationUpdate(pod, old)
  const status = pod.status ?? {}
  if ((pod.spec?.nodeName ?? '') !== (old.spec?.nodeName ?? '')) errs.push(forbidden(STATUS.child('nodeName'), 'may not be changed directly'))
  if ((status.observedGeneration ?? 0) < 0) errs.push(invalid(STATUS.child('observedGeneration'), status.observedGeneration, 'must be a non-negative integer'))
  status.conditions?.forEach((condition, i) => {
    const generation = condition.observedGeneration ?? 0
    if (generation < 0) errs.push(invalid(STATUS.child('conditions').index(i).child('observedGeneration'), generation, 'must be a non-negative integer'))
  })
  const nominated = status.nominatedNodeName ?? ''
  if (nominated !== '') {
    const at = STATUS.child('nominatedNodeName')
    if (old.spec?.nodeName && nominated !== (old.status?.nominatedNodeName ?? ''))
      errs.push(forbidden(at, 'may not be set on pods that are already bound to a node'))
    for (const m of isDNS1123Subdomain(nominated)) errs.push(invalid(at, nominated, m))
  }
  if ((status.qosClass ?? '') !== (old.status?.qosClass ?? '')) errs.push(invalid(STATUS.child('qosClass'), status.qosClass ?? '', IMMUTABLE))
  errs.push(...validateAllTransitions(pod, old))
  const claims = new Set((pod.spec?.resourceClaims ?? []).map((c) => c.name))
  status.resourceClaimStatuses?.forEach((claim, i) => {
    const at = STATUS.child('resourceClaimStatuses').index(i)
    if (!claims.has(claim.name)) errs.push(invalid(at.child('name'), claim.name, 'must match the name of an entry in `spec.resourceClaims`'))
    if (claim.resourceClaimName)
      for (const m of isDNS1123Subdomain(claim.resourceClaimName)) errs.push(invalid(at.child('resourceClaimName'), claim.resourceClaimName, m))
  })
  return [...errs, ...validateIPs(status, old.status), ...validateHostIPs(status, old.status)]
}
